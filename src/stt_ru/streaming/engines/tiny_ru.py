"""The embedded streaming model ``tiny-ru-stream`` as a `StreamingASR`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stt_ru.clock import SYSTEM_CLOCK, Clock
from stt_ru.defaults import EMBEDDED_STREAMING_MODEL
from stt_ru.errors import ModelLoadError
from stt_ru.recognition.onnx_models import weights_digest
from stt_ru.scoring.alignment import common_prefix
from stt_ru.streaming.engines.model import StreamingASR
from stt_ru.streaming.engines.tiny_ru_stream import (
    FILES,
    MODEL_DIR,
    SAMPLE_RATE,
    TinyRuStreamDecoder,
)
from stt_ru.streaming.queue.chunks import OutputChunk, Signal, TranscriptionChunk

if TYPE_CHECKING:
    from pathlib import Path

    from stt_ru.streaming.queue.buffer import RecordingId


class TinyRuStream(StreamingASR):
    """The embedded streaming model; for trying out the tool, not for real use.

    Each word is a separate part of the transcription, so an answer carries only what has changed.

    Args:
        model_dir: Folder with the model's files; None for those in the package.
        clock: Source of the timestamps.

    Raises:
        ModelLoadError: If it cannot be loaded.
    """

    name = EMBEDDED_STREAMING_MODEL

    def __init__(self, model_dir: Path | None = None, *, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(SAMPLE_RATE, clock)
        self._model_dir = model_dir or MODEL_DIR
        self._idle = [self._load()]  # one decoder per concurrent recording
        weights = weights_digest(self._model_dir / name for name in FILES)
        self.settings = {"stream": "own", "weights": weights}

    def _load(self) -> TinyRuStreamDecoder:
        try:
            return TinyRuStreamDecoder(self._model_dir)
        except Exception as error:
            raise ModelLoadError(
                f"модель {EMBEDDED_STREAMING_MODEL} не загрузилась из {self._model_dir}: {error}"
            ) from error

    def _run(self) -> None:
        busy: dict[RecordingId, tuple[TinyRuStreamDecoder, list[str]]] = {}
        while True:
            chunk, id = self.input_buffer.get()
            if id not in busy:
                busy[id] = (self._idle.pop() if self._idle else self._load(), [])
            decoder, words = busy[id]
            is_end = chunk.data is Signal.FINISH
            text = decoder.finish() if is_end else decoder.feed(np.asarray(chunk.data, np.float32))
            new = text.split()
            for place in range(common_prefix(words, new), max(len(words), len(new))):
                part = TranscriptionChunk(uid=place, text=new[place] if place < len(new) else "")
                self.output_buffer.put(
                    OutputChunk(data=part, seconds_processed=chunk.end_time), id=id
                )
            busy[id] = (decoder, new)
            if is_end:
                end = OutputChunk(data=Signal.FINISH, seconds_processed=chunk.end_time)
                self.output_buffer.put(end, id=id)
                decoder.reset()
                self._idle.append(decoder)
                del busy[id]
