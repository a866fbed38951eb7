from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stt_ru.audio import SAMPLE_RATE
from stt_ru.errors import TranscriptionError, UsageError
from stt_ru.recognition.segmentation import (
    QuietSegmenter,
    Segmenter,
    Stretch,
    VadOptions,
    VadSegmenter,
    WholeSegmenter,
    quietest_cut,
)
from tests.conftest import EnergyDetector, ToneModel, speak

WORDS = list(range(40))


def fed(segmenter: Segmenter, samples: NDArray[np.float32], sizes: Sequence[int]) -> list[Stretch]:
    """All stretches when the samples come in blocks of the sizes, the last one repeated."""
    stretches: list[Stretch] = []
    position = number = 0
    while position < len(samples):
        size = sizes[min(number, len(sizes) - 1)]
        stretches += segmenter.feed(samples[position : position + size])
        position += size
        number += 1
    return stretches + segmenter.finish()


def heard(stretches: Sequence[Stretch]) -> str:
    answers = ToneModel().recognize([stretch.samples for stretch in stretches])
    return " ".join(answer.text for answer in answers if answer.text)


def vad(window_s: float = 12.0, **options: float) -> VadSegmenter:
    return VadSegmenter(EnergyDetector(), VadOptions(**{"max_speech_s": 3, **options}), window_s)


SEGMENTERS = [
    pytest.param(lambda: vad(), id="vad"),
    pytest.param(lambda: QuietSegmenter(3), id="quiet"),
    pytest.param(lambda: WholeSegmenter(100, "совет"), id="whole"),
]


@pytest.mark.parametrize("make", SEGMENTERS)
@pytest.mark.parametrize("pause_s", [0.06, 0.3, 1.5])
def test_no_word_is_lost_or_doubled_at_a_cut(make: Callable[[], Segmenter], pause_s: float) -> None:
    samples = speak(WORDS, pause_s=pause_s)
    assert heard(fed(make(), samples, [16_000])) == " ".join(map(str, WORDS))


@pytest.mark.parametrize("make", SEGMENTERS)
@given(st.lists(st.integers(1, 60_000), min_size=1, max_size=8))
@settings(max_examples=20, deadline=None)
def test_stretches_do_not_depend_on_the_blocks(
    make: Callable[[], Segmenter], sizes: list[int]
) -> None:
    samples = speak(WORDS[:25], pause_s=0.2)
    as_one = fed(make(), samples, [len(samples)])
    in_blocks = fed(make(), samples, [*sizes, 30_000])
    assert [(piece.start, len(piece.samples)) for piece in in_blocks] == [
        (piece.start, len(piece.samples)) for piece in as_one
    ]


@pytest.mark.parametrize("make", SEGMENTERS)
def test_stretches_are_pieces_of_the_track_in_order(make: Callable[[], Segmenter]) -> None:
    samples = speak(WORDS)
    end = 0
    for stretch in fed(make(), samples, [20_000]):
        assert stretch.start >= end
        end = stretch.start + len(stretch.samples)
        np.testing.assert_array_equal(stretch.samples, samples[stretch.start : end])
        assert stretch.start_s == stretch.start / SAMPLE_RATE
        assert stretch.end_s == end / SAMPLE_RATE


@pytest.mark.parametrize("make", SEGMENTERS)
@pytest.mark.parametrize("n", [0, 1, 159, 1000, 1024])
def test_short_tracks(make: Callable[[], Segmenter], n: int) -> None:
    samples = np.full(n, 0.5, np.float32)
    stretches = fed(make(), samples, [7]) if n else make().finish()
    assert sum(len(stretch.samples) for stretch in stretches) <= n


@pytest.mark.parametrize("make", SEGMENTERS)
def test_a_copy_goes_on_by_itself(make: Callable[[], Segmenter]) -> None:
    first, second, third = speak([1, 2]), speak([3] * 20), speak([4] * 20)
    segmenter = make()
    before = segmenter.feed(first)
    twin = segmenter.copy()
    one = heard([*before, *segmenter.feed(second), *segmenter.finish()])
    other = heard([*before, *twin.feed(third), *twin.finish()])
    assert one == "1 2" + " 3" * 20
    assert other == "1 2" + " 4" * 20


def test_speech_without_pauses_is_cut_where_it_is_quietest() -> None:
    samples = speak(WORDS, pause_s=0.06)  # shorter than a pause that parts stretches
    stretches = fed(vad(), samples, [16_000])
    assert max(len(stretch.samples) for stretch in stretches) <= 3 * SAMPLE_RATE
    assert heard(stretches) == " ".join(map(str, WORDS))


def test_loud_noise_without_any_pause_ends_up_in_stretches_of_at_most_the_longest() -> None:
    noise = np.random.default_rng(1).uniform(-0.5, 0.5, 60 * SAMPLE_RATE).astype(np.float32)
    stretches = fed(vad(), noise, [16_000])
    assert sum(len(stretch.samples) for stretch in stretches) == len(noise)
    assert max(len(stretch.samples) for stretch in stretches) <= 3 * SAMPLE_RATE


def test_the_vad_sees_windows_of_bounded_length() -> None:
    detector = EnergyDetector()
    segmenter = VadSegmenter(detector, VadOptions(max_speech_s=3), window_s=12)
    fed(segmenter, np.tile(speak(WORDS), 6), [16_000])
    assert detector.longest <= 13 * SAMPLE_RATE


def test_a_short_recording_is_seen_by_the_vad_in_one_piece() -> None:
    detector = EnergyDetector()
    samples = speak(WORDS)
    fed(VadSegmenter(detector, VadOptions(), window_s=300), samples, [16_000])
    assert detector.longest == len(samples)


def test_a_track_longer_than_allowed_is_refused_as_soon_as_it_is() -> None:
    segmenter = WholeSegmenter(1.0, "уберите --no-vad")
    segmenter.feed(np.zeros(SAMPLE_RATE, np.float32))
    with pytest.raises(TranscriptionError, match=r"длиннее 1 с.*уберите --no-vad"):
        segmenter.feed(np.zeros(1, np.float32))


def test_the_quietest_cut_lies_in_the_pause() -> None:
    samples = np.full(SAMPLE_RATE, 0.5, np.float32)
    samples[12_000:14_000] = 0
    assert 12_000 < quietest_cut(samples) < 14_000


def test_the_quietest_cut_of_silence_is_as_late_as_it_can_be() -> None:
    assert quietest_cut(np.zeros(SAMPLE_RATE, np.float32)) > 0.9 * SAMPLE_RATE


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 0.0},
        {"threshold": 1.0},
        {"max_speech_s": 0.5},
        {"max_speech_s": float("inf")},
        {"min_speech_ms": -1},
        {"min_silence_ms": float("nan")},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        VadOptions(**options)
