"""Sending recordings to a model and receiving its answers, one or several at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from stt_ru.errors import UsageError
from stt_ru.streaming.queue.chunks import OutputChunk, Signal
from stt_ru.streaming.schedule.sender import make_sender

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stt_ru.streaming.engines.model import StreamingASR
    from stt_ru.streaming.queue.buffer import RecordingId


def receive_transcription(
    asr: StreamingASR, id: RecordingId, timeout: float | None = None
) -> Iterator[OutputChunk]:
    """Yield the answers for a recording as they arrive, ending with ``Signal.FINISH``.

    Args:
        asr: A running model.
        id: Id of the recording.
        timeout: Seconds to wait for each answer; None to wait indefinitely.

    Raises:
        TimeoutError: If an answer did not arrive in that time.
        RuntimeError: If the model, the sender or this recording has failed; the cause is chained.
        Exit: If the model was stopped.
    """
    while True:
        chunk, _ = asr.output_buffer.get(id, timeout)
        yield chunk
        if chunk.data is Signal.FINISH:
            return


def transcribe_parallel(
    asr: StreamingASR,
    waveforms: Sequence[NDArray[np.floating]],
    n_threads: int,
    send_all_without_delays: bool = False,
    real_time_interval_sec: float = 1 / 25,
    speed_multiplier: float = 1,
    *,
    timeout: float | None = None,
) -> dict[RecordingId, list[OutputChunk]]:
    """Send recordings to a model, several at a time, and receive all its answers.

    Args:
        asr: A running model.
        waveforms: Single-channel samples of each recording, 16 kHz.
        n_threads: How many recordings are in flight at once.
        send_all_without_delays: Send each recording at once instead of on schedule.
        real_time_interval_sec: Wall time between two pieces, seconds.
        speed_multiplier: Speed of the speech relative to real time.
        timeout: Seconds to wait for each answer; None to wait indefinitely.

    Returns:
        All answers for each recording, in the order of ``waveforms``; the ids are new.

    Raises:
        UsageError: If ``n_threads`` is less than 1.
        TimeoutError, RuntimeError, Exit: The error of the first recording that failed; the others
            are stopped.
    """
    if n_threads < 1:
        raise UsageError(f"n_threads={n_threads}: нужно число не меньше 1")
    stop = threading.Event()

    def transcribe(waveform: NDArray[np.floating]) -> tuple[RecordingId, list[OutputChunk]]:
        if stop.is_set():
            return "", []
        _, sender = make_sender(waveform, asr, real_time_interval_sec, speed_multiplier)
        sender.start_sending(without_delays=send_all_without_delays)
        try:
            chunks = list(receive_transcription(asr, sender.id, timeout))
            sender.join()
        except BaseException:
            stop.set()
            sender.stop()
            raise
        return sender.id, chunks

    with ThreadPoolExecutor(n_threads, thread_name_prefix="caller") as pool:
        return dict(pool.map(transcribe, waveforms))
