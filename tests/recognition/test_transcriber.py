from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray
from onnx_asr.asr import TimestampedResult

from stt_ru.errors import AudioError, ModelLoadError, TranscriptionError, UsageError
from stt_ru.recognition import transcriber
from stt_ru.recognition.onnx_models import LoadedModel
from stt_ru.recognition.recognizer import Transcript
from stt_ru.recognition.segmentation import VadOptions
from stt_ru.recognition.transcriber import Transcriber
from stt_ru.results import Segment
from tests.conftest import EnergyDetector, ToneModel, speak, write_wav

MakeTranscriber = Callable[..., Transcriber]


@pytest.fixture
def model() -> ToneModel:
    return ToneModel()


@pytest.fixture
def make(model: ToneModel, monkeypatch: pytest.MonkeyPatch) -> MakeTranscriber:
    """Transcribers over a model that understands the tests' toy language."""

    def load_model(name: str, **_: Any) -> LoadedModel:
        return LoadedModel(
            adapter=model, weights="0123456789ab", quantization="int8", provider="CPU", warnings=()
        )

    monkeypatch.setattr(transcriber, "load_model", load_model)
    monkeypatch.setattr(transcriber, "load_vad", lambda folder, *, offline: EnergyDetector())
    return Transcriber


def test_a_mono_recording(make: MakeTranscriber, tmp_path: Path) -> None:
    path = write_wav(tmp_path / "a.wav", speak([1, 2, 3]))
    transcript = make("gigaam-v3-ctc").transcribe(path)
    assert transcript.text == "1 2 3"
    assert transcript.text_of(None) == transcript.text_of(0) == transcript.text_of(7) == "1 2 3"
    assert transcript.duration == pytest.approx(2.1)
    assert (transcript.channels, transcript.model) == (1, "gigaam-v3-ctc")
    assert transcript.source == str(path)
    assert transcript.seconds is not None
    first = transcript.segments[0]
    assert first.start == pytest.approx(0.3, abs=0.1)
    assert first.end == pytest.approx(0.6, abs=0.1)
    starts = [start for segment in transcript.segments for start in segment.word_starts]
    assert starts == pytest.approx([0.3, 0.9, 1.5], abs=0.02)


def test_distinct_channels_are_two_tracks(make: MakeTranscriber, tmp_path: Path) -> None:
    left, right = speak([1, 2, 3]), speak([10, 11, 12], pause_s=0.3)
    path = write_wav(tmp_path / "a.wav", left, right)
    transcript = make("gigaam-v3-ctc").transcribe(path)
    assert transcript.channel_map == (0, 1)
    assert transcript.text_of(0) == "1 2 3"
    assert transcript.text_of(1) == "10 11 12"
    assert transcript.text == "1 10 2 11 3 12"  # by start, then channel
    with pytest.raises(TranscriptionError, match="каналов: 2, канала 2 в ней нет"):
        transcript.text_of(2)


@pytest.mark.parametrize("rate", [16_000, 8_000])
def test_samples_in_memory_have_the_text_of_their_file(
    make: MakeTranscriber, tmp_path: Path, rate: int
) -> None:
    speech = np.tile(speak([1, 2, 3]), 20)[:: 16_000 // rate]  # 42 s: more than is read at once
    path = tmp_path / "a.wav"
    soundfile.write(path, speech, rate, subtype="FLOAT")
    transcriber = make("gigaam-v3-ctc")
    of_file = transcriber.transcribe(path)
    transcript = transcriber.transcribe_waveform(speech, rate)
    assert transcript.text == of_file.text == " ".join(["1 2 3"] * 20)
    assert transcript.segments == of_file.segments
    assert transcript.duration == of_file.duration


def test_samples_that_are_no_sound_are_refused(make: MakeTranscriber) -> None:
    with pytest.raises(AudioError, match="ни одного отсчёта"):
        make("gigaam-v3-ctc").transcribe_waveform(np.zeros(0, np.float32))


def test_samples_and_paths_are_not_mixed_up(make: MakeTranscriber) -> None:
    transcriber = make("gigaam-v3-ctc")
    for rate in (None, "16000"):
        with pytest.raises(AudioError, match=f"дискретизации {rate!r}, а нужно число герц"):
            transcriber.transcribe_waveform(speak([1]), rate)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="нужен путь записи, а не ndarray; отсчёты в памяти"):
        transcriber.transcribe(speak([1]))  # type: ignore[arg-type]
    of_numpy: Any = np.float32(16_000)
    assert transcriber.transcribe_waveform(speak([1]), of_numpy).text == "1"


def test_equal_channels_are_one_track_and_recognised_once(
    make: MakeTranscriber, model: ToneModel, tmp_path: Path
) -> None:
    speech = speak([1, 2])
    path = write_wav(tmp_path / "a.wav", speech, speak([3, 4]), speech)
    transcript = make("gigaam-v3-ctc").transcribe(path)
    assert transcript.channel_map == (0, 1, 0)
    assert transcript.text_of(2) == "1 2"
    assert sum(model.batches) == 4  # two words on each of two tracks
    all_equal = write_wav(tmp_path / "b.wav", speech, speech)
    transcript = make("gigaam-v3-ctc").transcribe(all_equal)
    assert transcript.channel_map == (0, 0)
    assert transcript.text == transcript.text_of(5) == "1 2"  # one track: any number will do


def test_channels_that_part_late_share_what_they_had_in_common(
    make: MakeTranscriber, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcriber, "_BLOCK_S", 2.0)  # a second a block on two channels
    monkeypatch.setattr(transcriber, "_WINDOW_S", 1.0)
    common = list(range(1, 60))
    left, right = speak([*common, 30, 31]), speak([*common, 40, 41])
    path = write_wav(tmp_path / "a.wav", left, right)
    transcript = make("gigaam-v3-ctc", vad=VadOptions(max_speech_s=2)).transcribe(path)
    assert transcript.channel_map == (0, 1)
    assert transcript.text_of(0) == " ".join(map(str, [*common, 30, 31]))
    assert transcript.text_of(1) == " ".join(map(str, [*common, 40, 41]))


def test_mono_mixes_the_channels(make: MakeTranscriber, tmp_path: Path) -> None:
    silence = np.zeros_like(speak([1, 2]))
    path = write_wav(tmp_path / "a.wav", speak([1, 2]), silence)
    transcript = make("gigaam-v3-ctc", split_channels=False).transcribe(path)
    assert transcript.channel_map == (0, 0)
    assert transcript.text_of(1) == "1 2"


def test_tracks_with_nearly_one_text_suggest_mono(make: MakeTranscriber, tmp_path: Path) -> None:
    speech = speak([1, 2, 3, 4])
    path = write_wav(tmp_path / "a.wav", speech, speech * 0.9)
    (warning,) = make("gigaam-v3-ctc").transcribe(path).warnings
    assert "--mono" in warning
    other = write_wav(tmp_path / "b.wav", speech, speak([5, 6, 7, 8]))
    assert make("gigaam-v3-ctc").transcribe(other).warnings == ()


def test_without_a_vad_a_recording_is_one_piece(make: MakeTranscriber, tmp_path: Path) -> None:
    path = write_wav(tmp_path / "a.wav", speak([1, 2]))
    transcript = make("gigaam-v3-ctc", vad=None).transcribe(path)
    assert transcript.segments == (Segment(0.0, 1.5, "1 2", 0, (0.3, 0.9)),)


def test_without_a_vad_a_long_recording_fails(make: MakeTranscriber, tmp_path: Path) -> None:
    path = write_wav(tmp_path / "a.wav", speak([1] * 40))
    with pytest.raises(TranscriptionError, match=r"длиннее 20 с.*--no-vad"):
        make("gigaam-v3-ctc", vad=None).transcribe(path)
    long = make("gigaam-v3-ctc", vad=None, longest_s=60).transcribe(path)
    assert long.text == " ".join(["1"] * 40)


def test_a_vad_that_cannot_be_had_is_a_warning_and_short_recordings_are_recognised(
    make: MakeTranscriber, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_vad(folder: Path | None, *, offline: bool) -> EnergyDetector:
        raise ModelLoadError("VAD Silero не скачался: нет сети")

    monkeypatch.setattr(transcriber, "load_vad", no_vad)
    recognizer = make("gigaam-v3-ctc")
    (warning,) = recognizer.warnings
    assert "VAD Silero не скачался" in warning
    assert recognizer.settings["vad"] == "none(max=20s)"
    short = write_wav(tmp_path / "a.wav", speak([1, 2]))
    assert recognizer.transcribe(short).text == "1 2"
    long = write_wav(tmp_path / "b.wav", speak([1] * 40))
    with pytest.raises(TranscriptionError, match=r"silero_vad\.onnx.*--vad-dir"):
        recognizer.transcribe(long)
    with pytest.raises(ModelLoadError):  # a folder that was asked for is not replaced by nothing
        make("gigaam-v3-ctc", vad_dir=tmp_path)


def test_the_embedded_model_uses_no_vad_and_takes_any_length(
    make: MakeTranscriber, tmp_path: Path
) -> None:
    path = write_wav(tmp_path / "a.wav", speak([1, 2] * 30))
    recognizer = make("tiny-ru")
    assert recognizer.label == "tiny-ru (демонстрационная)"
    assert recognizer.settings["vad"] == "quiet(max=20s)"
    assert recognizer.transcribe(path).text == " ".join(["1 2"] * 30)


def test_stretches_go_to_the_model_one_by_one_unless_asked_otherwise(
    make: MakeTranscriber, model: ToneModel, tmp_path: Path
) -> None:
    path = write_wav(tmp_path / "a.wav", speak([1, 2, 3, 4, 5]))
    assert make("gigaam-v3-ctc").transcribe(path).text == "1 2 3 4 5"
    assert model.batches == [1] * 5
    model.batches.clear()
    assert make("gigaam-v3-ctc", batch_size=2).transcribe(path).text == "1 2 3 4 5"
    assert model.batches == [2, 2, 1]


def test_a_file_that_is_no_recording_is_an_error(make: MakeTranscriber, tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_text("это текст")
    with pytest.raises(AudioError):
        make("gigaam-v3-ctc").transcribe(path)


def test_a_very_short_recording_reaches_the_model_long_enough(
    make: MakeTranscriber, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []

    class Model(ToneModel):
        def recognize(
            self, waveform: list[str | Path | NDArray[np.float32]], *, language: str | None = None
        ) -> list[TimestampedResult]:
            lengths.extend(len(piece) for piece in waveform if isinstance(piece, np.ndarray))
            return [TimestampedResult("да") for _ in waveform]

    def load_model(name: str, **_: Any) -> LoadedModel:
        return LoadedModel(
            adapter=Model(), weights="0", quantization=None, provider="CPU", warnings=()
        )

    monkeypatch.setattr(transcriber, "load_model", load_model)
    soundfile.write(tmp_path / "a.wav", np.full(1, 0.5, np.float32), 16_000)
    assert make("tiny-ru").transcribe(tmp_path / "a.wav").text == "да"
    assert lengths == [1_600]


def test_no_more_recordings_at_a_time_than_workers(
    make: MakeTranscriber, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = threading.Semaphore(2)
    overrun = threading.Event()

    class Model(ToneModel):
        def recognize(
            self, waveform: list[str | Path | NDArray[np.float32]], *, language: str | None = None
        ) -> list[TimestampedResult]:
            if not running.acquire(blocking=False):
                overrun.set()
            try:
                return super().recognize(waveform, language=language)
            finally:
                running.release()

    def load_model(name: str, **_: Any) -> LoadedModel:
        return LoadedModel(
            adapter=Model(), weights="0", quantization=None, provider="CPU", warnings=()
        )

    monkeypatch.setattr(transcriber, "load_model", load_model)
    path = write_wav(tmp_path / "a.wav", speak([1, 2, 3] * 5))
    recognizer = make("gigaam-v3-ctc", workers=2)
    assert recognizer.concurrency == 3
    texts: list[str] = []
    threads = [
        threading.Thread(target=lambda: texts.append(recognizer.transcribe(path).text))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert texts == [" ".join(["1 2 3"] * 5)] * 6
    assert not overrun.is_set()


def test_cores_are_divided_among_the_workers(
    make: MakeTranscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def load_model(name: str, *, intra_op_threads: int, **_: Any) -> LoadedModel:
        asked.append(intra_op_threads)
        return LoadedModel(
            adapter=ToneModel(), weights="0", quantization=None, provider="CPU", warnings=()
        )

    monkeypatch.setattr(transcriber, "load_model", load_model)
    monkeypatch.setattr(transcriber, "available_cores", lambda: 8)
    for workers in (1, 2, 3, 8, 16):
        make("gigaam-v3-ctc", workers=workers)
    assert asked == [8, 4, 2, 1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"language": "русский"}, "код из двух-трёх латинских букв"),
        ({"batch_size": 0}, "нужны целые числа от 1"),
        ({"workers": 0}, "нужны целые числа от 1"),
        ({"workers": "2"}, "нужны целые числа от 1"),
        ({"workers": 2.5}, "нужны целые числа от 1"),
        ({"language": None}, "строки, а не None"),
        ({"model": None}, "строки, а не None"),
        ({"quantization": 5}, "строки, а не 5"),
        ({"vad": "silero"}, "VadOptions или None"),
        ({"model": "whisper-base", "vad": VadOptions(max_speech_s=40)}, "не больше 30 с"),
    ],
)
def test_arguments_that_cannot_be_right_are_refused(
    make: MakeTranscriber, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        make(**{"model": "gigaam-v3-ctc", **arguments})


def test_a_transcript_of_text_alone() -> None:
    transcript = Transcript.from_text("привет", duration=2.5)
    assert (transcript.text, transcript.duration, transcript.channels) == ("привет", 2.5, 1)
    assert transcript.text_of(3) == "привет"
    assert Transcript.from_text("").text == ""


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4.0),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
    ids=["version 2", "no limit", "version 1", "no limit in version 1", "no groups"],
)
def test_a_containers_share_of_the_processor_is_known(
    tmp_path: Path, files: dict[str, str], cores: float | None
) -> None:
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert transcriber.container_cores(tmp_path) == cores
