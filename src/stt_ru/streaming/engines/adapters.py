"""An adapter that makes a file recogniser stream."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

import numpy as np

from stt_ru.audio import SAMPLE_RATE
from stt_ru.clock import SYSTEM_CLOCK, Clock
from stt_ru.defaults import STEP_S
from stt_ru.errors import UsageError
from stt_ru.recognition.recognizer import LoadedRecognizer
from stt_ru.recognition.segmentation import quietest_cut
from stt_ru.recognition.waveforms import Hear, hearing
from stt_ru.streaming.engines.model import StreamingASR
from stt_ru.streaming.queue.chunks import OutputChunk, Signal, TranscriptionChunk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stt_ru.recognition.recognizer import Recognizer
    from stt_ru.streaming.queue.buffer import RecordingId

_FRAME: Final = SAMPLE_RATE // 50  # 320 samples, 20 ms: the step in which loudness is measured

PAUSE_S: Final = 0.6  # a quiet stretch of this length ends a phrase and freezes its text
LONGEST_TAIL_S: Final = 12.0  # speech without a pause is cut at its quietest point
LEAD_IN_S: Final = 0.3  # silence kept before the next phrase
QUIET: Final = 10 ** (-30 / 20)  # a pause is 30 dB below the loudest frame so far
ABOVE_NOISE: Final = 2.0  # 6 dB above the noise floor may be speech
LEAST_SPEECH_S: Final = 0.1  # shorter sounds are clicks
FLOOR_S: Final = 30.0  # the noise floor is that of so much audio
_FLOOR_SHARE: Final = 0.1  # of its frames are no louder
_FLOOR_FRAMES: Final = round(FLOOR_S * SAMPLE_RATE) // _FRAME
_LEAST_FRAMES: Final = round(LEAST_SPEECH_S * SAMPLE_RATE) // _FRAME
SILENCE: Final = 1e-4  # -80 dBFS: quieter than any speech


class OfflineToStreaming(StreamingASR):
    """A file recogniser that streams by repeatedly recognising the audio received so far.

    Every ``interval`` seconds of audio, the tail of the recording is recognised and its text
    replaces the previous one. Text before the last pause is frozen, so a step costs the same
    however long the recording is: the tail is never longer than ``LONGEST_TAIL_S``.

    Args:
        recognizer: Gets the tail in memory if it has ``transcribe_waveform``, else as a WAV file.
        interval: Seconds of audio between two recognitions.
        clock: Source of the timestamps.

    Attributes:
        loaded: The recogniser and its own description.

    Raises:
        UsageError: If the interval is not positive, or the object is not a recogniser.
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
            f"pause={PAUSE_S:g}s,speech=energy)",
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
            except Exception as error:  # noqa: BLE001 - the recogniser is third-party code
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
    """The part of one recording that is not frozen yet, and the rule for freezing it.

    Args:
        hear: Recognises samples.
    """

    def __init__(self, hear: Hear) -> None:
        self._hear = hear
        self._samples = np.zeros(0, np.float32)
        self._loudness = _Loudness()
        self._uids = itertools.count(1)
        self._uid = next(self._uids)

    def step(self, audio: NDArray[np.float32]) -> list[TranscriptionChunk]:
        """Add the next samples; return the parts of the text that change."""
        self._samples = np.concatenate([self._samples, audio])
        self._loudness.add(audio)
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
        # A model that is given silence or steady noise writes words that nobody said.
        return self._hear(samples).text if self._loudness.has_speech(samples) else ""

    def _ends_in_a_pause(self) -> bool:
        end = self._samples[-round(PAUSE_S * SAMPLE_RATE) :]
        if len(end) < round(PAUSE_S * SAMPLE_RATE):
            return False
        return bool(_levels(end).max() <= self._loudness.pause)

    def _freeze(self, cut: int) -> None:
        self._samples = self._samples[cut:].copy()
        self._uid = next(self._uids)


class _Loudness:
    """How loud a recording has been so far, and whether a stretch of it may be speech.

    Attributes:
        pause: RMS of a frame up to which it is a pause.
    """

    def __init__(self) -> None:
        self.pause = SILENCE
        self._loudest = 0.0
        self._recent = np.zeros(0)  # levels of the last `FLOOR_S` seconds

    def add(self, audio: NDArray[np.float32]) -> None:
        """Take the next samples of the recording into account."""
        if not len(audio):
            return
        levels = _levels(audio)
        self._loudest = max(self._loudest, float(levels.max()))
        self.pause = max(SILENCE, QUIET * self._loudest)
        self._recent = np.concatenate([self._recent, levels])[-_FLOOR_FRAMES:]

    def has_speech(self, samples: NDArray[np.float32]) -> bool:
        """Whether enough frames are louder than a pause and than the noise around them."""
        if not len(self._recent):
            return False
        noise = float(np.quantile(self._recent, _FLOOR_SHARE))
        loud = _levels(samples) > max(self.pause, ABOVE_NOISE * noise)
        return int(loud.sum()) >= min(_LEAST_FRAMES, len(loud))


def _levels(samples: NDArray[np.float32]) -> NDArray[np.float64]:
    """RMS of each whole frame; of all samples if there is no whole frame."""
    n_frames = len(samples) // _FRAME
    if not n_frames:
        frames = samples.reshape(1, -1) if len(samples) else np.zeros((1, 1), np.float32)
    else:
        frames = samples[: n_frames * _FRAME].reshape(n_frames, _FRAME)
    levels: NDArray[np.float64] = np.sqrt(np.mean(np.square(frames, dtype=np.float64), axis=1))
    return levels
