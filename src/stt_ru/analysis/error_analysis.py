"""What was heard for what, and which words and recordings go wrong most."""

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
"""Rows kept with a confusion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """One difference between references and texts, and how often it happened.

    Attributes:
        reference: The reference word; None for an insertion.
        hypothesis: What was heard; None for a deletion.
        count: Times.
        rows: Numbers of the rows it happened in, from 0, up to `MOST_EXAMPLES`.
    """

    reference: str | None
    hypothesis: str | None
    count: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordErrors:
    """How often a word of the references was not heard as it is."""

    word: str
    errors: int
    occurrences: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusions:
    """The confusions of one report, most frequent first; equal ones in alphabetical order."""

    substitutions: tuple[Confusion, ...]
    deletions: tuple[Confusion, ...]
    insertions: tuple[Confusion, ...]
    words: tuple[WordErrors, ...]

    def most_frequent(self, n: int) -> list[Confusion]:
        """The n most frequent confusions of all three kinds together."""
        everything = [*self.substitutions, *self.deletions, *self.insertions]
        return sorted(everything, key=lambda one: -one.count)[:n]


def find_confusions(report: AlignedReport) -> Confusions:
    """Every confusion of a report; they sum up to its substitutions, deletions and insertions."""
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
            true, heard = pair
            if true == ANYTHING:
                continue
            if true is not None:
                occurrences[true] += 1
            if true == heard:
                continue
            counts[pair] += 1
            if true is not None:
                errors[true] += 1
            rows = places[pair]
            if len(rows) < MOST_EXAMPLES and rows[-1:] != [number]:
                rows.append(number)
    found = [
        Confusion(reference=true, hypothesis=heard, count=count, rows=tuple(places[true, heard]))
        for (true, heard), count in counts.items()
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
    """The n recognised rows with most errors, or the highest rate; those without errors never.

    Args:
        report: The results.
        n: How many.
        by: ``errors`` or ``rate``; rows without reference words have the highest rate.

    Raises:
        ValueError: If ``by`` is something else.
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
