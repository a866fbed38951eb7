"""The bridge to ``stt_ru.streaming``: a `StreamingASR` run as an agent.

The only module here that uses that package; `streaming.measures.lagging` is the bridge the
other way, which gives the figures of ``stt-ru stream``.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import numpy as np
import soxr

from stt_ru.simultaneous.agents import (
    Action,
    AgentStates,
    ReadAction,
    SpeechToTextAgent,
    WriteAction,
)
from stt_ru.simultaneous.run.evaluator import AgentError
from stt_ru.streaming.queue.chunks import (
    InputBuffer,
    InputChunk,
    OutputBuffer,
    OutputChunk,
    Signal,
    TranscriptionChunk,
    convert_audio_format,
)

if TYPE_CHECKING:
    from argparse import Namespace

    from numpy.typing import NDArray

    from stt_ru.clock import Clock
    from stt_ru.streaming.engines.model import StreamingASR
    from stt_ru.streaming.queue.buffer import RecordingId

TIMEOUT_S: Final = 60.0


class StreamingAgent(SpeechToTextAgent):
    """A streaming recogniser as an agent: a word is written once the model has gone past it.

    Models of streams take their words back, an output of an agent stays. So the last ``hold_back``
    words of the text so far are not written yet; a word that is revised after it was written counts
    as it was written. At the end of the source all that remains is written.

    After each piece of source the agent waits until the model asks for more, so that delays do not
    depend on the computer. That takes a model that works in its own thread alone.

    Subclasses override `build_model` to be loaded by ``--agent``.

    Args:
        args: Options of the command line.
        model: The recogniser; None for that of `build_model`.
        hold_back: Last words that may still change.
        timeout_s: Seconds of wall time in which the model must have dealt with a piece.
    """

    def __init__(
        self,
        args: Namespace | None = None,
        *,
        model: StreamingASR | None = None,
        hold_back: int = 1,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.model = self.build_model(args) if model is None else model
        self.hold_back = hold_back
        self.timeout_s = timeout_s
        self._audio: _WatchedInput | None = None
        self._recording = 0
        self._is_open = False
        super().__init__(args)

    def build_model(self, args: Namespace | None) -> StreamingASR:
        """The recogniser, for an agent that is loaded from a file."""
        raise NotImplementedError(
            f"{type(self).__name__}: переопределите build_model или передайте model="
        )

    def reset(self) -> None:
        """Get ready for the next recording; one that was left in the middle ends with its model."""
        super().reset()
        if self._is_open:
            self.close()
        self._is_open = False
        self._sent = 0
        self._written = 0
        self._answers: list[OutputChunk] = []
        self._resampler: soxr.ResampleStream | None = None

    def close(self) -> None:
        """Stop the model; the next recording starts it again."""
        self.model.stop_thread()
        self._audio = None

    def policy(self, states: AgentStates | None = None) -> Action:
        """Give the model what is new, wait until it wants more, write what is past changing."""
        states = states or self.states
        audio = self._started()
        id = self._recording
        if not self._is_open:
            self._is_open = True
            id = self._recording = self._recording + 1
        new = np.asarray(states.source[self._sent :], np.float32)
        self._sent = len(states.source)
        end_s = self._sent / states.source_sample_rate if self._sent else 0.0
        samples = self._resampled(new, states)
        if len(samples):
            data = convert_audio_format(samples, self.model.audio_type, self.model.sampling_rate)
            audio.put(InputChunk(data=data, end_time=end_s), id=id)
        if states.source_finished:
            audio.put(InputChunk(data=Signal.FINISH, end_time=end_s), id=id)
            self._read_to_the_end(id)
            self._is_open = False
        else:
            audio.wait_until_all_is_taken(self.model, self.timeout_s)
            self._read_what_there_is(id)
        words = TranscriptionChunk.join(self._answers).split()
        sure = len(words) if states.source_finished else max(0, len(words) - self.hold_back)
        written = words[self._written : sure]
        self._written = max(self._written, sure)
        if not written and not states.source_finished:
            return ReadAction()
        return WriteAction(" ".join(written), finished=states.source_finished)

    def _started(self) -> _WatchedInput:
        if self._audio is None or not self.model.is_thread_started():
            # A model that was stopped makes its buffers anew when it starts.
            self.model._make_buffers = self._install_buffers  # type: ignore[method-assign]  # ours
            self._install_buffers()
            self.model.start_thread()
        assert self._audio is not None
        return self._audio

    def _install_buffers(self) -> None:
        model = self.model
        self._audio = _WatchedInput(f"{model.name}: звук", model.clock)
        model.input_buffer = self._audio
        model.output_buffer = OutputBuffer(f"{model.name}: текст", model.clock)
        self._audio.on_misuse = model.output_buffer.put_error

    def _resampled(self, samples: NDArray[np.float32], states: AgentStates) -> NDArray[np.float32]:
        rate, wanted = states.source_sample_rate, self.model.sampling_rate
        if rate in (0, wanted):
            return samples
        if self._resampler is None:
            self._resampler = soxr.ResampleStream(rate, wanted, 1, quality="HQ")
        resampled = self._resampler.resample_chunk(samples, last=states.source_finished)
        clipped: NDArray[np.float32] = np.clip(resampled, -1.0, 1.0).astype(np.float32, copy=False)
        return clipped

    def _read_what_there_is(self, id: RecordingId) -> None:
        while True:
            try:
                chunk, _ = self.model.output_buffer.get(id, timeout=0)
            except TimeoutError:
                return
            self._answers.append(chunk)

    def _read_to_the_end(self, id: RecordingId) -> None:
        while True:
            chunk, _ = self.model.output_buffer.get(id, timeout=self.timeout_s)
            if chunk.data is Signal.FINISH:
                return
            self._answers.append(chunk)


class _WatchedInput(InputBuffer):
    """A model's input that knows when the model has dealt with all of it.

    A model that asks again has done with what it took before.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        super().__init__(name, clock)
        self._put_count = 0
        self._asked = 0
        self._changed = threading.Condition()

    def put(self, data: InputChunk, id: RecordingId = 0) -> None:
        """Stamp a chunk and add it."""
        super().put(data, id)
        self._put_count += 1

    def _take(
        self, id: RecordingId | None, timeout: float | None
    ) -> tuple[InputChunk, RecordingId]:
        with self._changed:
            self._asked += 1
            self._changed.notify_all()
        return super()._take(id, timeout)

    def wait_until_all_is_taken(self, model: StreamingASR, timeout_s: float) -> None:
        """Return when the model asks for more than was put, or has ended.

        Raises:
            AgentError: If it does neither in time.
        """
        waited_s = 0.0
        tick_s = 0.5  # a model that has died asks no more, and tells nobody here
        with self._changed:
            while self._asked <= self._put_count and model.is_thread_started():
                if not self._changed.wait(tick_s):
                    waited_s += tick_s
                if waited_s >= timeout_s:
                    raise AgentError(
                        f"модель {model.name} за {timeout_s:g} с не обработала кусок звука"
                    )
