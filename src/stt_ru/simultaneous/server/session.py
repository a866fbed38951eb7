"""The protocol without HTTP: sessions, reading a source, writing a hypothesis, results.

Every method either does all that it says or raises a `ProtocolError` and changes nothing; all are
safe to call from several threads.

    start ──► read, write, …, write «</s>» ──► result        for each instance, in any order
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from stt_ru.scoring.counts import EditCounts, count_edits
from stt_ru.simultaneous.core.instance import Instance, SpeechSource, TextSource
from stt_ru.simultaneous.core.segments import END_OF_SENTENCE
from stt_ru.simultaneous.scorers.scoring import score_instances, skipped_sentences
from stt_ru.simultaneous.server.corpus import SAMPLES_10_MS
from stt_ru.simultaneous.server.errors import (
    BadRequestError,
    OutOfOrderError,
    UnknownError,
)
from stt_ru.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stt_ru.clock import Clock
    from stt_ru.simultaneous.core.record import InstanceRecord, LatencyUnit
    from stt_ru.simultaneous.server.corpus import Corpus

STEP_MS: Final = 10
QUICKLY_SCORED: Final = 20  # instances; BLEU of so many takes a few milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """What all sessions of a server have in common.

    Attributes:
        quality_scorers: By name.
        latency_scorers: By name.
        latency_unit: What has a delay.
        scoring: Held while scoring: scorers of sacrebleu and of users are not made for threads.
    """

    quality_scorers: Mapping[str, Any] = field(default_factory=dict)
    latency_scorers: Mapping[str, Any] = field(default_factory=dict)
    latency_unit: LatencyUnit = "word"
    scoring: threading.Lock = field(default_factory=threading.Lock)


class Journal(Protocol):
    """Where a session is written down; its methods raise `NotSavedError` when they cannot."""

    def started(self, index: int) -> None:
        """An instance has been touched for the first time."""
        ...

    def finished(self, record: InstanceRecord) -> None:
        """An instance is done."""
        ...


class NoJournal:
    """Writes nothing down."""

    def started(self, index: int) -> None:
        """Do nothing."""

    def finished(self, record: InstanceRecord) -> None:
        """Do nothing."""


def rounded_segment_ms(segment_size: float) -> int:
    """The nearest multiple of 10 ms, a tie upwards, at least 10.

    Raises:
        BadRequestError: If it is not a positive finite number.

    Example:
        >>> [rounded_segment_ms(size) for size in (301, 305, 3, 10.4)]
        [300, 310, 10, 10]
    """
    if not math.isfinite(segment_size) or segment_size <= 0:
        raise BadRequestError(f"segment_size={segment_size:g}: нужно число миллисекунд больше 0")
    return max(STEP_MS, math.floor(segment_size / STEP_MS + 0.5) * STEP_MS)


class Session:
    """One evaluation of one system over all instances.

    Args:
        session_id: Its name.
        corpus: What is read.
        settings: How it is scored.
        clock: Wall time, for ``elapsed`` and for idleness.
        created_at: Seconds since the epoch.
        journal: Where it is written down.
        done: Instances that an earlier process has finished.
        interrupted: Instances that an earlier process had begun; they are refused until they are
            begun again with ``offset=0``, since their delays are lost.

    Attributes:
        words: Word errors of the finished instances, after our normaliser.
    """

    def __init__(
        self,
        session_id: str,
        corpus: Corpus,
        settings: SessionSettings,
        *,
        clock: Clock,
        created_at: float = 0.0,
        journal: Journal | None = None,
        done: Mapping[int, InstanceRecord] | None = None,
        interrupted: set[int] | None = None,
    ) -> None:
        self.session_id = session_id
        self.created_at = created_at
        self.words = EditCounts()
        self._corpus = corpus
        self._settings = settings
        self._clock = clock
        self._journal = journal or NoJournal()
        self._lock = threading.RLock()
        self._instances: dict[int, _Live] = {}
        self._done: dict[int, InstanceRecord] = {}
        self._interrupted = set(interrupted or ())
        self._used_at = clock.now()
        self._scored: tuple[int, dict[str, Any]] | None = None
        for record in (done or {}).values():
            self._count(record)

    @property
    def finished(self) -> int:
        """Instances whose hypothesis has ended."""
        return len(self._done)

    @property
    def begun(self) -> int:
        """Instances that are being worked on."""
        return len(self._instances)

    @property
    def total(self) -> int:
        """Instances there are."""
        return len(self._corpus)

    @property
    def idle_s(self) -> float:
        """Seconds since the last request."""
        return self._clock.now() - self._used_at

    def touch(self) -> None:
        """Note that the session is in use."""
        self._used_at = self._clock.now()

    def read(
        self, index: int, *, segment_size: float | None = None, offset: int | None = None
    ) -> dict[str, Any]:
        """Hand out the next piece of a source.

        Text: a word, ``</s>`` after the last. Speech: samples of ``segment_size`` ms.

        Args:
            index: The instance, from 0.
            segment_size: Ms of audio, rounded to 10; None for 10. Text comes word by word.
            offset: Read from this word, or this ms of audio, which must not be beyond what has
                been read; None for where the last read ended. Reading again changes nothing.

        Raises:
            BadRequestError: If a parameter makes no sense.
            UnknownError: If there is no such instance.
            OutOfOrderError: If ``offset`` is beyond what has been read, or the hypothesis is over.
            NotSavedError: If the beginning of the instance cannot be written down.
            SttRuError: If the recording cannot be read.
        """
        self.check(index)
        if self._corpus.data_type == "text":
            if segment_size not in (None, 1):
                raise BadRequestError(
                    "segment_size: источник – текст, он выдаётся по одному слову; уберите параметр"
                )
        else:
            segment_ms = rounded_segment_ms(STEP_MS if segment_size is None else segment_size)
        source = self._corpus.source(index)  # may decode: not under the lock
        with self._lock:
            live = self._live(index, source, begins=offset == 0)
            if isinstance(source, TextSource):
                return live.read_word(index, source, offset)
            return live.read_samples(index, source, segment_ms, offset)

    def write(self, index: int, text: str) -> dict[str, Any]:
        """Add words to a hypothesis, each with the delay of the source read so far.

        Args:
            index: The instance, from 0.
            text: Words; ``</s>`` ends the hypothesis and is no word.

        Raises:
            BadRequestError: If there is no word, or one after ``</s>``.
            UnknownError: If there is no such instance.
            OutOfOrderError: If the hypothesis has ended.
            NotSavedError: If the result cannot be written down.
            SttRuError: If the recording cannot be read.
        """
        self.check(index)
        words = text.split()
        if not words:
            raise BadRequestError("тело пусто, а нужно слово или </s>")
        ends = END_OF_SENTENCE in words
        if ends:
            end = words.index(END_OF_SENTENCE)
            if words[end + 1 :]:
                raise BadRequestError(
                    f"после {END_OF_SENTENCE} есть ещё слова: гипотеза не принята"
                )
            words = words[:end]
        source = self._corpus.source(index)
        with self._lock:
            instance = self._live(index, source).instance
            mark = instance.mark()
            instance.write_words(words, finished=ends)
            if ends:
                record = instance.record()
                try:
                    self._journal.finished(record)
                except BaseException:
                    instance.restore(mark)
                    raise
                self._count(record)
                del self._instances[index]
            return {
                "instance_id": index,
                "words": len(words),
                "prediction_length": instance.prediction_length,
                "finished": ends,
            }

    def check(self, index: int) -> None:
        """Make sure that there is such an instance.

        Raises:
            UnknownError: If it does not exist.
        """
        if not 0 <= index < self.total:
            raise UnknownError(
                f"примера {index} нет: примеров {self.total}, счёт с 0"
                if self.total > 1
                else f"примера {index} нет: есть только пример 0"
            )

    def records(self) -> dict[int, InstanceRecord]:
        """The finished instances by index."""
        with self._lock:
            return dict(sorted(self._done.items()))

    def result(self, index: int | None = None) -> dict[str, Any]:
        """Scores of the finished instances, or of one; None where nothing can be scored.

        Slow: it may take seconds on thousands of instances.
        """
        if index is not None:
            return self._result_of(index)
        records = self.records()
        scored = self._scored
        if scored is None or scored[0] != len(records):
            scored = (len(records), self._score(records))
            self._scored = scored
        return {
            **scored[1],
            "finished": len(records),
            "total": self.total,
            "session_id": self.session_id,
        }

    def is_quickly_scored(self, index: int | None) -> bool:
        """Whether `result` takes milliseconds: few instances, and nobody is scoring now."""
        few = index is not None or self.finished <= QUICKLY_SCORED
        return few and not self._settings.scoring.locked()

    def summary(self) -> dict[str, Any]:
        """Progress, for the list of sessions."""
        return {
            "session_id": self.session_id,
            "created_at": self.created_at,
            "idle_seconds": round(max(0.0, self.idle_s), 3),
            "finished": self.finished,
            "begun": self.begun,
            "total": self.total,
            "wer": self.words.rate,
        }

    def _result_of(self, index: int) -> dict[str, Any]:
        self.check(index)
        with self._lock:
            record = self._done.get(index)
            shown = record
            if record is None and index in self._instances:
                shown = self._instances[index].instance.record()
        return {
            **self._score({} if record is None else {index: record}),
            "instance_id": index,
            "finished": record is not None,
            "session_id": self.session_id,
            "prediction": "" if shown is None else shown.prediction,
            "delays": [] if shown is None else list(shown.delays),
            "elapsed": [] if shown is None else list(shown.elapsed),
            "source_length": None if shown is None else shown.source_length,
        }

    def _score(self, records: Mapping[int, InstanceRecord]) -> dict[str, Any]:
        with self._settings.scoring:
            scores = score_instances(
                records,
                self._settings.quality_scorers,
                self._settings.latency_scorers,
                source_type=self._corpus.data_type,
            )
        return {
            "Quality": {score.name: score.value for score in scores.quality},
            "Latency": {score.name: score.value for score in scores.latency},
            "units": {score.name: score.unit for score in scores.all},
            "scored": {score.name: score.scored for score in scores.all},
            "skipped": [text for score in scores.all for text in skipped_sentences(score)],
            "errors": {score.name: score.error for score in scores.all if score.error},
        }

    def _live(
        self, index: int, source: TextSource | SpeechSource, *, begins: bool = False
    ) -> _Live:
        if index in self._done:
            raise OutOfOrderError(
                f"пример {index}: гипотеза уже закончена ({END_OF_SENTENCE}), и пример закрыт"
            )
        if index in self._interrupted and not begins:
            raise OutOfOrderError(
                f"пример {index}: сервер перезапущен посреди него, и задержки потеряны; начните "
                "пример заново с GET /src и offset=0"
            )
        if index not in self._instances:
            self._journal.started(index)
            self._interrupted.discard(index)
            instance = Instance(
                index,
                source,
                self._corpus.dataset.reference(index),
                latency_unit=self._settings.latency_unit,
                clock=self._clock,
            )
            self._instances[index] = _Live(instance)
        return self._instances[index]

    def _count(self, record: InstanceRecord) -> None:
        self._done[record.index] = record
        if record.reference is not None:
            self.words += count_edits(
                normalize(record.reference).split(), normalize(record.prediction).split()
            )


class _Live:
    """An instance that is being read, and where each of its segments began."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._starts: list[int] = []  # samples; ascending

    def read_word(self, index: int, source: TextSource, offset: int | None) -> dict[str, Any]:
        position = self._start(offset, 1)
        is_end = position >= len(source.words)
        self.instance.advance_to(position if is_end else position + 1)
        return {
            "instance_id": index,
            "segment_id": min(position, len(source.words)),
            "segment": END_OF_SENTENCE if is_end else source.words[position],
        }

    def read_samples(
        self, index: int, source: SpeechSource, segment_ms: int, offset: int | None
    ) -> dict[str, Any]:
        start = self._start(offset, SAMPLES_10_MS // STEP_MS)
        end = min(start + segment_ms * SAMPLES_10_MS // STEP_MS, len(source.samples))
        segment_id = self._segment_id(start, end)
        self.instance.advance_to(end)
        return {
            "instance_id": index,
            "segment_id": segment_id,
            "segment": source.samples[start:end].tolist(),
            "sample_rate": source.sample_rate,
            "dtype": "int16",
            "finished": end >= len(source.samples),
        }

    def _start(self, offset: int | None, unit: int) -> int:
        """Words, or samples, from the beginning of the source."""
        position = self.instance.position
        if offset is None:
            return position
        start = offset * unit
        if start > position and not (start - unit < position == self.instance.source_size):
            raise OutOfOrderError(
                f"offset={offset}: прочитано только до {position // unit}, источник читается подряд"
            )
        return min(start, self.instance.source_size)

    def _segment_id(self, start: int, end: int) -> int:
        """Segments sent before the one that begins there; a segment read again has its number."""
        if end <= self.instance.position and start < self.instance.position:
            return max(0, bisect_right(self._starts, start) - 1)
        if end > self.instance.position:
            self._starts.append(self.instance.position)
            return len(self._starts) - 1
        return len(self._starts)
