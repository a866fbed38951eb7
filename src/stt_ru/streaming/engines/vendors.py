"""Third-party streaming engines: sherpa-onnx (extra ``sherpa``) and Vosk (extra ``vosk``)."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stt_ru.audio import SAMPLE_RATE
from stt_ru.clock import SYSTEM_CLOCK, Clock
from stt_ru.errors import MissingExtraError, ModelLoadError
from stt_ru.recognition.onnx_models import weights_digest
from stt_ru.streaming.engines.model import StreamingASR
from stt_ru.streaming.queue.chunks import AudioType, OutputChunk, Signal, TranscriptionChunk

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from stt_ru.streaming.queue.buffer import RecordingId

SHERPA: Final = "sherpa-stream"
VOSK: Final = "vosk-stream"

_FLUSH: Final = np.zeros(SAMPLE_RATE * 3 // 2, np.float32)
"""1.5 s of silence appended at the end: the last words of a transducer need a full chunk, which is
up to 1.28 s in icefall models."""


class _VendorStream(StreamingASR):
    """A model from a package without type information."""

    def _describe(self, package: str, files: Iterable[Path]) -> None:
        self.settings = {
            "stream": "own",
            "engine": _engine(package),
            "weights": weights_digest(files),
        }

    def _put_text(self, id: RecordingId, uid: str | int, text: str, end_time: float) -> None:
        data = TranscriptionChunk(uid=uid, text=text)
        self.output_buffer.put(OutputChunk(data=data, seconds_processed=end_time), id=id)

    def _put_end(self, id: RecordingId, end_time: float) -> None:
        self.output_buffer.put(OutputChunk(data=Signal.FINISH, seconds_processed=end_time), id=id)


def _package(name: str, model: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(f"модель {model}", extra) from error


class SherpaStream(_VendorStream):
    """An online transducer of sherpa-onnx.

    Args:
        model_dir: Folder with ``tokens.txt`` and an ONNX encoder, decoder and joiner; int8 files
            are preferred to full-precision ones.
        clock: Source of the timestamps.

    Raises:
        MissingExtraError: If sherpa-onnx is not installed.
        ModelLoadError: If the model cannot be loaded.
    """

    name = SHERPA

    def __init__(self, model_dir: Path, *, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(SAMPLE_RATE, clock)
        sherpa_onnx = _package("sherpa_onnx", SHERPA, "sherpa")
        files = {part: _one_file(model_dir, part) for part in ("encoder", "decoder", "joiner")}
        tokens = model_dir / "tokens.txt"
        if not tokens.is_file():
            raise ModelLoadError(f"модель {SHERPA}: в каталоге {model_dir} нет tokens.txt")
        if not _has(files["encoder"], b"model_type"):
            # sherpa-onnx would terminate the process.
            raise ModelLoadError(
                f"модель {SHERPA}: {files['encoder']} – не от онлайн-трансдьюсера sherpa-onnx: "
                "в нём нет model_type"
            )
        try:
            self._recognizer: Any = sherpa_onnx.OnlineRecognizer.from_transducer(
                tokens=str(tokens),
                **{part: str(file) for part, file in files.items()},
                num_threads=1,
                sample_rate=SAMPLE_RATE,
                feature_dim=80,
            )
        except Exception as error:
            raise ModelLoadError(f"модель {SHERPA} не загрузилась: {error}") from error
        self._describe("sherpa-onnx", [*files.values(), tokens])

    def _run(self) -> None:
        streams: dict[RecordingId, Any] = {}
        texts: dict[RecordingId, str] = {}
        while True:
            chunk, id = self.input_buffer.get()
            stream = streams.get(id)
            if stream is None:
                stream = streams[id] = self._recognizer.create_stream()
            is_end = chunk.data is Signal.FINISH
            if is_end:
                stream.accept_waveform(SAMPLE_RATE, _FLUSH)
                stream.input_finished()
            else:
                stream.accept_waveform(SAMPLE_RATE, chunk.data)
            while self._recognizer.is_ready(stream):
                self._recognizer.decode_stream(stream)
            text = str(self._recognizer.get_result(stream)).strip()
            if text != texts.get(id, ""):
                texts[id] = text
                self._put_text(id, "text", text, chunk.end_time)
            if is_end:
                streams.pop(id)
                texts.pop(id, None)
                self._put_end(id, chunk.end_time)


def _engine(package: str) -> str:
    """The engine with its version, which affects the text as the weights do."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:  # importable but not installed as a package
        return package


def _one_file(folder: Path, part: str) -> Path:
    if not folder.is_dir():
        raise ModelLoadError(f"модель {SHERPA}: нет каталога {folder}")
    files = sorted(folder.glob(f"*{part}*.onnx"))
    quantized = [file for file in files if "int8" in file.name]
    if not files:
        raise ModelLoadError(f"модель {SHERPA}: в каталоге {folder} нет файла *{part}*.onnx")
    file, *others = quantized or files
    if others:
        names = ", ".join(file.name for file in quantized or files)
        raise ModelLoadError(
            f"модель {SHERPA}: в каталоге {folder} несколько файлов *{part}*.onnx ({names}): "
            "оставьте один"
        )
    return file


def _has(file: Path, mark: bytes) -> bool:
    if not file.stat().st_size:
        return False
    with file.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as data:
        return data.find(mark) >= 0


class VoskStream(_VendorStream):
    """A Vosk model.

    Each utterance that Vosk has ended is a part of the transcription; the current utterance is
    another part, which is replaced as it grows.

    Args:
        model_dir: The model's folder.
        clock: Source of the timestamps.

    Raises:
        MissingExtraError: If vosk is not installed.
        ModelLoadError: If the model cannot be loaded.
    """

    name = VOSK

    def __init__(self, model_dir: Path, *, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(SAMPLE_RATE, clock)
        vosk = _package("vosk", VOSK, "vosk")
        if not model_dir.is_dir():
            raise ModelLoadError(f"модель {VOSK}: нет каталога {model_dir}")
        vosk.SetLogLevel(-1)
        try:
            self._model: Any = vosk.Model(str(model_dir))
        except Exception as error:
            raise ModelLoadError(f"модель {VOSK} не загрузилась: {error}") from error
        self._make: Any = vosk.KaldiRecognizer
        self._describe("vosk", (file for file in model_dir.rglob("*") if file.is_file()))

    @property
    def audio_type(self) -> AudioType:
        """Vosk expects bytes."""
        return "bytes"

    def _run(self) -> None:
        recognizers: dict[RecordingId, Any] = {}
        places: dict[RecordingId, int] = {}
        shown: dict[RecordingId, str] = {}
        while True:
            chunk, id = self.input_buffer.get()
            recognizer = recognizers.get(id)
            if recognizer is None:
                recognizer = recognizers[id] = self._make(self._model, SAMPLE_RATE)
                places[id], shown[id] = 0, ""
            is_end = chunk.data is Signal.FINISH
            if is_end:
                text, is_complete = _field(recognizer.FinalResult(), "text"), True
            elif recognizer.AcceptWaveform(chunk.data):
                text, is_complete = _field(recognizer.Result(), "text"), True
            else:
                text, is_complete = _field(recognizer.PartialResult(), "partial"), False
            if text != shown[id]:
                self._put_text(id, places[id], text, chunk.end_time)
            shown[id] = text
            if is_complete:
                places[id] += 1
                shown[id] = ""
            if is_end:
                for state in (recognizers, places, shown):
                    state.pop(id)
                self._put_end(id, chunk.end_time)


def _field(answer: str, name: str) -> str:
    return str(json.loads(answer).get(name, "")).strip()
