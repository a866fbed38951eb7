"""How far a difference can be trusted: bootstrap over recordings, and a matched-pairs test.

Blocks are resampled, not words: errors within one recording depend on one another, and so may
those within one call or speaker (``group_by``).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from stt_ru.analysis.grouping import block_keys
from stt_ru.errors import UsageError
from stt_ru.scoring.alignment import align
from stt_ru.text.marked_references import ANYTHING
from stt_ru.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from stt_ru.analysis.aligned_rows import AlignedReport, AlignedRow
    from stt_ru.results import FileResult, ModelReport
    from stt_ru.scoring.alignment import Pair

RowKey: TypeAlias = tuple[str, int | None, int]

RESAMPLES: Final = 10_000
MOST_DRAWS: Final = 200_000_000
"""Blocks drawn in total; beyond 20,000 blocks there are fewer resamples, but at least 1,000."""
SEED: Final = 20_040_517  # the week in May 2004 when Bisani and Ney presented the method
CONFIDENCE: Final = 0.95
LEAST_BLOCKS: Final = 5
"""With fewer blocks there is no interval: 5 blocks have 126 distinct resamples, 4 only 35."""
FEW_BLOCKS: Final = 30
"""With fewer blocks the interval comes with a warning: percentile intervals are then too narrow."""

_DRAWS_AT_ONCE = 100_000  # indices that fit into the processor's cache
_HALF_BITS = 31  # bits per sum when two sums share one 64-bit number


@dataclass(frozen=True, slots=True)
class Interval:
    """From ``low`` to ``high``, both fractions."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """How precise the rates of one report are.

    Attributes:
        blocks: Number of independent groups of rows.
        wer: 95 % interval of the word error rate; None with fewer than `LEAST_BLOCKS` blocks.
        cer: The same for the character error rate.
    """

    blocks: int
    wer: Interval | None
    cer: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """B against A on the rows that both recognised; a positive difference means that B is worse.

    Attributes:
        label_a: The name of A.
        label_b: The name of B.
        rows: Number of rows that both recognised.
        blocks: Number of independent groups of these rows.
        wer_a: A's word error rate on these rows, a fraction; None without reference words.
        wer_b: B's word error rate on the same rows.
        interval: 95 % interval of ``wer_b - wer_a``; None with fewer than `LEAST_BLOCKS` blocks.
        reversed_share: Share of resamples whose difference does not have the sign of the observed
            one, ties included; None without an interval or without a difference.
        mapsswe_p: Two-sided p-value of the matched-pairs test; None where it is undefined.
        mapsswe_segments: Number of segments with an error, on which the test is based.
        left_out: Rows present in one report only, or in both with different references.
    """

    label_a: str
    label_b: str
    rows: int
    blocks: int
    wer_a: float | None
    wer_b: float | None
    interval: Interval | None
    reversed_share: float | None
    mapsswe_p: float | None
    mapsswe_segments: int
    left_out: int = 0

    @property
    def difference(self) -> float | None:
        """``wer_b - wer_a``; None without reference words."""
        if self.wer_a is None or self.wer_b is None:
            return None
        return self.wer_b - self.wer_a

    @property
    def is_significant(self) -> bool:
        """Whether the interval of the difference excludes 0."""
        return self.interval is not None and not self.interval.low <= 0 <= self.interval.high

    @property
    def is_b_worse(self) -> bool:
        """Whether B makes significantly more errors."""
        return self.interval is not None and self.interval.low > 0

    @property
    def has_few_blocks(self) -> bool:
        """Whether there are too few blocks for a reliable interval."""
        return self.blocks < FEW_BLOCKS


def uncertainty(
    report: ModelReport, *, group_by: str | None = None, resamples: int | None = None
) -> Uncertainty:
    """Percentile bootstrap intervals of a report's rates (Bisani and Ney 2004).

    A resample draws as many blocks as there are, with replacement; its rate is its errors over its
    reference words. Resamples without reference words have no rate and are left out.

    Args:
        report: The model's results; failed rows are ignored.
        group_by: The manifest column whose values define the blocks; None for one block per
            recording.
        resamples: As in `resample`.
    """
    rows = [result for result in report.results if result.score is not None]
    columns = np.concatenate([_word_counts(rows), _char_counts(rows)])
    sums = block_sums(columns, block_keys(rows, group_by))
    blocks = sums.shape[1]
    if blocks < LEAST_BLOCKS:
        return Uncertainty(blocks=blocks, wer=None, cer=None)
    words, word_errors, chars, char_errors = resample(sums, resamples=resamples)
    return Uncertainty(
        blocks=blocks, wer=_interval(word_errors, words), cer=_interval(char_errors, chars)
    )


def compare(a: AlignedReport, b: AlignedReport, *, group_by: str | None = None) -> Comparison:
    """Compare two reports row by row, on the rows that both have with the same reference.

    Both rates of a resample are computed from the same blocks, so what is hard for both cancels
    out (Bisani and Ney 2004, section 4).

    Args:
        a: The old or first report.
        b: The new or second report.
        group_by: As in `uncertainty`.

    Raises:
        UsageError: If they have no such row.
    """
    common = _common_rows(a, b)
    if not common:
        raise UsageError(
            f"отчёты {a.report.label} и {b.report.label} нельзя сравнить построчно: в них нет ни "
            "одной общей записи с одинаковым эталоном"
        )
    pairs = [
        (one, two)
        for one, two in common
        if one.result.score is not None and two.result.score is not None
    ]
    rows_a, rows_b = [one.result for one, _ in pairs], [two.result for _, two in pairs]
    columns = np.concatenate([_word_counts(rows_a), _word_counts(rows_b)])
    sums = block_sums(columns, block_keys(rows_a, group_by))
    words_a, errors_a, words_b, errors_b = sums.sum(axis=1).tolist()
    wer_a = errors_a / words_a if words_a else None
    wer_b = errors_b / words_b if words_b else None
    interval = reversed_share = None
    if sums.shape[1] >= LEAST_BLOCKS and wer_a is not None and wer_b is not None:
        differences = _differences(*resample(sums))
        interval = _percentiles(differences)
        if interval is not None and wer_a != wer_b:
            agrees = np.sign(differences) == np.sign(wer_b - wer_a)
            reversed_share = 1 - float(agrees.mean())
    p, segments = _matched_pairs(
        [value for one, two in pairs for value in _row_differences(one, two)]
    )
    return Comparison(
        label_a=a.report.label,
        label_b=b.report.label,
        rows=len(pairs),
        blocks=sums.shape[1],
        wer_a=wer_a,
        wer_b=wer_b,
        interval=interval,
        reversed_share=reversed_share,
        mapsswe_p=p,
        mapsswe_segments=segments,
        left_out=len(a.rows) + len(b.rows) - 2 * len(common),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """How reliable the figures of a table are.

    Attributes:
        group_by: The column whose values define the blocks; None for one block per recording.
        uncertainties: One per report; None if the model did not load.
        comparisons: One per pair of models with common rows, in table order.
    """

    group_by: str | None
    uncertainties: Sequence[Uncertainty | None]
    comparisons: Sequence[Comparison]


def describe(reports: Sequence[AlignedReport], *, group_by: str | None = None) -> Statistics:
    """Compute the intervals of all reports and compare all pairs with common rows.

    Args:
        reports: The reports, in table order.
        group_by: As in `uncertainty`.
    """
    return Statistics(
        group_by=group_by,
        uncertainties=tuple(
            None if one.report.error is not None else uncertainty(one.report, group_by=group_by)
            for one in reports
        ),
        comparisons=tuple(
            compare(a, b, group_by=group_by)
            for a, b in combinations(reports, 2)
            if _common_rows(a, b)
        ),
    )


def macro_average(rates: Iterable[float | None]) -> float | None:
    """Unweighted mean of the rates that are not None; None if there are none.

    Example:
        >>> macro_average([0.0, 1.0, None])
        0.5
    """
    known = [rate for rate in rates if rate is not None]
    return math.fsum(known) / len(known) if known else None


def _common_rows(a: AlignedReport, b: AlignedReport) -> list[tuple[AlignedRow, AlignedRow]]:
    """Rows of both reports with the same recording and reference, in A's order.

    The nth row of a recording and channel is matched with the nth one of the other report.
    """
    places = dict(zip(row_keys(b.report), b.rows, strict=True))
    return [
        (row, places[key])
        for key, row in zip(row_keys(a.report), a.rows, strict=True)
        if key in places and _is_same_reference(row.result, places[key].result)
    ]


def row_keys(report: ModelReport) -> list[RowKey]:
    """Identify each row across reports: its recording, its channel and its number among them."""
    seen: Counter[tuple[str, int | None]] = Counter()
    keys = []
    for row in report.results:
        seen[row.audio, row.channel] += 1
        keys.append((row.audio, row.channel, seen[row.audio, row.channel]))
    return keys


def _is_same_reference(one: FileResult, two: FileResult) -> bool:
    return one.reference == two.reference or normalize(one.reference) == normalize(two.reference)


def _word_counts(rows: Sequence[FileResult]) -> NDArray[np.int64]:
    """Reference words and word errors of each row; shape (2, rows)."""
    counts = [row.score.words for row in rows if row.score is not None]
    columns = [[one.length for one in counts], [one.errors for one in counts]]
    return np.array(columns, dtype=np.int64)


def _char_counts(rows: Sequence[FileResult]) -> NDArray[np.int64]:
    """Reference characters and character errors of each row; shape (2, rows)."""
    counts = [row.score.chars for row in rows if row.score is not None]
    columns = [[one.length for one in counts], [one.errors for one in counts]]
    return np.array(columns, dtype=np.int64)


def block_sums(columns: NDArray[np.int64], keys: Sequence[Hashable]) -> NDArray[np.int64]:
    """Sum the values over the rows of each block; shape (k, rows) becomes (k, blocks)."""
    numbers: dict[Hashable, int] = {}
    block_of = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    sums = np.zeros((len(columns), len(numbers)), dtype=np.int64)
    for column, total in zip(columns, sums, strict=True):
        np.add.at(total, block_of, column)
    return sums


def resample(
    values: NDArray[np.int64], *, resamples: int | None = None, seed: int = SEED
) -> NDArray[np.int64]:
    """Sum each row of ``values`` over blocks drawn with replacement, the same for all rows.

    Args:
        values: Non-negative counts, shape (k, blocks).
        resamples: Number of resamples, each of as many draws as there are blocks; None for
            `RESAMPLES`, fewer with very many blocks.
        seed: The same seed draws the same blocks.

    Returns:
        Shape (k, resamples).
    """
    k, blocks = values.shape
    if resamples is None:
        resamples = min(RESAMPLES, max(1_000, MOST_DRAWS // max(blocks, 1)))
    fits = int(values.max(initial=0)) * blocks < 2**_HALF_BITS
    # Two sums in one number halve the work; the lower sum never overflows into the upper one.
    packed = (values[::2] << 32) | values[1::2] if fits and k % 2 == 0 else values
    drawn = np.empty((len(packed), resamples), dtype=np.int64)
    generator = np.random.Generator(np.random.PCG64(seed))
    step = max(1, _DRAWS_AT_ONCE // max(blocks, 1))
    for first in range(0, resamples, step):
        number = min(step, resamples - first)
        chosen = generator.integers(0, blocks, (number, blocks))
        for row, sums in zip(packed, drawn, strict=True):
            row.take(chosen).sum(axis=1, out=sums[first : first + number])
    if packed is values:
        return drawn
    return np.stack([drawn >> 32, drawn & 0xFFFF_FFFF], axis=1).reshape(k, resamples)


def _interval(errors: NDArray[np.int64], lengths: NDArray[np.int64]) -> Interval | None:
    """Percentiles of the resamples' rates; None if none of them has a denominator."""
    has_rate = lengths > 0
    if not has_rate.any():
        return None
    return _percentiles(errors[has_rate] / lengths[has_rate])


def _differences(
    words_a: NDArray[np.int64],
    errors_a: NDArray[np.int64],
    words_b: NDArray[np.int64],
    errors_b: NDArray[np.int64],
) -> NDArray[np.float64]:
    """B's rate minus A's for each resample in which both have one.

    The word counts differ where the systems matched different branches of a reference.
    """
    have = (words_a > 0) & (words_b > 0)
    differences: NDArray[np.float64]
    if np.array_equal(words_a, words_b):
        differences = (errors_b - errors_a)[have] / words_a[have]
    else:
        differences = errors_b[have] / words_b[have] - errors_a[have] / words_a[have]
    return differences


def _percentiles(rates: NDArray[np.float64]) -> Interval | None:
    """The central `CONFIDENCE` interval of the resamples' rates; None if there are no rates."""
    if not len(rates):
        return None
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(rates, [tail, 1 - tail])
    return Interval(float(low), float(high))


def mapsswe(rows: Iterable[tuple[str, str, str]]) -> tuple[float | None, int]:
    """Matched Pairs Sentence-Segment Word Error test (Gillick and Cox 1989).

    A segment is bounded by two consecutive words that both systems have right, or by an end of the
    text; errors may depend on one another within a segment, but hardly across segments. Z is the
    difference of the systems' errors in a segment. W = mean(Z) / (sd(Z) / √n) is standard normal
    if the systems are equal and n is large (50 or more).

    Args:
        rows: For each recording, the normalised reference, A's hypothesis and B's hypothesis.

    Returns:
        The two-sided p-value of W and the number of segments with an error. The p-value is None
        with fewer than two segments, 1 if all differences are 0, and 0 if they are equal but not 0.
    """
    differences: list[int] = []
    for reference, text_a, text_b in rows:
        if reference == text_a == text_b:
            continue
        words = reference.split()
        differences += _segment_differences(
            _errors_by_place(align(words, text_a.split())),
            _errors_by_place(align(words, text_b.split())),
        )
    return _matched_pairs(differences)


def _matched_pairs(differences: Sequence[int]) -> tuple[float | None, int]:
    """The test of `mapsswe`, given the differences of the segments."""
    n = len(differences)
    if n < 2:
        return None, n
    mean = sum(differences) / n
    variance = sum((value - mean) ** 2 for value in differences) / (n - 1)
    if variance == 0:
        return (1.0 if mean == 0 else 0.0), n
    w = mean / math.sqrt(variance / n)
    return math.erfc(abs(w) / math.sqrt(2)), n


_GOOD_RUN = 2  # consecutive words right in both systems that end a segment


def _row_differences(a: AlignedRow, b: AlignedRow) -> list[int]:
    """A's errors minus B's in each segment of a row that contains an error.

    Systems that matched different branches of a reference share no places: the row is one segment.
    """
    one, two = a.result, b.result
    assert one.score is not None
    assert two.score is not None
    if not one.score.words.errors and not two.score.words.errors:
        return []
    if one.chosen != two.chosen:
        return [one.score.words.errors - two.score.words.errors]
    return _segment_differences(_errors_by_place(a.pairs), _errors_by_place(b.pairs))


def _segment_differences(errors_a: Sequence[int], errors_b: Sequence[int]) -> list[int]:
    """A's errors minus B's in each segment that contains an error, given the errors by place."""
    differences = []
    run = 0
    total = None  # of the open segment; None if no segment is open
    # Places alternate: before word 0, word 0, before word 1, word 1, …, after the last word.
    for place, (one, two) in enumerate(zip(errors_a, errors_b, strict=True)):
        if one or two:
            total = (total or 0) + one - two
            run = 0
        elif place % 2:
            run += 1
            if run == _GOOD_RUN and total is not None:
                differences.append(total)
                total = None
    return differences if total is None else [*differences, total]


def _errors_by_place(pairs: Iterable[Pair]) -> list[int]:
    """Errors at each of N reference words and at each gap around them: 2·N + 1 places."""
    places = [0]
    for reference, hypothesis in pairs:
        if reference is None:
            places[-1] += 1
        elif reference != ANYTHING:
            places += [int(reference != hypothesis), 0]
    return places
