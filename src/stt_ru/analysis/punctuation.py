"""Punctuation and case, for models that write them; WER ignores both."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from stt_ru.text.marked_references import ANYTHING
from stt_ru.text.numbers import split_words, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from stt_ru.analysis.aligned_rows import AlignedReport, AlignedRow

MARKS: Final = {",": "запятые", ".": "точки", "?": "вопросы"}
"""The marks that are counted, and their names; «…» counts as a full stop."""

_WORD = re.compile(r"[^\W_]+")
_ANY_MARK = re.compile(f"[{re.escape(''.join(MARKS))}…]")
_NO_MARKS: Final[frozenset[str]] = frozenset()
_YO = str.maketrans("ёЁ", "еЕ")


@dataclass(frozen=True, slots=True)
class MarkCounts:
    """How often a mark was in the right place, was superfluous, or was missing."""

    right: int = 0
    extra: int = 0
    missing: int = 0

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None if no reference has the mark."""
        if not self.right + self.missing:
            return None
        return 2 * self.right / (2 * self.right + self.extra + self.missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Punctuation and case of one report.

    Attributes:
        marks: Counts per mark of `MARKS`; empty if the references or the hypotheses have none of
            them at all.
        case_errors: Correctly recognised words whose case differs from the reference.
        case_words: Correctly recognised words that have letters; 0 if the references or the
            hypotheses have no capitals at all.
    """

    marks: Mapping[str, MarkCounts] = field(default_factory=dict)
    case_errors: int = 0
    case_words: int = 0

    @property
    def case_rate(self) -> float | None:
        """Case errors over correctly recognised words; None if there are no such words."""
        return self.case_errors / self.case_words if self.case_words else None


@dataclass(frozen=True, slots=True)
class _Written:
    words: Sequence[str]
    """Normalised."""
    raw: Sequence[str] | None
    """As written; None if the text cannot be split into the same words."""
    marks: Sequence[frozenset[str]]
    """After each word."""


def _written(text: str, normalized: str) -> _Written:
    split = split_words(text, normalized)
    raw = _WORD.findall(visible(text))
    last = len(split.words)
    is_known = len(raw) == last
    marks = []
    for place, gap in enumerate(split.gaps[1:], start=1):
        found = _NO_MARKS if gap == " " else _marks(gap)
        if found and place < last and not _has_space(gap):
            around = raw[place - 1 : place + 1] if is_known else split.words[place - 1 : place + 1]
            found = found if _separates(gap, *around) else _NO_MARKS
        marks.append(found)
    return _Written(split.words, raw if is_known else None, marks)


@lru_cache(maxsize=1_000)
def _marks(gap: str) -> frozenset[str]:
    """The marks among the characters after a word."""
    gap = gap.replace("…", ".")
    return frozenset(mark for mark in MARKS if mark in gap)


def _has_space(gap: str) -> bool:
    return any(map(str.isspace, gap))


def _separates(gap: str, before: str, after: str) -> bool:
    """Whether characters without a space are marks between words, not part of a number or a name.

    «3,5» and «10.30» are numbers, «mail.ru» and «т.е.» have a full stop inside; «тест».Чтобы» and
    «А.Сёмкин» only lack the space.
    """
    if before[-1].isdigit() and after[0].isdigit():
        return False
    if set(gap) != {"."}:
        return True
    return after[0].isupper() and not (before.isascii() and after.isascii())


def writing(report: AlignedReport) -> Writing:
    """Compare punctuation and case of the recognised rows along their word alignment.

    A mark is right if both texts have it after aligned words, whether or not the words are equal.
    A mark after a deleted word is missing; one after an inserted word is extra.

    Args:
        report: The model's results; failed rows are ignored.
    """
    rows = list(report.scored)
    may_have_marks = _both_sides(rows, lambda text: _ANY_MARK.search(text) is not None)
    may_have_case = _both_sides(rows, lambda text: text != text.lower())
    if not (may_have_marks or may_have_case):
        return Writing()
    tally = _Tally()
    for row in rows:
        tally.add(row)
    return tally.result()


def _both_sides(rows: Sequence[AlignedRow], has_it: Callable[[str], bool]) -> bool:
    """Whether ``has_it`` holds for at least one reference and at least one hypothesis."""
    return any(has_it(row.result.compared_text) for row in rows) and any(
        has_it(row.result.hypothesis or "") for row in rows
    )


class _Tally:
    """Counts of marks and capitals, row by row, and which sides have any at all."""

    def __init__(self) -> None:
        self._counts = {mark: [0, 0, 0] for mark in MARKS}  # right, extra, missing
        self._case_errors = 0
        self._case_words = 0
        self._has_marks = [False, False]  # in references, in hypotheses
        self._has_case = [False, False]

    def add(self, row: AlignedRow) -> None:
        reference = _written(row.result.compared_text, row.reference)
        hypothesis = _written(row.result.hypothesis or "", row.hypothesis)
        for side, text in enumerate((reference, hypothesis)):
            self._has_marks[side] = self._has_marks[side] or any(text.marks)
            self._has_case[side] = self._has_case[side] or any(
                word != word.lower() for word in text.raw or ()
            )
        i = j = 0
        for one, two in row.pairs:
            if one == ANYTHING:
                j += 1
                continue
            self._add_marks(
                reference.marks[i] if one is not None else _NO_MARKS,
                hypothesis.marks[j] if two is not None else _NO_MARKS,
            )
            if one and one == two and not one.isdigit() and reference.raw and hypothesis.raw:
                self._case_words += 1
                self._case_errors += _is_other_case(reference.raw[i], hypothesis.raw[j])
            i += one is not None
            j += two is not None

    def _add_marks(self, reference: frozenset[str], hypothesis: frozenset[str]) -> None:
        for mark in reference | hypothesis if reference or hypothesis else ():
            kind = 0 if mark in reference & hypothesis else 1 if mark in hypothesis else 2
            self._counts[mark][kind] += 1

    def result(self) -> Writing:
        marks = {mark: MarkCounts(*three) for mark, three in self._counts.items()}
        return Writing(
            marks=marks if all(self._has_marks) else {},
            case_errors=self._case_errors if all(self._has_case) else 0,
            case_words=self._case_words if all(self._has_case) else 0,
        )


def _is_other_case(reference: str, hypothesis: str) -> bool:
    return reference != hypothesis and reference.translate(_YO) != hypothesis.translate(_YO)
