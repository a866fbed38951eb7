"""Chunks that travel to a streaming model and back, timestamped on the way."""

from __future__ import annotations

import itertools
import logging
import math
import struct
import threading
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from stt_ru.audio import SAMPLE_RATE
from stt_ru.clock import SYSTEM_CLOCK, Clock
from stt_ru.errors import StreamingError, UsageError
from stt_ru.streaming.queue.buffer import RecordingId, StreamingQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

logger = logging.getLogger(__name__)

AUDIO_CHUNK_TYPE: TypeAlias = NDArray[np.float32] | NDArray[np.int16] | bytes
"""A piece of audio in the model's format: float in [-1, 1], int16, or bytes."""

AudioType: TypeAlias = Literal["float", "int", "bytes", "wav"]
"""float32 array; int16 array; little-endian int16 bytes; the same preceded by a WAV header."""

_FULL_SCALE: Final = 32_768  # 2**15: an int16 sample divided by this is in [-1, 1)
_TIME_SLACK_S: Final = 1e-6  # clocks and sums of floats agree no more closely


class Signal(Enum):
    """Takes the place of a chunk's data."""

    FINISH = 0
    """The end of the recording."""


_new_uid = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptionChunk:
    """A part of a transcription, or a new text for an earlier part.

    Attributes:
        uid: Id of the part; a new one unless given.
        text: The part's text from now on; empty to withdraw the part.
    """

    uid: RecordingId = field(default_factory=lambda: f"part-{next(_new_uid)}")
    text: str

    @staticmethod
    def join(chunks: Iterable[TranscriptionChunk | OutputChunk]) -> str:
        """The full text after these chunks.

        A new uid is appended, a known uid replaces its text in place, an empty text removes it.
        ``Signal.FINISH`` is ignored.

        Example:
            >>> parts = [("a", "раз"), (1, "два"), (2, "три"), (1, "две трети"), (2, "")]
            >>> TranscriptionChunk.join(TranscriptionChunk(uid=u, text=t) for u, t in parts)
            'раз две трети'
        """
        texts: dict[RecordingId, str] = {}
        for chunk in chunks:
            part = chunk.data if isinstance(chunk, OutputChunk) else chunk
            if isinstance(part, TranscriptionChunk):
                texts[part.uid] = part.text.strip()
        return " ".join(text for text in texts.values() if text)


@dataclass(slots=True, kw_only=True)
class InputChunk:
    """A piece of audio on its way to the model.

    Attributes:
        data: The samples; ``Signal.FINISH`` after the last piece; None in a saved history, which
            keeps no audio.
        end_time: Audio time at the end of the piece, seconds.
        put_timestamp: Wall time when it was sent, seconds of the queue's clock; nan until then.
        get_timestamp: Wall time when the model took it; nan until then.
    """

    data: AUDIO_CHUNK_TYPE | Literal[Signal.FINISH] | None
    end_time: float
    put_timestamp: float = math.nan
    get_timestamp: float = math.nan


@dataclass(slots=True, kw_only=True)
class OutputChunk:
    """A piece of transcription on its way back.

    Attributes:
        data: What was recognised; ``Signal.FINISH`` after the last piece.
        seconds_processed: Audio time that the model had processed, seconds.
        put_timestamp: Wall time when the model sent it, seconds of the queue's clock; nan until
            then.
        get_timestamp: Wall time when the reader took it; nan until then.
    """

    data: TranscriptionChunk | Literal[Signal.FINISH]
    seconds_processed: float
    put_timestamp: float = math.nan
    get_timestamp: float = math.nan


CHUNK_TYPE = TypeVar("CHUNK_TYPE", bound=InputChunk | OutputChunk)


class ASRStreamingQueue(StreamingQueue[CHUNK_TYPE]):
    """A queue that timestamps chunks and guards the life cycle of a recording.

    After ``Signal.FINISH`` an id accepts nothing more, and no other recording may use it. A
    violation is raised in the sender and in that id's readers; other ids are not affected.

    Args:
        name: What the queue carries, for error messages.
        clock: Source of the timestamps.

    Attributes:
        on_misuse: Called when an id is misused, so that readers of other queues get the error too.
    """

    def __init__(self, name: str = "unnamed", clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(name)
        self.clock = clock
        self.on_misuse: Callable[[BaseException, RecordingId], None] | None = None
        self._claimed: set[RecordingId] = set()
        self._finished: set[RecordingId] = set()

    def claim(self, id: RecordingId) -> None:
        """Reserve an id for a new recording.

        Raises:
            StreamingError: If the id has been used before.
        """
        with self._lock:
            is_taken = id in self._claimed or id in self._finished
            self._claimed.add(id)
        if is_taken:
            raise self._refused(id, f"номер записи {id!r} уже занят: нужен новый")

    def put(self, data: CHUNK_TYPE, id: RecordingId = 0) -> None:
        """Timestamp a chunk and add it.

        Raises:
            StreamingError: If the recording with this id has finished or failed.
        """
        with self._lock:
            is_finished, error = id in self._finished, self._errors.get(id)
            if not is_finished and error is None:
                data.put_timestamp = self.clock.now()
                self._put(data, id)
                if data.data is Signal.FINISH:
                    self._finished.add(id)
        if is_finished:
            raise self._refused(id, f"запись {id!r} уже кончилась, для неё больше ничего нет")
        if error is not None:
            raise StreamingError(f"запись {id!r} уже прервана: {error}") from error

    def get(
        self, id: RecordingId | None = None, timeout: float | None = None
    ) -> tuple[CHUNK_TYPE, RecordingId]:
        """The next chunk of one id, or of any, timestamped; see `StreamingQueue.get`."""
        chunk, owner = super().get(id, timeout)
        chunk.get_timestamp = self.clock.now()
        return chunk, owner

    def _refused(self, id: RecordingId, sentence: str) -> StreamingError:
        error = StreamingError(f"{self.name}: {sentence}")
        self.put_error(error, id)
        if self.on_misuse is not None:
            self.on_misuse(error, id)
        return error


class InputBuffer(ASRStreamingQueue[InputChunk]):
    """Audio on its way to the model, which takes it as sent or in pieces of a size it chooses.

    Attributes:
        taken_at: Wall time when a chunk was last taken; nan until then.
    """

    def __init__(self, name: str = "input", clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(name, clock)
        self.taken_at = math.nan
        self._waited_s: dict[RecordingId, float] = {}
        self._is_rechunked = False
        self._pending: dict[RecordingId, _Pending] = {}
        self._pending_lock = threading.Lock()

    def get(
        self, id: RecordingId | None = None, timeout: float | None = None
    ) -> tuple[InputChunk, RecordingId]:
        """The next chunk as it was sent; see `StreamingQueue.get`.

        Raises:
            RuntimeError: Also after `get_with_rechunking`, which may be holding part of a chunk.
        """
        if self._is_rechunked:
            raise StreamingError(
                f"{self.name}: get после get_with_rechunking потерял бы часть звука"
            )
        return self._take(id, timeout)

    def get_with_rechunking(
        self, size: int, id: RecordingId | None = None, timeout: float | None = None
    ) -> tuple[RecordingId, AUDIO_CHUNK_TYPE | None, bool, float]:
        """The next ``size`` samples of a recording; for byte formats, the next ``size`` bytes.

        Args:
            size: Number of samples or bytes, at least 1.
            id: The recording; None for whichever is first to have that much audio.
            timeout: Seconds to wait for each chunk needed; None to wait indefinitely.

        Returns:
            The id; the audio, shorter than ``size`` only at the end, None if nothing was left;
            whether this was the end; the audio time of the last sample returned, seconds.

        Raises:
            ValueError: If ``size`` is less than 1.
            TimeoutError, RuntimeError, Exit: As `StreamingQueue.get`.
        """
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size}")
        self._is_rechunked = True
        while True:
            with self._pending_lock:
                served = self._serve(size, id)
            if served is not None:
                return served
            chunk, owner = self._take(id, timeout)
            with self._pending_lock:
                self._pending.setdefault(owner, _Pending()).append(chunk)

    def put_error(self, error: BaseException, id: RecordingId | None = None) -> None:
        """Put the queue, or one id, into an error state; see `StreamingQueue.put_error`."""
        super().put_error(error, id)
        if id is not None:
            with self._pending_lock:
                self._pending.pop(id, None)

    def waited_s(self, id: RecordingId) -> float:
        """Wall seconds the model has waited for audio of a recording after its first chunk."""
        with self._pending_lock:
            return self._waited_s.get(id, 0.0)

    def _take(
        self, id: RecordingId | None, timeout: float | None
    ) -> tuple[InputChunk, RecordingId]:
        called = self.clock.now()
        chunk, owner = super().get(id, timeout)
        with self._pending_lock:
            self.taken_at = chunk.get_timestamp
            if owner in self._waited_s:
                self._waited_s[owner] += chunk.get_timestamp - called
            else:
                self._waited_s[owner] = 0.0  # idle time before the recording does not count
        return chunk, owner

    def _serve(
        self, size: int, id: RecordingId | None
    ) -> tuple[RecordingId, AUDIO_CHUNK_TYPE | None, bool, float] | None:
        candidates = list(self._pending) if id is None else [id]
        for owner in candidates:
            pending = self._pending.get(owner)
            if pending is None or not (pending.is_finished or pending.length >= size):
                continue
            audio = pending.take(size)
            del self._pending[owner]
            is_end = pending.is_finished and not pending.length
            if not is_end:
                self._pending[owner] = pending  # behind the others, so that recordings take turns
            return owner, audio, is_end, pending.time_s
        return None


class _Pending:
    """Audio of one recording that has been taken from the queue but not yet returned."""

    def __init__(self) -> None:
        self.length = 0
        self.is_finished = False
        self.time_s = 0.0  # audio time of the last sample returned
        self._pieces: deque[tuple[AUDIO_CHUNK_TYPE, float]] = deque()  # with its end time

    def append(self, chunk: InputChunk) -> None:
        if chunk.data is Signal.FINISH:
            self.is_finished = True
        elif chunk.data is None:
            raise StreamingError("в сохранённой истории нет звука, её нельзя распознать снова")
        elif len(chunk.data):
            self._pieces.append((chunk.data, chunk.end_time))
            self.length += len(chunk.data)

    def take(self, size: int) -> AUDIO_CHUNK_TYPE | None:
        taken: list[AUDIO_CHUNK_TYPE] = []
        missing = min(size, self.length)
        while missing:
            piece, end_s = self._pieces.popleft()
            head, rest = piece[:missing], piece[missing:]
            if len(rest):
                self._pieces.appendleft((rest, end_s))
                end_s = self.time_s + (end_s - self.time_s) * len(head) / len(piece)
            self.time_s = end_s
            self.length -= len(head)
            missing -= len(head)
            taken.append(head)
        return _joined(taken)


def _joined(pieces: list[AUDIO_CHUNK_TYPE]) -> AUDIO_CHUNK_TYPE | None:
    if len(pieces) < 2:
        return pieces[0] if pieces else None
    if isinstance(pieces[0], bytes):
        return b"".join(piece for piece in pieces if isinstance(piece, bytes))
    return np.concatenate(cast("list[NDArray[np.float32]]", pieces))


class OutputBuffer(ASRStreamingQueue[OutputChunk]):
    """Transcriptions on their way from the model.

    If the model answers after finishing a recording, only that recording fails: its reader gets
    the error (`error_of`), and the model goes on with the others.
    """

    def __init__(self, name: str = "output", clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(name, clock)

    def put(self, data: OutputChunk, id: RecordingId = 0) -> None:
        """Timestamp a chunk and add it; chunks of a failed recording are dropped."""
        try:
            super().put(data, id)
        except StreamingError as error:
            logger.debug("an answer was rejected: %s", error)

    def _refused(self, id: RecordingId, sentence: str) -> StreamingError:
        return super()._refused(id, f"модель ответила после конца: {sentence}")


def check_consistency(
    input_chunks: Sequence[InputChunk], output_chunks: Sequence[OutputChunk]
) -> None:
    """Check that a history is physically possible.

    Every chunk was put before it was taken (a chunk may never be taken), and no output had
    processed more audio than the model had taken by then.

    Raises:
        AssertionError: If it is not; the message names the chunk.
    """
    histories: tuple[tuple[str, Sequence[InputChunk | OutputChunk]], ...] = (
        ("input", input_chunks),
        ("output", output_chunks),
    )
    for kind, chunks in histories:
        for number, chunk in enumerate(chunks):
            if math.isnan(chunk.put_timestamp):
                raise AssertionError(f"{kind} chunk {number} was never put")
            if chunk.get_timestamp < chunk.put_timestamp:
                raise AssertionError(
                    f"{kind} chunk {number} was taken at {chunk.get_timestamp}, "
                    f"but put only at {chunk.put_timestamp}"
                )
    taken = sorted(
        (chunk.get_timestamp, chunk.end_time)
        for chunk in input_chunks
        if not math.isnan(chunk.get_timestamp)
    )
    position, taken_s = 0, 0.0
    for output in sorted(output_chunks, key=lambda chunk: chunk.put_timestamp):
        while position < len(taken) and taken[position][0] <= output.put_timestamp:
            taken_s = max(taken_s, taken[position][1])
            position += 1
        if output.seconds_processed > taken_s + _TIME_SLACK_S:
            raise AssertionError(
                f"the output at {output.put_timestamp} had processed "
                f"{output.seconds_processed} s, but the model had taken only {taken_s} s"
            )


def check_all_taken(input_chunks: Sequence[InputChunk]) -> None:
    """Check that a model that has finished a recording took all of its audio.

    Raises:
        StreamingError: If it did not.
    """
    last = input_chunks[-1] if input_chunks else None
    if last is None or last.data is not Signal.FINISH or math.isnan(last.get_timestamp):
        raise StreamingError("модель закончила, не дослушав запись")


def convert_audio_format(
    waveform: NDArray[np.floating], audio_type: AudioType, sampling_rate: int = SAMPLE_RATE
) -> AUDIO_CHUNK_TYPE:
    """Convert samples in [-1, 1], shape (n,), to the model's format.

    Integers saturate: 1.0 becomes 32767, values out of range become the nearest limit.

    Raises:
        UsageError: If the format is unknown.
        ValueError: If there is more than one channel, or a sample is not finite.

    Example:
        >>> convert_audio_format(np.array([0.5, 1.0, -2.0]), "int").tolist()
        [16384, 32767, -32768]
    """
    if waveform.ndim != 1:
        raise ValueError(f"expected one channel, shape (n,), got {waveform.shape}")
    if not np.isfinite(waveform).all():
        raise ValueError("the waveform has samples that are not finite")
    if audio_type == "float":
        return np.ascontiguousarray(waveform, dtype=np.float32)
    if audio_type not in get_args(AudioType):
        known = ", ".join(get_args(AudioType))
        raise UsageError(f"нет формата звука «{audio_type}»; есть: {known}")
    scaled = np.rint(np.asarray(waveform, np.float64) * _FULL_SCALE)
    integers = np.clip(scaled, -_FULL_SCALE, _FULL_SCALE - 1).astype("<i2")
    if audio_type == "int":
        return integers.astype(np.int16)
    data = integers.tobytes()
    return data if audio_type == "bytes" else wav_header(len(integers), sampling_rate) + data


def wav_header(n_samples: int, sampling_rate: int) -> bytes:
    """The header of a mono 16-bit WAV file with ``n_samples`` samples."""
    size = 2 * n_samples
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        *(b"RIFF", 36 + size, b"WAVE", b"fmt ", 16),  # 36: the rest of the header
        *(1, 1, sampling_rate, 2 * sampling_rate, 2, 16),  # PCM, mono; bytes per second, per frame
        *(b"data", size),
    )
