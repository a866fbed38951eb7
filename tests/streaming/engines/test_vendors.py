"""Engine adapters, tested with fakes everywhere and with the real engines where installed."""

import os
import re
import sys
import types
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stt_ru.errors import MissingExtraError, ModelLoadError
from stt_ru.extras import install_command
from stt_ru.streaming.engines import vendors as engines
from stt_ru.streaming.engines.model import StreamingASR
from stt_ru.streaming.engines.tiny_ru import TinyRuStream
from stt_ru.streaming.engines.vendors import SherpaStream, VoskStream
from stt_ru.streaming.queue.chunks import TranscriptionChunk, check_consistency
from stt_ru.streaming.schedule.caller import receive_transcription
from stt_ru.streaming.schedule.sender import make_sender
from tests.streaming.fakes import PATIENCE_S, tone


def recognise(asr: StreamingASR, seconds: float, id: str) -> list[str]:
    """What was on the screen after each answer."""
    _, sender = make_sender(tone(seconds), asr, 0.5, uid=id)
    sender.start_sending(without_delays=True)
    outputs = list(receive_transcription(asr, id, PATIENCE_S))
    return [TranscriptionChunk.join(outputs[: n + 1]) for n in range(len(outputs) - 1)]


def fake_vosk() -> Any:
    """One word every half second; an utterance ends after four words."""

    class KaldiRecognizer:
        def __init__(self, model: object, rate: int) -> None:
            assert rate == 16_000
            self.words: list[str] = []
            self.count = 0

        def AcceptWaveform(self, data: bytes) -> bool:  # noqa: N802 - Vosk's name
            assert isinstance(data, bytes)
            self.count += 1
            self.words.append(f"w{self.count}")
            return len(self.words) == 4

        def _take(self) -> str:
            text, self.words = " ".join(self.words), []
            return f'{{"text": "{text}"}}'

        def Result(self) -> str:  # noqa: N802
            return self._take()

        def FinalResult(self) -> str:  # noqa: N802
            return self._take()

        def PartialResult(self) -> str:  # noqa: N802
            return f'{{"partial": "{" ".join(self.words)}"}}'

    module: Any = types.ModuleType("vosk")
    module.SetLogLevel = lambda level: None
    module.Model = lambda path: path
    module.KaldiRecognizer = KaldiRecognizer
    return module


def test_vosk_ends_utterances_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vosk", fake_vosk())
    asr = VoskStream(tmp_path)
    asr.start_thread()
    for id in ("a", "b"):
        texts = recognise(asr, 3.0, id)
        assert texts[:2] == ["w1", "w1 w2"]
        assert texts[-1] == "w1 w2 w3 w4 w5 w6"
    asr.stop_thread()


@pytest.mark.parametrize("package", ["sherpa-onnx", "vosk"])
def test_the_version_of_an_engine_is_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    sherpa: Any = types.ModuleType("sherpa_onnx")
    sherpa.OnlineRecognizer = types.SimpleNamespace(from_transducer=FakeSherpa)
    monkeypatch.setitem(sys.modules, "sherpa_onnx", sherpa)
    monkeypatch.setitem(sys.modules, "vosk", fake_vosk())
    folder = sherpa_folder(tmp_path)

    def engine(**versions: str) -> str:
        def installed(name: str) -> str:
            if versions.get("version") is None or name != package:
                raise PackageNotFoundError(name)
            return versions["version"]

        monkeypatch.setattr(engines, "version", installed)
        make = VoskStream if package == "vosk" else SherpaStream
        return make(folder).settings["engine"]

    assert engine(version="1.10") == f"{package} 1.10"
    assert engine(version="1.11") == f"{package} 1.11"
    assert engine() == package  # its module is importable but not installed


class FakeSherpa:
    """One word per second of audio; the last one only when the input is finished."""

    def __init__(self, **files: object) -> None:
        self.files = files

    def create_stream(self) -> Any:
        stream: Any = types.SimpleNamespace(n=0, done=False, decoded=0)
        stream.accept_waveform = lambda rate, samples: setattr(
            stream, "n", stream.n + len(np.asarray(samples))
        )
        stream.input_finished = lambda: setattr(stream, "done", True)
        return stream

    def is_ready(self, stream: Any) -> bool:
        return bool(stream.decoded < stream.n // 16_000)

    def decode_stream(self, stream: Any) -> None:
        stream.decoded += 1

    def get_result(self, stream: Any) -> str:
        return " ".join(f"w{n + 1}" for n in range(stream.decoded))


def sherpa_folder(folder: Path) -> Path:
    for name in ("encoder.onnx", "encoder.int8.onnx", "decoder.onnx", "joiner.onnx", "tokens.txt"):
        (folder / name).write_bytes(b"model_type")
    return folder


def test_sherpa_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("sherpa_onnx")
    module.OnlineRecognizer = types.SimpleNamespace(from_transducer=FakeSherpa)
    monkeypatch.setitem(sys.modules, "sherpa_onnx", module)
    asr = SherpaStream(sherpa_folder(tmp_path))
    assert Path(asr._recognizer.files["encoder"]).name == "encoder.int8.onnx"
    asr.start_thread()
    for id in ("a", "b"):
        assert recognise(asr, 2.4, id) == ["w1", "w1 w2", "w1 w2 w3"]
    asr.stop_thread()


def test_a_folder_with_missing_files_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sherpa_onnx", types.ModuleType("sherpa_onnx"))
    monkeypatch.setitem(sys.modules, "vosk", fake_vosk())
    with pytest.raises(ModelLoadError, match=r"нет файла \*encoder\*\.onnx"):
        SherpaStream(tmp_path)
    for name in ("encoder-a.onnx", "encoder-b.onnx"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(ModelLoadError, match=r"encoder-a\.onnx, encoder-b\.onnx\): оставьте один"):
        SherpaStream(tmp_path)
    with pytest.raises(ModelLoadError, match="нет каталога"):
        SherpaStream(tmp_path / "none")
    (tmp_path / "encoder-b.onnx").unlink()
    for name in ("decoder.onnx", "joiner.onnx", "tokens.txt"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(ModelLoadError, match="нет model_type"):
        SherpaStream(tmp_path)
    with pytest.raises(ModelLoadError, match="нет каталога"):
        VoskStream(tmp_path / "none")


@pytest.mark.parametrize(
    ("module", "extra", "make"),
    [("sherpa_onnx", "sherpa", SherpaStream), ("vosk", "vosk", VoskStream)],
)
def test_an_engine_that_is_not_installed_names_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, extra: str, make: Any
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=re.escape(install_command(extra))):
        make(tmp_path)


@pytest.mark.skipif(
    find_spec("sherpa_onnx") is None or find_spec("onnx") is None,
    reason="sherpa-onnx and onnx are needed",
)
def test_real_sherpa_streams_a_transducer_built_here(tmp_path: Path) -> None:
    from tests.streaming.engines.made_transducer import make_transducer

    asr = SherpaStream(make_transducer(tmp_path))
    half = np.zeros(8_000, np.float32)
    speech = np.concatenate([half, tone(0.5), half, tone(0.5), half, tone(0.5)])
    asr.start_thread()
    senders = [make_sender(speech, asr, 0.2, uid=id)[1] for id in ("a", "b")]
    for sender in senders:
        sender.start_sending(without_delays=True)
    for sender in senders:
        outputs = list(receive_transcription(asr, sender.id, PATIENCE_S))
        check_consistency(sender.join_and_get_history(PATIENCE_S), outputs)
        assert TranscriptionChunk.join(outputs) == "да нет да нет да нет"
        assert [output.seconds_processed for output in outputs[:3]] == pytest.approx(
            [0.6, 1.2, 1.8]
        )
    asr.stop_thread()


@pytest.mark.model
@pytest.mark.parametrize(
    ("module", "variable", "make"),
    [
        ("sherpa_onnx", "STT_RU_SHERPA_MODEL", SherpaStream),
        ("vosk", "STT_RU_VOSK_MODEL", VoskStream),
    ],
)
def test_the_real_engine(module: str, variable: str, make: Any) -> None:
    folder = os.environ.get(variable)
    if find_spec(module) is None or not folder:
        pytest.skip(f"{module} and its model are needed: set {variable} to the model's folder")
    asr = make(Path(folder))
    asr.start_thread()
    recognise(asr, 2.0, "a")
    asr.stop_thread()


def test_the_embedded_streaming_model_only_adds_words() -> None:
    try:
        asr = TinyRuStream()
    except ModelLoadError as error:
        pytest.skip(f"the embedded streaming model is not built: {error}")
    from stt_ru.audio import load_audio

    demo = Path(__file__).parents[3] / "fixtures" / "demo" / "02-accept.wav"
    waveform = load_audio(demo, sample_rate=16_000, mono=True).waveform[0]
    asr.start_thread()
    texts = []
    for id in ("a", "b"):  # the decoder is reused
        _, sender = make_sender(waveform, asr, 0.2, uid=id)
        sender.start_sending(without_delays=True)
        outputs = list(receive_transcription(asr, id, PATIENCE_S))
        texts.append([TranscriptionChunk.join(outputs[: n + 1]) for n in range(len(outputs))])
    asr.stop_thread()
    assert texts[0] == texts[1]
    assert texts[0][-1]
    for before, after in zip(texts[0], texts[0][1:], strict=False):
        assert after.startswith(before)
