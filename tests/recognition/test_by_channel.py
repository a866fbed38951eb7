from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile as sf

from stt_ru import Segment, Transcript
from stt_ru.errors import AudioError, TranscriptionError
from stt_ru.evaluation import Sample, evaluate
from stt_ru.recognition.by_channel import transcribe_by_channel
from stt_ru.recognition.recognizer import LoadedRecognizer
from tests.conftest import tone, write_wav

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Listener:
    """A program of one's own: it knows files and texts, and nothing of channels."""

    name = "listener"

    def __init__(self) -> None:
        self.heard: list[tuple[int, int, str, float]] = []

    def transcribe(self, path: str | Path) -> Transcript:
        samples, rate = sf.read(path, always_2d=True)
        info = sf.info(path)
        loudness = float(np.sqrt(np.mean(samples**2)))
        self.heard.append((samples.shape[1], rate, info.subtype, round(loudness, 2)))
        text = "громко" if loudness > 0.2 else "тихо"
        return Transcript(
            segments=[Segment(0.0, 1.0, text)], duration=len(samples) / rate, seconds=0.5
        )


LOUD, QUIET = tone(1.0), tone(1.0) / np.float32(10)


def recording(folder: Path, *channels: NDArray[np.float32]) -> Path:
    return write_wav(folder / "call.wav", *channels)


def rows(path: Path, *texts: str) -> list[Sample]:
    return [Sample(str(path), text, channel) for channel, text in enumerate(texts)]


def test_each_channel_is_given_as_a_mono_file(tmp_path: Path) -> None:
    recognizer = Listener()
    report = evaluate(recognizer, rows(recording(tmp_path, LOUD, QUIET), "громко", "тихо"))
    assert (report.wer, report.failed) == (0.0, 0)
    assert [row.hypothesis for row in report.results] == ["громко", "тихо"]
    assert [shape[:3] for shape in recognizer.heard] == [(1, 16_000, "PCM_16")] * 2
    assert report.audio_s == pytest.approx(1.0)


def test_equal_channels_are_heard_once_and_as_they_are(tmp_path: Path) -> None:
    recognizer = Listener()
    report = evaluate(recognizer, rows(recording(tmp_path, LOUD, LOUD), "громко", "громко"))
    assert report.wer == 0.0
    assert [shape[0] for shape in recognizer.heard] == [2]


def test_a_channel_that_the_recording_lacks_is_an_error_of_its_row(tmp_path: Path) -> None:
    samples = [
        *rows(recording(tmp_path, LOUD, QUIET), "громко"),
        Sample(str(tmp_path / "call.wav"), "тихо", 2),
    ]
    report = evaluate(Listener(), samples)
    assert [row.error is None for row in report.results] == [True, False]
    assert "канала 2 в ней нет" in str(report.results[1].error)


def test_rows_without_channels_and_those_who_know_channels_get_the_recording(
    tmp_path: Path,
) -> None:
    path = recording(tmp_path, LOUD, QUIET)
    recognizer = Listener()
    evaluate(recognizer, [Sample(str(path), "громко")])
    recognizer.knows_channels = True  # type: ignore[attr-defined]
    evaluate(recognizer, rows(path, "громко", "тихо"))
    assert [shape[0] for shape in recognizer.heard] == [2, 2]


def test_the_transcript_says_whose_each_segment_is(tmp_path: Path) -> None:
    path = recording(tmp_path, QUIET, LOUD, QUIET)
    found = transcribe_by_channel(LoadedRecognizer.of(Listener()), path)
    assert [(one.channel, one.text) for one in found.segments] == [(0, "тихо"), (1, "громко")]
    assert (found.channels, found.channel_map, found.seconds) == (3, (0, 1, 0), 1.0)
    assert found.duration == pytest.approx(1.0)


def test_faults_are_the_recordings(tmp_path: Path) -> None:
    class Wrong:
        name = "wrong"

        def transcribe(self, path: str | Path) -> str:
            return "текст"

    loaded = LoadedRecognizer.of(Wrong())  # type: ignore[arg-type]
    with pytest.raises(TranscriptionError, match=r"wrong\.transcribe вернул str"):
        transcribe_by_channel(loaded, recording(tmp_path, LOUD, QUIET))
    (tmp_path / "empty.wav").touch()
    with pytest.raises(AudioError):
        transcribe_by_channel(loaded, tmp_path / "empty.wav")


def test_what_it_says_of_channels_is_checked() -> None:
    recognizer = Listener()
    recognizer.knows_channels = "да"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"Listener.knows_channels: нужно True или False"):
        LoadedRecognizer.of(recognizer)
