"""An adapter that makes a streaming model recognise files."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from stt_ru.audio import load_audio
from stt_ru.audio.tracks import channel_map, equal_channels
from stt_ru.recognition.recognizer import Transcript
from stt_ru.results import Segment
from stt_ru.streaming.queue.buffer import Exit
from stt_ru.streaming.queue.chunks import OutputChunk, TranscriptionChunk, check_all_taken
from stt_ru.streaming.schedule.caller import receive_transcription
from stt_ru.streaming.schedule.sender import make_sender

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from stt_ru.streaming.engines.model import StreamingASR


class StreamingToOffline:
    """A streaming model as a `Recognizer`, for ``stt-ru evaluate``.

    A recording is sent at once, not on schedule; each distinct channel separately. The model's
    thread is started when needed, and stopped by `close` or with the last reference to this
    object. Whole recordings are read into memory: one hour of one channel is 230 MB.

    Args:
        streaming_model: A model, running or not.
        timeout: Seconds to wait for each of its answers; None to wait indefinitely.
        split_channels: Recognise each distinct channel separately; False for the mean of all.

    Attributes:
        name: The model's name.
        settings: Fields of the report's signature.
    """

    def __init__(
        self,
        streaming_model: StreamingASR,
        timeout: float | None = None,
        *,
        split_channels: bool = True,
    ) -> None:
        self.streaming_model = streaming_model
        self.name = streaming_model.name
        self.knows_channels = True
        self.settings = {
            **streaming_model.settings,
            "channel": "own" if split_channels else "mono",
        }
        self._timeout = timeout
        self._split_channels = split_channels
        self._lock = threading.Lock()
        # The thread keeps the model in memory, but not this object.
        weakref.finalize(self, _tell_to_stop, streaming_model)

    def transcribe(self, path: str | Path) -> Transcript:
        """Recognise one recording.

        Raises:
            AudioError: If the file cannot be read.
            TimeoutError: If an answer did not arrive in time.
            StreamingError: If the model or this recording failed, or the model finished before
                taking all the audio.
        """
        model = self.streaming_model
        with self._lock:
            if not model.is_thread_started():
                model.start_thread()
        audio = load_audio(path, sample_rate=model.sampling_rate, mono=not self._split_channels)
        tracks = equal_channels(audio.waveform, range(audio.channels))
        segments = [
            Segment(0.0, audio.duration_s, self._recognize(audio.waveform[channel]), channel)
            for channel, *_ in tracks
        ]
        return Transcript(
            segments=segments,
            duration=audio.duration_s,
            channels=audio.channels,
            model=self.name,
            source=str(path),
            channel_map=channel_map(tracks),
            warnings=audio.warnings,
        )

    def close(self) -> None:
        """Stop the model's thread."""
        self.streaming_model.stop_thread()

    def _recognize(self, waveform: NDArray[np.float32]) -> str:
        model = self.streaming_model
        _, sender = make_sender(waveform, model, sampling_rate=model.sampling_rate)
        sender.start_sending(without_delays=True)
        try:
            chunks: Sequence[OutputChunk] = list(
                receive_transcription(model, sender.id, self._timeout)
            )
        finally:
            sender.stop()
        check_all_taken(sender.history_so_far())
        return TranscriptionChunk.join(chunks)


def _tell_to_stop(model: StreamingASR) -> None:
    model.input_buffer.put_error(Exit())
