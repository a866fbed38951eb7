"""Sending audio to a model as a microphone would: each piece as soon as it has been spoken."""

from __future__ import annotations

import itertools
import threading
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import soxr

from stt_ru.audio import SAMPLE_RATE
from stt_ru.errors import StreamingError, UsageError, sentence_of
from stt_ru.streaming.queue.chunks import InputChunk, Signal, convert_audio_format, wav_header

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stt_ru.streaming.engines.model import StreamingASR
    from stt_ru.streaming.queue.buffer import RecordingId

SenderStatus = Literal["not_started", "started", "finished", "failed"]


@dataclass(frozen=True, slots=True)
class Cutoff:
    """A moment of the schedule and how much has been spoken by then.

    Attributes:
        t_real: Wall time since the speech began, seconds.
        t_audio: Audio time spoken by then, seconds.
        arr_pos: The same position in samples of the waveform.
    """

    t_real: float
    t_audio: float
    arr_pos: int


def get_uniform_cutoffs(
    waveform: NDArray[np.floating],
    real_time_interval_sec: float = 1 / 25,
    speed_multiplier: float = 1.0,
    sampling_rate: int = SAMPLE_RATE,
) -> list[Cutoff]:
    """The schedule of a recording cut at equal intervals of wall time.

    Args:
        waveform: Single-channel samples.
        real_time_interval_sec: Wall time between two pieces, seconds.
        speed_multiplier: Speed of the speech relative to real time.
        sampling_rate: Sampling rate of the waveform, Hz.

    Returns:
        The beginning, (0, 0, 0), and the end of every piece. The last piece contains what remains
        and is sent as soon as it has been spoken.

    Raises:
        UsageError: If the interval or the speed is not positive, or a piece would have no samples.

    Example:
        >>> import numpy as np
        >>> get_uniform_cutoffs(np.zeros(5), 0.2, sampling_rate=10)[1:]
        [Cutoff(t_real=0.2, t_audio=0.2, arr_pos=2), Cutoff(t_real=0.4, t_audio=0.4, arr_pos=4), \
Cutoff(t_real=0.5, t_audio=0.5, arr_pos=5)]
    """
    if not real_time_interval_sec > 0 or not speed_multiplier > 0:
        raise UsageError(
            f"интервал {real_time_interval_sec} с и скорость {speed_multiplier}: "
            "нужны числа больше 0"
        )
    step = real_time_interval_sec * speed_multiplier * sampling_rate  # samples, not always whole
    if step < 1:
        raise UsageError(f"интервал {real_time_interval_sec} с короче одного отсчёта")
    positions = [0]
    for number in itertools.count(1):
        if (position := round(number * step)) >= len(waveform):
            break
        positions.append(position)
    if len(waveform):
        positions.append(len(waveform))
    return [
        Cutoff(position / sampling_rate / speed_multiplier, position / sampling_rate, position)
        for position in positions
    ]


class StreamingSender:
    """Sends one recording to a model, once, from its own thread.

    Args:
        cutoffs: The schedule; `Cutoff.arr_pos` counts samples of ``waveform``.
        waveform: Single-channel samples at the model's rate, float in [-1, 1].
        asr: The model; its ``audio_type`` determines the format sent.
        id: Id of the recording, not yet used with this model; None for a new unique id.

    Attributes:
        id: Id of the recording.
    """

    def __init__(
        self,
        cutoffs: Sequence[Cutoff],
        waveform: NDArray[np.floating],
        asr: StreamingASR,
        id: RecordingId | None = None,
    ) -> None:
        self.id: RecordingId = uuid.uuid4().hex if id is None else id
        self._cutoffs = list(cutoffs)
        self._waveform = waveform
        self._asr = asr
        self._history: list[InputChunk] = []
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._without_delays = False
        self._stop = threading.Event()

    def start_sending(self, without_delays: bool = False) -> None:
        """Start sending now.

        Args:
            without_delays: Send everything at once instead of on schedule.

        Raises:
            StreamingError: If it has already been started, or the model has already used this id.
        """
        if self._thread is not None:
            raise StreamingError(f"запись {self.id!r} уже отправлялась: нужен новый номер")
        self._without_delays = without_delays
        self._thread = threading.Thread(target=self._run, name=f"sender {self.id}", daemon=True)
        try:
            self._asr.input_buffer.claim(self.id)
        except StreamingError as error:
            self._error = error
            raise
        self._thread.start()

    def stop(self) -> None:
        """Stop sending; the reader gets an error instead of ``Signal.FINISH``."""
        self._stop.set()

    def join(self, timeout: float | None = None) -> None:
        """Wait until everything has been sent.

        Raises:
            StreamingError: If it has not been started, or sending failed.
            TimeoutError: If it is not done after ``timeout`` seconds.
        """
        if self._thread is None:
            raise StreamingError(f"запись {self.id!r} ещё не отправлялась")
        if self._thread.ident is not None:
            self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError(f"запись {self.id!r} не отправлена за {timeout:g} с")
        if self._error is not None:
            raise StreamingError(
                f"запись {self.id!r} не отправлена: {self._error}"
            ) from self._error

    def join_and_get_history(self, timeout: float | None = None) -> list[InputChunk]:
        """Wait until everything has been sent; return it, including the final signal.

        Chunks get their ``get_timestamp`` when the model takes them, so all of them have one only
        after the model has finished.
        """
        self.join(timeout)
        return list(self._history)

    def history_so_far(self) -> list[InputChunk]:
        """The chunks sent so far."""
        return list(self._history)

    def get_status(self) -> SenderStatus:
        """The state of the sending."""
        if self._error is not None:
            return "failed"
        if self._thread is None:
            return "not_started"
        return "started" if self._thread.is_alive() else "finished"

    def _run(self) -> None:
        try:
            self._send_all()
        except BaseException as error:  # noqa: BLE001 - it is raised in join and in the reader
            self._error = error
            # A failed model refuses audio with its own error: that is what the reader must get.
            origin = (error.__cause__ if isinstance(error, StreamingError) else None) or error
            self._asr.output_buffer.put_error(origin, self.id)
            self._asr.input_buffer.put_error(origin, self.id)

    def _send_all(self) -> None:
        clock = self._asr.clock
        started = clock.now()
        for number, (previous, cutoff) in enumerate(itertools.pairwise(self._cutoffs)):
            if not self._without_delays:
                # Absolute deadlines: oversleeping does not accumulate.
                clock.sleep(started + cutoff.t_real - clock.now())
            self._check()
            piece = self._waveform[previous.arr_pos : cutoff.arr_pos]
            self._send(InputChunk(data=self._encode(piece, number), end_time=cutoff.t_audio))
        end_s = self._cutoffs[-1].t_audio if self._cutoffs else 0.0
        self._check()
        self._send(InputChunk(data=Signal.FINISH, end_time=end_s))

    def _check(self) -> None:
        if self._stop.is_set():
            raise StreamingError("отправка прервана")
        if (error := self._asr.input_buffer.error_of(self.id)) is not None:
            raise StreamingError(sentence_of(error)) from error

    def _send(self, chunk: InputChunk) -> None:
        self._history.append(chunk)
        self._asr.input_buffer.put(chunk, id=self.id)

    def _encode(self, piece: NDArray[np.floating], number: int) -> bytes | NDArray[np.float32]:
        audio_type = self._asr.audio_type
        if audio_type != "wav":
            return convert_audio_format(piece, audio_type)  # type: ignore[return-value]
        body = convert_audio_format(piece, "bytes")
        assert isinstance(body, bytes)
        return (b"" if number else wav_header(len(self._waveform), self._asr.sampling_rate)) + body


def make_sender(
    waveform: NDArray[np.floating],
    asr: StreamingASR,
    real_time_interval_sec: float = 1 / 5,
    speed_multiplier: float = 1,
    uid: RecordingId | None = None,
    *,
    sampling_rate: int = SAMPLE_RATE,
) -> tuple[list[Cutoff], StreamingSender]:
    """The schedule of a recording and a sender in the model's sampling rate and format.

    Args:
        waveform: Single-channel samples in [-1, 1].
        asr: The model.
        real_time_interval_sec: Wall time between two pieces, seconds.
        speed_multiplier: Speed of the speech relative to real time.
        uid: Id of the recording; None for a new unique id.
        sampling_rate: Sampling rate of ``waveform``, Hz.

    Raises:
        UsageError: If the interval or the speed is invalid.
    """
    if sampling_rate != asr.sampling_rate:
        waveform = soxr.resample(waveform, sampling_rate, asr.sampling_rate, quality="HQ")
    cutoffs = get_uniform_cutoffs(
        waveform, real_time_interval_sec, speed_multiplier, asr.sampling_rate
    )
    return cutoffs, StreamingSender(cutoffs, waveform, asr, uid)
