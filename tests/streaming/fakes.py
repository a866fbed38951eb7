"""Fake models and recordings for these tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import settings
from numpy.typing import NDArray

from stt_ru.streaming.engines.model import StreamingASR
from stt_ru.streaming.queue.buffer import RecordingId
from stt_ru.streaming.queue.chunks import (
    InputBuffer,
    InputChunk,
    OutputBuffer,
    OutputChunk,
    Signal,
    TranscriptionChunk,
)
from tests.fakes import FakeClock

# No deadline: the machine may be busy. Fewer examples: properties are tested on every run.
PATIENT = settings(deadline=None, max_examples=50)

PATIENCE_S = 20.0  # the longest wait for a real thread


class ScriptedASR(StreamingASR):
    """Works a given time on each chunk and answers a given number of words: «w1 w2 …» in total."""

    name = "scripted"

    def __init__(
        self,
        clock: FakeClock,
        work_s: Sequence[float],
        words: Sequence[int],
        chunk_samples: int | None = None,
    ) -> None:
        super().__init__(clock=clock)
        self._work_s, self._words = work_s, words
        self._chunk_samples = chunk_samples

    def _run(self) -> None:
        step = said = 0
        while True:
            if self._chunk_samples is None:
                chunk, id = self.input_buffer.get()
                end_s, is_end = chunk.end_time, chunk.data is Signal.FINISH
            else:
                id, _, is_end, end_s = self.input_buffer.get_with_rechunking(self._chunk_samples)
            for _ in range(self._words[step % len(self._words)]):
                self.clock.sleep(self._work_s[step % len(self._work_s)])
                said += 1
                part = TranscriptionChunk(uid=said, text=f"w{said}")
                self.output_buffer.put(OutputChunk(data=part, seconds_processed=end_s), id=id)
            self.clock.sleep(self._work_s[(step + 1) % len(self._work_s)])
            step += 1
            if is_end:
                self.output_buffer.put(
                    OutputChunk(data=Signal.FINISH, seconds_processed=end_s), id=id
                )


class FunctionASR(StreamingASR):
    """Runs a function instead of a model."""

    name = "function"

    def __init__(self, run: Callable[[InputBuffer, OutputBuffer], None]) -> None:
        super().__init__()
        self._function = run

    def _run(self) -> None:
        self._function(self.input_buffer, self.output_buffer)


def tone(seconds: float, rate: int = 16_000) -> NDArray[np.float32]:
    time = np.arange(round(seconds * rate)) / rate
    return (0.3 * np.sin(2 * np.pi * 220 * time)).astype(np.float32)


def syllables(seconds: float, rate: int = 16_000) -> NDArray[np.float32]:
    """A tone that stops for 50 ms five times a second, as loud and quiet alternate in speech."""
    time = np.arange(round(seconds * rate)) / rate
    return np.where(time % 0.2 < 0.15, tone(seconds, rate), 0).astype(np.float32)


def answer(text: str, at: float, processed: float = 0.0, uid: RecordingId = "all") -> OutputChunk:
    """An answer that replaces the whole text and is taken as soon as it is put."""
    part = TranscriptionChunk(uid=uid, text=text)
    return OutputChunk(data=part, seconds_processed=processed, put_timestamp=at, get_timestamp=at)


def finish(at: float, processed: float = 0.0) -> OutputChunk:
    return OutputChunk(
        data=Signal.FINISH, seconds_processed=processed, put_timestamp=at, get_timestamp=at
    )


def sent(at: float, end_time: float, data: object = b"") -> InputChunk:
    return InputChunk(data=data, end_time=end_time, put_timestamp=at, get_timestamp=at)  # type: ignore[arg-type]  # any mark will do
