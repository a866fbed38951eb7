"""A streaming recogniser: audio arrives in one queue, transcriptions leave through another."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from stt_ru.audio import SAMPLE_RATE
from stt_ru.clock import SYSTEM_CLOCK, Clock
from stt_ru.errors import StreamingError
from stt_ru.streaming.queue.buffer import Exit
from stt_ru.streaming.queue.chunks import (
    AudioType,
    InputBuffer,
    OutputBuffer,
    OutputChunk,
    Signal,
    TranscriptionChunk,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stt_ru.streaming.queue.buffer import RecordingId

logger = logging.getLogger(__name__)

STOPPING_S: Final = 10.0  # a model still busy with one chunk after this long is stuck


class StreamingASR(ABC):
    """A recogniser that runs in its own thread and handles any number of recordings at once.

    A subclass implements `_run`: take chunks from ``input_buffer``, put an `OutputChunk` for each
    answer into ``output_buffer``, with ``Signal.FINISH`` as the last one of every recording, and
    let `Exit` propagate. An error that concerns a single recording is passed to `fail`; any other
    exception ends the model and is raised in all readers.

    Args:
        sampling_rate: Sampling rate of the audio the model expects, Hz.
        clock: Source of the timestamps.

    Attributes:
        input_buffer: Audio for the model.
        output_buffer: The model's answers.
        name: The name shown in reports.
        settings: Fields of the report's signature: everything that can change the text.
    """

    name: str = ""
    settings: Mapping[str, str] = {}

    def __init__(self, sampling_rate: int = SAMPLE_RATE, clock: Clock = SYSTEM_CLOCK) -> None:
        self.sampling_rate = sampling_rate
        self.clock = clock
        self.name = self.name or type(self).__name__
        self._thread: threading.Thread | None = None
        self._make_buffers()

    def _make_buffers(self) -> None:
        self.input_buffer = InputBuffer(f"{self.name}: звук", self.clock)
        self.output_buffer = OutputBuffer(f"{self.name}: текст", self.clock)
        self.input_buffer.on_misuse = self.output_buffer.put_error

    @property
    def audio_type(self) -> AudioType:
        """The format of the audio the model expects."""
        return "float"

    @property
    def is_multithreaded(self) -> bool:
        """Whether the model starts its own threads, so that its times cannot be remapped."""
        return False

    def is_thread_started(self) -> bool:
        """Whether the model is running."""
        return self._thread is not None and self._thread.is_alive()

    def start_thread(self) -> None:
        """Start the model with empty buffers.

        Raises:
            StreamingError: If it is already running.
        """
        if self.is_thread_started():
            raise StreamingError(f"модель {self.name} уже работает")
        if self._thread is not None:  # it was stopped or has died: ids may be reused
            self._make_buffers()
        self._thread = threading.Thread(
            target=self._run_to_the_end,
            args=(self.input_buffer, self.output_buffer),
            name=f"streaming {self.name}",
            daemon=True,  # a stuck model must not keep the process alive
        )
        self._thread.start()

    def stop_thread(self, timeout: float = STOPPING_S) -> None:
        """Stop the model if it is running; readers still waiting get `Exit`.

        Raises:
            TimeoutError: If it has not stopped after ``timeout`` seconds.
        """
        self.input_buffer.put_error(Exit())
        thread = self._thread
        if thread is None:
            return
        thread.join(timeout)
        if thread.is_alive():
            self.output_buffer.put_error(Exit())
            raise TimeoutError(f"модель {self.name} не остановилась за {timeout:g} с")

    def fail(self, id: RecordingId, error: BaseException) -> None:
        """Fail one recording with an error raised in its reader; the others continue."""
        logger.debug("%s: recording %r failed", self.name, id, exc_info=error)
        self.output_buffer.put_error(error, id)
        self.input_buffer.put_error(error, id)

    @abstractmethod
    def _run(self) -> None:
        """Process chunks until ``input_buffer`` raises `Exit`."""

    def _run_to_the_end(self, audio: InputBuffer, text: OutputBuffer) -> None:
        try:
            self._run()
        except Exit as end:
            text.put_error(end)
            audio.put_error(end)
        except BaseException as error:  # noqa: BLE001 - it is raised in every reader
            text.put_error(error)
            audio.put_error(error)
        else:
            silence = StreamingError(f"модель {self.name} перестала работать, хотя её не просили")
            text.put_error(silence)
            audio.put_error(silence)


class DummyASR(StreamingASR):
    """Counts seconds: N whole seconds of audio give «1 2 … N»."""

    name = "dummy"

    def _run(self) -> None:
        counted: dict[RecordingId, int] = {}
        while True:
            chunk, id = self.input_buffer.get()
            seconds = counted.setdefault(id, 0)
            while seconds + 1 <= chunk.end_time + 1e-9:  # sums of chunk lengths are rounded
                seconds += 1
                self.output_buffer.put(
                    OutputChunk(
                        data=TranscriptionChunk(text=str(seconds)),
                        seconds_processed=chunk.end_time,
                    ),
                    id=id,
                )
            counted[id] = seconds
            if chunk.data is Signal.FINISH:
                del counted[id]
                self.output_buffer.put(
                    OutputChunk(data=Signal.FINISH, seconds_processed=chunk.end_time), id=id
                )
