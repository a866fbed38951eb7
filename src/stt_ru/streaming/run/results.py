"""Results of a streaming evaluation as data: one result per manifest row, one report per model."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from stt_ru.defaults import INTERVAL_S, SPEED, TIMEOUT_S
from stt_ru.errors import UsageError
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.counts import Score, total_score
from stt_ru.streaming.measures.lagging import Lagging
from stt_ru.streaming.measures.latency import Spread, StreamFigures, spread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stt_ru.analysis.significance import Comparison
    from stt_ru.provenance import Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """How recordings are sent.

    Attributes:
        interval_s: Wall time between two pieces, seconds.
        speed: Speed of the speech relative to real time.
        realtime: True to send on schedule; False to send everything at once and remap the times;
            None for remapping where possible.
        streams: How many recordings are sent concurrently; more than one only in real time.
        timeout_s: Seconds after which a recording is given up if the model neither takes its audio
            nor answers.

    Raises:
        UsageError: If a value is out of range, or the options contradict each other.
    """

    interval_s: float = INTERVAL_S
    speed: float = SPEED
    realtime: bool | None = None
    streams: int = 1
    timeout_s: float = TIMEOUT_S

    def __post_init__(self) -> None:
        if not 0 < self.interval_s < math.inf or not 0 < self.speed < math.inf:
            raise UsageError(
                f"интервал {self.interval_s} с, скорость {self.speed}: нужны числа больше 0"
            )
        if self.streams < 1 or not self.timeout_s > 0:
            raise UsageError(
                f"потоков {self.streams}, ожидание {self.timeout_s} с: нужны числа больше 0"
            )
        if self.streams > 1 and self.realtime is False:
            raise UsageError("несколько записей сразу отправляются только в реальном времени")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamResult:
    """One manifest row as streamed to one model.

    Attributes:
        row: The final text with its errors, or the reason why the row failed.
        figures: Latency and stability; None if the row failed.
        lags: AL, LAAL, DAL and AP; None if they are undefined.
        compute_s: Wall seconds the model worked on it; None if several recordings shared it.
        is_mixed: Whether distinct channels were sent as their mean because no ``channel`` is given.
        worked: Wall times of the first chunk taken and of the last answer, on the queues' clock;
            None if the row failed.
    """

    row: FileResult
    figures: StreamFigures | None = None
    lags: Lagging | None = None
    compute_s: float | None = None
    is_mixed: bool = False
    worked: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReport:
    """One model on the whole manifest, streamed in one way.

    Attributes:
        model: The name given by the user.
        label: The name shown in the table.
        options: How the recordings were sent.
        rows: Number of manifest rows.
        results: One per row, in manifest order; empty if the model did not load.
        offline: The same model on the same rows offline; None if not measured.
        cost: The final texts compared with ``offline``, row by row; None without ``offline``.
        compute_s: Wall seconds the model worked on all recognised rows; None if there are none.
        wall_s: Wall seconds of the loop.
        error: Why the model did not load; None if it did.
        warnings: Sentences in Russian.
        signature: How the figures were made; None if the model did not load.
    """

    model: str
    label: str
    options: StreamOptions
    rows: int
    results: Sequence[StreamResult] = ()
    offline: ModelReport | None = None
    cost: Comparison | None = None
    compute_s: float | None = None
    wall_s: float = 0.0
    error: str | None = None
    warnings: Sequence[str] = ()
    signature: Signature | None = None

    @property
    def score(self) -> Score:
        """Errors of the final texts, summed over the recognised rows."""
        return total_score(r.row.score for r in self.results if r.row.score is not None)

    @property
    def failed(self) -> int:
        """Number of rows not recognised; all of them if the model did not load."""
        if self.error is not None:
            return self.rows
        return sum(result.row.error is not None for result in self.results)

    @property
    def audio_s(self) -> float:
        """Seconds of audio of the recognised rows."""
        return math.fsum(figures.audio_s for figures in self._figures())

    @property
    def first_word(self) -> Spread:
        """From the end of a word to its first appearance, seconds, over the words of all rows."""
        return spread(word.first_s for f in self._figures() for word in f.latencies)

    @property
    def finalisation(self) -> Spread:
        """From the end of a word to the moment from which it stays correct, seconds."""
        return spread(word.final_s for f in self._figures() for word in f.latencies)

    @property
    def first_text(self) -> Spread:
        """From the start of a recording to its first text, seconds, over the rows with a text."""
        return spread(f.first_text_s for f in self._figures() if f.first_text_s is not None)

    @property
    def final_delay(self) -> Spread:
        """From the end of the last reference word to the model's end, seconds, over the rows."""
        return spread(f.final_delay_s for f in self._figures() if f.final_delay_s is not None)

    @property
    def interpolated_words(self) -> int:
        """Number of words among the latencies whose times are estimates."""
        return sum(word.is_interpolated for f in self._figures() for word in f.latencies)

    @property
    def unstable_words(self) -> int:
        """Number of words shown and then revised, moved or withdrawn."""
        return sum(figures.unstable_words for figures in self._figures())

    @property
    def shown_words(self) -> int:
        """Number of words in the final texts."""
        return sum(figures.shown_words for figures in self._figures())

    @property
    def unstable_rate(self) -> float | None:
        """Unstable words divided by words of the final texts; None if there are none."""
        return self.unstable_words / self.shown_words if self.shown_words else None

    @property
    def revisions_per_minute(self) -> float | None:
        """Revisions per minute of audio; None if there is no audio."""
        revisions = sum(figures.revisions for figures in self._figures())
        return 60 * revisions / self.audio_s if self.audio_s else None

    @property
    def compute_per_audio(self) -> float | None:
        """Seconds of computation per second of audio; None if unknown or without audio."""
        if self.compute_s is None or not self.audio_s:
            return None
        return self.compute_s / self.audio_s

    @property
    def lags(self) -> Lagging | None:
        """Mean of the rows' lags, averaged as SimulEval does; None if no row has lags."""
        rows = [result.lags for result in self.results if result.lags is not None]
        if not rows:
            return None
        names = [part.name for part in fields(Lagging)]
        return Lagging(*(sum(getattr(row, name) for row in rows) / len(rows) for name in names))

    @property
    def lags_count(self) -> int:
        """Number of rows with lags."""
        return sum(result.lags is not None for result in self.results)

    def as_model_report(self) -> ModelReport:
        """The final texts as a report of `stt-ru evaluate`."""
        return ModelReport(
            model=self.model,
            label=self.label,
            rows=self.rows,
            results=[result.row for result in self.results],
            audio_s=self.audio_s,
            wall_s=self.wall_s,
            error=self.error,
            warnings=self.warnings,
            signature=self.signature,
        )

    def _figures(self) -> Iterator[StreamFigures]:
        return (result.figures for result in self.results if result.figures is not None)
