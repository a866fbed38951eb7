"""The rule which samples of a recording belong to a manifest row, and who follows it."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stt_ru.audio.tracks import channel_map, equal_channels, mixed_down, samples_of_row
from stt_ru.errors import AudioError
from stt_ru.recognition.recognizer import Transcript
from stt_ru.results import Segment
from stt_ru.simultaneous.core.dataset import SpeechDataset, SpeechItem
from tests.conftest import tone, write_wav

LOUD = np.array([0.5, -0.5, 0.25], np.float32)
SOFT = np.array([0.1, 0.2, 0.3], np.float32)

DISTINCT = np.stack([LOUD, SOFT, LOUD])
EQUAL = np.stack([LOUD, LOUD])
SINGLE = LOUD[np.newaxis]


def test_equal_channels_are_one_track() -> None:
    groups = equal_channels(DISTINCT, range(3))
    assert groups == [[0, 2], [1]]
    assert channel_map(groups) == (0, 1, 0)
    assert equal_channels(DISTINCT, [1, 2]) == [[1], [2]]


def test_two_zeros_of_different_sign_are_equal() -> None:
    assert equal_channels(np.array([[0.0], [-0.0]], np.float32), range(2)) == [[0, 1]]


@pytest.mark.parametrize(
    ("waveform", "channel", "samples", "is_mixed"),
    [
        pytest.param(SINGLE, None, LOUD, False, id="one channel, none named"),
        pytest.param(SINGLE, 1, LOUD, False, id="one channel, any named"),
        pytest.param(EQUAL, None, LOUD, False, id="equal channels, none named"),
        pytest.param(EQUAL, 7, LOUD, False, id="equal channels, any named"),
        pytest.param(DISTINCT, 1, SOFT, False, id="distinct channels, one named"),
        pytest.param(DISTINCT, 2, LOUD, False, id="a channel equal to another"),
        pytest.param(DISTINCT, None, mixed_down(DISTINCT), True, id="distinct channels, the mix"),
    ],
)
def test_the_samples_of_a_row(
    waveform: NDArray[np.float32], channel: int | None, samples: NDArray[np.float32], is_mixed: bool
) -> None:
    found, found_is_mixed = samples_of_row(waveform, channel)
    assert np.array_equal(found, samples)
    assert found_is_mixed is is_mixed


def test_a_channel_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AudioError, match="в записи каналов: 3, канала 3 в ней нет"):
        samples_of_row(DISTINCT, 3)


@pytest.mark.parametrize("channel", [None, 0, 1, 7])
def test_text_and_samples_of_a_row_follow_one_rule(tmp_path: Path, channel: int | None) -> None:
    """With one track any channel is the whole recording: in a transcript, and for an agent."""
    transcript = Transcript(segments=[Segment(0, 1, "да")], channels=2, channel_map=(0, 0))
    assert transcript.text_of(channel) == "да"
    file = write_wav(tmp_path / "a.wav", tone(0.1), tone(0.1))
    source = SpeechDataset([SpeechItem("a.wav", file, "да", channel)]).load(0)
    assert len(source.samples) == 1600
