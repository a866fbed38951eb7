"""An offline recogniser that streams, and a streaming one that recognises files."""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import TYPE_CHECKING, Final

import numpy as np

from stt_ru.audio import SAMPLE_RATE, load_audio
from stt_ru.audio.tracks import channel_map, equal_channels
from stt_ru.clock import SYSTEM_CLOCK, Clock
from stt_ru.defaults import STEP_S
from stt_ru.errors import UsageError
from stt_ru.recognition.recognizer import LoadedRecognizer, Transcript
from stt_ru.recognition.segmentation import quietest_cut
from stt_ru.recognition.waveforms import Hear, hearing
from stt_ru.results import Segment
from stt_ru.streaming.engines.model import StreamingASR
from stt_ru.streaming.queue.buffer import Exit
from stt_ru.streaming.queue.chunks import OutputChunk, Signal, TranscriptionChunk, check_heard
from stt_ru.streaming.schedule.caller import receive_transcription
from stt_ru.streaming.schedule.sender import make_sender

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from stt_ru.recognition.recognizer import Recognizer
    from stt_ru.streaming.queue.buffer import RecordingId

_FRAME: Final = SAMPLE_RATE // 50  # 320 samples, 20 ms: loudness is judged in such steps

PAUSE_S: Final = 0.6  # a quieter stretch as long as this ends a phrase, whose text is then frozen
LONGEST_TAIL_S: Final = 12.0  # speech without a pause is cut where it is quietest
LEAD_IN_S: Final = 0.3  # silence kept in front of what comes next
QUIET: Final = 10 ** (-30 / 20)  # 30 dB below the loudest frame so far is a pause
SILENCE: Final = 1e-4  # -80 dBFS: nobody speaks as quietly


class OfflineToStreaming(StreamingASR):
    """A recogniser of files that streams: it recognises again and again what has come so far.

    Every ``interval`` seconds of audio the tail of the recording is recognised and its text
    replaces the former one. What was said before the last pause is frozen, so that a step costs
    the same however long the recording is: the tail is never longer than ``LONGEST_TAIL_S``.

    Args:
        recognizer: Gets the tail in memory when it has ``transcribe_waveform``, else as a WAV file.
        interval: Seconds of audio between two recognitions.
        clock: Gives the timestamps.

    Attributes:
        loaded: The recogniser, and what it said of itself.

    Raises:
        UsageError: If the interval is not positive, or what it is given is not a recogniser.
    """

    def __init__(
        self, recognizer: Recognizer, interval: float = STEP_S, *, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        if not 0 < interval < float("inf"):
            raise UsageError(f"интервал {interval} с: нужно число больше 0")
        self.loaded = LoadedRecognizer.of(recognizer)
        info = self.loaded.info
        self.name = info.name
        super().__init__(SAMPLE_RATE, clock)
        self.recognizer = recognizer
        self.interval = interval
        self.settings = {
            **(info.settings or {}),
            "stream": f"offline(interval={interval:g}s,tail={LONGEST_TAIL_S:g}s,"
            f"pause={PAUSE_S:g}s)",
        }

    def _run(self) -> None:
        with hearing(self.loaded) as hear:
            self._run_with(hear)

    def _run_with(self, hear: Hear) -> None:
        tails: dict[RecordingId, _Tail] = {}
        size = max(1, round(self.interval * SAMPLE_RATE))
        while True:
            id, audio, is_end, end_s = self.input_buffer.get_with_rechunking(size)
            tail = tails.setdefault(id, _Tail(hear))
            try:
                parts = [] if audio is None else tail.step(np.asarray(audio, np.float32))
            except Exception as error:  # noqa: BLE001 - the recogniser is foreign code
                tails.pop(id)
                self.fail(id, error)
                continue
            for part in parts:
                self.output_buffer.put(OutputChunk(data=part, seconds_processed=end_s), id)
            if is_end:
                del tails[id]
                end = OutputChunk(data=Signal.FINISH, seconds_processed=end_s)
                self.output_buffer.put(end, id)


class _Tail:
    """What of one recording is not frozen yet, and how its text becomes so.

    Args:
        hear: Recognises samples.
    """

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._samples = np.zeros(0, np.float32)
        self._loudest = 0.0
        self._uids = itertools.count(1)
        self._uid = next(self._uids)

    def step(self, audio: NDArray[np.float32]) -> list[TranscriptionChunk]:
        """Take the next samples; return the parts of the text that they change."""
        self._samples = np.concatenate([self._samples, audio])
        levels = _levels(audio)
        self._loudest = max(self._loudest, float(levels.max()) if len(levels) else 0.0)
        parts = [TranscriptionChunk(uid=self._uid, text=self._recognize(self._samples))]
        if self._ends_in_a_pause():
            self._freeze(max(0, len(self._samples) - round(LEAD_IN_S * SAMPLE_RATE)))
        elif len(self._samples) >= LONGEST_TAIL_S * SAMPLE_RATE:
            cut = quietest_cut(self._samples)
            head = self._recognize(self._samples[:cut])
            parts = [TranscriptionChunk(uid=self._uid, text=head)]
            self._freeze(cut)
            if len(self._samples):
                rest = self._recognize(self._samples)
                parts.append(TranscriptionChunk(uid=self._uid, text=rest))
        return parts

    def _recognize(self, samples: NDArray[np.float32]) -> str:
        return self._hear(samples).text

    def _ends_in_a_pause(self) -> bool:
        end = self._samples[-round(PAUSE_S * SAMPLE_RATE) :]
        if len(end) < round(PAUSE_S * SAMPLE_RATE):
            return False
        return bool(_levels(end).max() <= max(SILENCE, QUIET * self._loudest))

    def _freeze(self, cut: int) -> None:
        self._samples = self._samples[cut:].copy()
        self._uid = next(self._uids)


def _levels(samples: NDArray[np.float32]) -> NDArray[np.float64]:
    """Root mean squares of whole frames; of all samples when there is not one."""
    n_frames = len(samples) // _FRAME
    if not n_frames:
        frames = samples.reshape(1, -1) if len(samples) else np.zeros((1, 1), np.float32)
    else:
        frames = samples[: n_frames * _FRAME].reshape(n_frames, _FRAME)
    levels: NDArray[np.float64] = np.sqrt(np.mean(np.square(frames, dtype=np.float64), axis=1))
    return levels


class StreamingToOffline:
    """A streaming model as a `Recognizer`: for ``stt-ru evaluate``.

    A recording is sent at once, not on schedule; each distinct channel by itself. The model's
    thread is started when it is needed, and stopped by `close` or with the last reference to this
    object. Recordings are read whole into memory: an hour of one channel is 230 MB.

    Args:
        streaming_model: A model, running or not.
        timeout: Seconds to wait for each of its answers; None for ever.
        split_channels: Recognise each distinct channel by itself; False for the mean of all.

    Attributes:
        name: The model's name.
        settings: Fields for a report's signature.
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
        self.settings = {
            **streaming_model.settings,
            "channel": "own" if split_channels else "mono",
        }
        self._timeout = timeout
        self._split_channels = split_channels
        self._lock = threading.Lock()
        # Its thread keeps the model in memory, and nothing of this object.
        weakref.finalize(self, _tell_to_stop, streaming_model)

    def transcribe(self, path: str | Path) -> Transcript:
        """Recognise one recording.

        Raises:
            AudioError: If the file cannot be read.
            TimeoutError: If an answer did not come in time.
            StreamingError: If the model or this recording has failed, or the model has finished
                before the audio had.
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
        check_heard(sender.history_so_far())
        return TranscriptionChunk.join(chunks)


def _tell_to_stop(model: StreamingASR) -> None:
    model.input_buffer.put_error(Exit())
