"""Which words are confused, and which words and recordings have the most errors."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stt_ru.text.marked_references import ANYTHING

if TYPE_CHECKING:
    from stt_ru.analysis.aligned_rows import AlignedReport
    from stt_ru.results import FileResult, ModelReport
    from stt_ru.scoring.alignment import Pair

MOST_EXAMPLES: Final = 50
"""Row numbers kept per confusion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """One kind of word error, and how often it occurred.

    Attributes:
        reference: The reference word; None for an insertion.
        hypothesis: The hypothesis word; None for a deletion.
        count: Number of occurrences.
        rows: Numbers of the rows it occurred in, from 0; at most `MOST_EXAMPLES`.
    """

    reference: str | None
    hypothesis: str | None
    count: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordErrors:
    """How often a reference word was misrecognised."""

    word: str
    errors: int
    occurrences: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusions:
    """The confusions of one report, most frequent first, ties in alphabetical order."""

    substitutions: tuple[Confusion, ...]
    deletions: tuple[Confusion, ...]
    insertions: tuple[Confusion, ...]
    words: tuple[WordErrors, ...]

    def most_frequent(self, n: int) -> list[Confusion]:
        """The n most frequent confusions across all three kinds."""
        everything = [*self.substitutions, *self.deletions, *self.insertions]
        return sorted(everything, key=lambda one: -one.count)[:n]


def find_confusions(report: AlignedReport) -> Confusions:
    """All confusions of a report; they add up to its substitutions, deletions and insertions."""
    counts: Counter[Pair] = Counter()
    places: dict[Pair, list[int]] = defaultdict(list)
    occurrences: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for number, row in enumerate(report.rows):
        score = row.result.score
        if score is None:
            continue
        if not score.words.errors:
            occurrences.update(row.reference.split())
            continue
        for pair in row.pairs:
            reference, hypothesis = pair
            if reference == ANYTHING:
                continue
            if reference is not None:
                occurrences[reference] += 1
            if reference == hypothesis:
                continue
            counts[pair] += 1
            if reference is not None:
                errors[reference] += 1
            rows = places[pair]
            if len(rows) < MOST_EXAMPLES and rows[-1:] != [number]:
                rows.append(number)
    found = [
        Confusion(reference=pair[0], hypothesis=pair[1], count=count, rows=tuple(places[pair]))
        for pair, count in counts.items()
    ]
    found.sort(key=lambda one: (-one.count, one.reference or "", one.hypothesis or ""))
    words = sorted(errors, key=lambda word: (-errors[word], word))
    return Confusions(
        substitutions=tuple(one for one in found if None not in (one.reference, one.hypothesis)),
        deletions=tuple(one for one in found if one.hypothesis is None),
        insertions=tuple(one for one in found if one.reference is None),
        words=tuple(
            WordErrors(word=word, errors=errors[word], occurrences=occurrences[word])
            for word in words
        ),
    )


def worst(report: ModelReport, n: int, *, by: str = "errors") -> list[FileResult]:
    """The n recognised rows with the most errors or the highest rate; never rows without errors.

    Args:
        report: The model's results.
        n: Maximum number of rows.
        by: ``errors`` or ``rate``; rows without reference words rank highest by rate.

    Raises:
        ValueError: If ``by`` is anything else.
    """
    if by not in ("errors", "rate"):
        raise ValueError(f"by={by!r}: errors or rate")
    rows = [row for row in report.results if row.score is not None and row.score.words.errors]

    def badness(row: FileResult) -> tuple[float, float]:
        assert row.score is not None
        words = row.score.words
        rate = float("inf") if words.rate is None else words.rate
        return (-words.errors, -rate) if by == "errors" else (-rate, -words.errors)

    return sorted(rows, key=badness)[:n]
