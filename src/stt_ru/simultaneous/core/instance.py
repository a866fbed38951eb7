"""A live instance: hands the source out piece by piece and notes the delay of all that is written.

It is the only place that decides what a delay is; the evaluator and the server both use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from stt_ru.clock import SYSTEM_CLOCK
from stt_ru.errors import SttRuError
from stt_ru.simultaneous.core.record import InstanceRecord, LatencyUnit, split_units
from stt_ru.simultaneous.core.segments import (
    END_OF_SENTENCE,
    EmptySegment,
    Segment,
    SpeechSegment,
    TextSegment,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stt_ru.clock import Clock
    from stt_ru.simultaneous.core.segments import DataType


class OutputError(SttRuError):
    """An agent wrote what an instance cannot take."""


class Source(Protocol):
    """What an instance reads from."""

    @property
    def name(self) -> str:
        """The text itself, or the path of the recording."""
        ...

    @property
    def data_type(self) -> DataType:
        """Text or speech."""
        ...


class TextSource:
    """The words of a text."""

    data_type: DataType = "text"

    def __init__(self, text: str) -> None:
        self.name = text.strip()
        self.words: Sequence[str] = text.split()


class SpeechSource:
    """The samples of a recording, one channel.

    Args:
        name: Path of the recording as it was given.
        samples: Shape ``(n_samples,)``, float32 in [-1, 1]; a server has int16.
        sample_rate: Their rate in Hz.
    """

    data_type: DataType = "speech"

    def __init__(
        self, name: str, samples: NDArray[np.float32] | NDArray[np.int16], sample_rate: int
    ) -> None:
        self.name = name
        self.samples: NDArray[np.float32] | NDArray[np.int16] = samples
        self.sample_rate = sample_rate


class Instance:
    """One source–reference pair while an agent works on it.

    Args:
        index: Position in the data, from 0.
        source: What is read.
        reference: The reference text; None if there is none.
        target_type: What the agent writes.
        latency_unit: What has a delay.
        clock: Wall time.

    Attributes:
        delays: For each unit written, words of the source read, or ms of audio.
        elapsed: Audio ms read plus wall ms since the first read; of a text source wall ms alone.
        finish_prediction: Whether the output has ended.
    """

    def __init__(
        self,
        index: int,
        source: TextSource | SpeechSource,
        reference: str | None,
        *,
        target_type: DataType = "text",
        latency_unit: LatencyUnit = "word",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.index = index
        self.source = source
        self.reference = reference
        self.target_type = target_type
        self.latency_unit = latency_unit
        self.delays: list[float] = []
        self.elapsed: list[float] = []
        self.finish_prediction = False
        self.error: str | None = None
        self._clock = clock
        self._started_at: float | None = None
        self._position = 0  # words, samples
        self._segments = 0
        self._words: list[str] = []
        self._chunks: list[NDArray[np.float32]] = []
        self._chunk_rate = 0

    @property
    def source_type(self) -> DataType:
        """What is read."""
        return self.source.data_type

    @property
    def source_size(self) -> int:
        """Words, or samples, of the whole source."""
        source = self.source
        return len(source.words) if isinstance(source, TextSource) else len(source.samples)

    @property
    def source_length(self) -> float:
        """Words of the whole source, or its milliseconds."""
        return self._in_units(self.source_size)

    @property
    def position(self) -> int:
        """Words, or samples, read so far; never goes back."""
        return self._position

    @property
    def source_finished(self) -> bool:
        """Whether all of the source has been read."""
        return self._started_at is not None and self._position >= self.source_size

    @property
    def prediction(self) -> str:
        """The text written so far."""
        return " ".join(self._words)

    @property
    def prediction_length(self) -> int:
        """Units written so far."""
        return len(self.delays)

    @property
    def reference_length(self) -> int:
        """Units of the reference; 0 without one."""
        return len(split_units(self.reference or "", self.latency_unit))

    def _in_units(self, position: int) -> float:
        if isinstance(self.source, SpeechSource):
            return position * 1000 / self.source.sample_rate
        return position

    def start_clock(self) -> None:
        """The first read happens now; later calls change nothing."""
        if self._started_at is None:
            self._started_at = self._clock.now()

    def advance_to(self, position: int) -> None:
        """Count the source up to there, in words or samples, as read; never goes back."""
        self.start_clock()
        self._position = max(self._position, min(position, self.source_size))

    def send_source(self, segment_size: float) -> Segment:
        """The next piece of the source; empty and finished after the last.

        Args:
            segment_size: Words, or milliseconds of audio.
        """
        if self.source_finished:
            return EmptySegment(index=self._segments, finished=True)
        source = self.source
        start = self._position
        segment: Segment
        if isinstance(source, SpeechSource):
            n_samples = max(1, round(segment_size * source.sample_rate / 1000))
            self.advance_to(start + n_samples)
            segment = SpeechSegment(
                index=self._segments,
                content=source.samples[start : self._position].tolist(),
                sample_rate=source.sample_rate,
            )
        else:
            self.advance_to(start + max(1, round(segment_size)))
            segment = TextSegment(
                index=self._segments, content=" ".join(source.words[start : self._position])
            )
        self._segments += 1
        segment.finished = self.source_finished
        segment.is_empty = start == self._position
        return segment

    def receive_prediction(self, segment: Segment) -> None:
        """Note a piece of output with the delay of the source read so far.

        Raises:
            OutputError: If the output has ended before, or is of the wrong kind.
        """
        if segment.is_empty:
            self._finish_if(segment.finished)
            return
        if isinstance(segment, TextSegment) and self.target_type == "text":
            words = segment.content.split()
            finished = segment.finished
            if END_OF_SENTENCE in words:
                end = words.index(END_OF_SENTENCE)
                if words[end + 1 :]:
                    raise OutputError(
                        f"слова после {END_OF_SENTENCE}: {' '.join(words[end + 1 :])}"
                    )
                words, finished = words[:end], True
            self.write_words(words, finished=finished)
        elif isinstance(segment, SpeechSegment) and self.target_type == "speech":
            self._write_speech(segment)
        else:
            kind = "речь" if isinstance(segment, SpeechSegment) else "текст"
            wanted = "речь" if self.target_type == "speech" else "текст"
            raise OutputError(f"агент написал {kind}, а нужна {wanted}")

    def write_words(self, words: Sequence[str], *, finished: bool) -> None:
        """Note words written now.

        Raises:
            OutputError: If the output has ended before.
        """
        if words:
            self._refuse_after_end()
        self._words += words
        for word in words:
            self._note_delay(1 if self.latency_unit == "word" else len(word))
        self._finish_if(finished)

    def mark(self) -> tuple[int, int, bool]:
        """Where the output stands, for `restore`."""
        return len(self.delays), len(self._words), self.finish_prediction

    def restore(self, mark: tuple[int, int, bool]) -> None:
        """Forget the words written since `mark`: they could not be kept."""
        n_delays, n_words, self.finish_prediction = mark
        del self.delays[n_delays:], self.elapsed[n_delays:], self._words[n_words:]

    def _write_speech(self, segment: SpeechSegment) -> None:
        import numpy as np  # heavy, and texts do without

        samples = np.asarray(segment.content, np.float32).reshape(-1)
        if len(samples):
            self._refuse_after_end()
            if segment.sample_rate <= 0:
                raise OutputError("агент написал речь без частоты дискретизации (sample_rate)")
            if self._chunk_rate not in (0, segment.sample_rate):
                raise OutputError(
                    f"агент сменил частоту речи: {self._chunk_rate} Гц, потом "
                    f"{segment.sample_rate} Гц"
                )
            self._chunk_rate = segment.sample_rate
            self._chunks.append(samples)
            self._note_delay(1)
        self._finish_if(segment.finished)

    def _refuse_after_end(self) -> None:
        if self.finish_prediction:
            raise OutputError("выход этого примера уже закончен")

    def _note_delay(self, units: int) -> None:
        delay = self._in_units(self._position)
        waited_ms = 0.0
        if self._started_at is not None:
            waited_ms = (self._clock.now() - self._started_at) * 1000
        is_speech = self.source_type == "speech"
        self.delays += [delay] * units
        self.elapsed += [waited_ms + delay if is_speech else waited_ms] * units

    def _finish_if(self, finished: bool) -> None:
        self.finish_prediction = self.finish_prediction or finished

    @property
    def durations(self) -> tuple[float, ...] | None:
        """Of speech written, ms of each chunk; None for text."""
        if self.target_type == "text":
            return None
        return tuple(len(chunk) * 1000 / self._chunk_rate for chunk in self._chunks)

    def heard_speech(self) -> tuple[NDArray[np.float32], int]:
        """The speech written as a listener hears it from the start of the source, and its rate.

        A chunk is heard from its delay on, or from the end of the chunk before when that is later;
        in between is silence.
        """
        import numpy as np

        rate = self._chunk_rate or 16_000
        starts = playing_starts(self.delays, self.durations or ())
        pieces: list[NDArray[np.float32]] = []
        n_samples = 0
        for start_ms, chunk in zip(starts, self._chunks, strict=True):
            n_silence = max(0, round(start_ms * rate / 1000) - n_samples)
            pieces += [np.zeros(n_silence, np.float32), chunk]
            n_samples += n_silence + len(chunk)
        return (np.concatenate(pieces) if pieces else np.zeros(0, np.float32)), rate

    def record(self, audio: str | None = None) -> InstanceRecord:
        """What scoring and the log need of it.

        Args:
            audio: The WAV file of speech that was written.
        """
        return InstanceRecord(
            index=self.index,
            source_type=self.source_type,
            target_type=self.target_type,
            source=self.source.name,
            source_length=self.source_length,
            reference=self.reference,
            prediction=self.prediction,
            delays=tuple(self.delays),
            elapsed=tuple(self.elapsed),
            latency_unit=self.latency_unit,
            durations=self.durations,
            audio=audio,
            is_finished=self.finish_prediction,
            error=self.error,
        )


def playing_starts(delays: Sequence[float], durations: Sequence[float]) -> list[float]:
    """When each chunk of speech begins to sound, ms: at its delay, or when the last one has ended.

    Example:
        >>> playing_starts([500, 600, 2000], [400, 100, 100])
        [500, 900, 2000]
    """
    starts: list[Any] = []
    free_at = 0.0
    for delay, duration in zip(delays, durations, strict=True):
        starts.append(max(delay, free_at))
        free_at = starts[-1] + duration
    return starts
