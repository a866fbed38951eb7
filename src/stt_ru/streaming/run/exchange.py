"""Sending one recording to a model and receiving all its answers."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stt_ru.errors import StreamingError, sentence_of
from stt_ru.streaming.queue.chunks import Signal, check_all_taken
from stt_ru.streaming.schedule.remap import remap_time
from stt_ru.streaming.schedule.sender import make_sender

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stt_ru.streaming.engines.model import StreamingASR
    from stt_ru.streaming.queue.buffer import RecordingId
    from stt_ru.streaming.queue.chunks import InputChunk, OutputChunk
    from stt_ru.streaming.run.results import StreamOptions
    from stt_ru.streaming.run.running_model import RunningModel
    from stt_ru.streaming.schedule.sender import Cutoff, StreamingSender

_TICK_S: Final = 0.5  # how often a waiting loop wakes to check for a stop and for the timeout


@dataclass(frozen=True, slots=True)
class Exchange:
    """The chunks sent and the answers received for one recording.

    Attributes:
        cutoffs: The schedule.
        inputs: The chunks sent, ending with ``Signal.FINISH``.
        outputs: The model's answers, ending with ``Signal.FINISH``.
        compute_s: Wall seconds the model worked on it; None if several recordings shared the
            model.
    """

    cutoffs: Sequence[Cutoff]
    inputs: Sequence[InputChunk]
    outputs: Sequence[OutputChunk]
    compute_s: float | None


class Exchanges:
    """Sends recordings to a model; may be used from several threads, one per recording.

    Args:
        model: The model.
        options: How the recordings are sent; ``realtime`` is not None.
    """

    def __init__(self, model: RunningModel, options: StreamOptions) -> None:
        self._model = model
        self._options = options
        self._stop = threading.Event()
        self._senders: dict[RecordingId, StreamingSender] = {}

    def send(self, waveform: NDArray[np.float32], id: RecordingId) -> Exchange:
        """Send a recording and wait for the last answer.

        Args:
            waveform: Single-channel samples at 16 kHz.
            id: An id not yet used with this model.

        Returns:
            The exchange; its times follow the schedule whether or not it was sent in real time.

        Raises:
            StreamingError: If the model, the sender or the recording has failed, or nothing has
                happened for too long.
        """
        asr = self._model.started()
        options = self._options
        cutoffs, sender = make_sender(waveform, asr, options.interval_s, options.speed, id)
        self._senders[id] = sender
        sender.start_sending(without_delays=not options.realtime)
        try:
            outputs = self._receive(asr, sender)
        finally:
            sender.stop()
            del self._senders[id]  # frees the audio too
        inputs = sender.history_so_far()
        check_all_taken(inputs)
        worked_s = outputs[-1].put_timestamp - inputs[0].get_timestamp
        compute_s = max(0.0, worked_s - asr.input_buffer.waited_s(id))
        if not options.realtime:
            inputs, outputs = remap_time(cutoffs, inputs, outputs)
        return Exchange(cutoffs, inputs, outputs, compute_s if options.streams == 1 else None)

    def stop(self) -> None:
        """Stop sending; threads waiting for answers get an error."""
        self._stop.set()
        for sender in list(self._senders.values()):
            sender.stop()

    def _receive(self, asr: StreamingASR, sender: StreamingSender) -> list[OutputChunk]:
        outputs: list[OutputChunk] = []
        patience_s = self._options.timeout_s
        buffer, clock = asr.output_buffer, asr.clock
        active_at = clock.now()
        taken = 0
        while not outputs or outputs[-1].data is not Signal.FINISH:
            try:
                chunk, _ = buffer.get(sender.id, timeout=min(_TICK_S, patience_s))
            except TimeoutError:
                sent = sender.history_so_far()
                while taken < len(sent) and not math.isnan(sent[taken].get_timestamp):
                    active_at = max(active_at, sent[taken].get_timestamp)
                    taken += 1
                if self._stop.is_set():
                    raise StreamingError("прервано") from None
                if clock.now() - active_at <= patience_s:
                    continue
                error = StreamingError(
                    f"модель молчит: {patience_s:g} с не берёт звук этой записи и не отвечает"
                )
                asr.fail(sender.id, error)
                self._model.replace_if_stuck(asr)
                raise error from None
            outputs.append(chunk)
            active_at = clock.now()
        if (late := buffer.error_of(sender.id)) is not None:
            raise StreamingError(sentence_of(late)) from late
        return outputs
