"""Punctuation and case, for models that write them: what WER does not see."""

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
"""The marks that are counted, and what they are called; «…» is a full stop."""

_WORD = re.compile(r"[^\W_]+")
_ANY_MARK = re.compile(f"[{re.escape(''.join(MARKS))}…]")
_NO_MARKS: Final[frozenset[str]] = frozenset()
_YO = str.maketrans("ёЁ", "еЕ")


@dataclass(frozen=True, slots=True)
class MarkCounts:
    """How often a mark stood where it should, where it should not, and was missing."""

    right: int = 0
    extra: int = 0
    missing: int = 0

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None when the mark stands nowhere."""
        total = 2 * self.right + self.extra + self.missing
        return 2 * self.right / total if total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Punctuation and case of one report.

    Attributes:
        marks: Counts of each of `MARKS`; empty when references or texts have none of them at all.
        case_errors: Words heard right and written with capitals elsewhere.
        case_words: Words heard right that have letters; 0 when references or texts have no
            capitals at all.
    """

    marks: Mapping[str, MarkCounts] = field(default_factory=dict)
    case_errors: int = 0
    case_words: int = 0

    @property
    def case_rate(self) -> float | None:
        """Case errors over the words heard right; None without such words."""
        return self.case_errors / self.case_words if self.case_words else None


@dataclass(frozen=True, slots=True)
class _Written:
    words: Sequence[str]
    """Normalised."""
    raw: Sequence[str] | None
    """As written; None when they cannot be told apart."""
    marks: Sequence[frozenset[str]]
    """After each word."""


def _written(text: str, normalized: str) -> _Written:
    split = split_words(text, normalized)
    raw = _WORD.findall(visible(text))
    last = len(split.words)
    marks = [_NO_MARKS if gap == " " else _marks(gap, is_last=False) for gap in split.gaps[1:last]]
    if last:
        marks.append(_marks(split.gaps[last], is_last=True))
    return _Written(split.words, raw if len(raw) == last else None, marks)


@lru_cache(maxsize=1_000)
def _marks(gap: str, *, is_last: bool) -> frozenset[str]:
    """The marks between two words, or after the last one."""
    # «3,5» and «10.30» have no blank after the sign: it belongs to the number.
    if not is_last and not any(map(str.isspace, gap)):
        return frozenset()
    gap = gap.replace("…", ".")
    return frozenset(mark for mark in MARKS if mark in gap)


def writing(report: AlignedReport) -> Writing:
    """Compare punctuation and case of the recognised rows, along the alignment of their words.

    A mark is right when both texts have it after words that are aligned, the same or not; a mark
    after a word that was left out is missing, after one that was added extra.

    Args:
        report: The results; rows that failed take no part.
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
    """Whether some reference and some hypothesis have it."""
    return any(has_it(row.result.compared_text) for row in rows) and any(
        has_it(row.result.hypothesis or "") for row in rows
    )


class _Tally:
    """Counts of marks and capitals, row by row, and on which sides there are any at all."""

    def __init__(self) -> None:
        self._counts = {mark: [0, 0, 0] for mark in MARKS}  # right, extra, missing
        self._case_errors = 0
        self._case_words = 0
        self._has_marks = [False, False]  # in the references, in the texts
        self._has_case = [False, False]

    def add(self, row: AlignedRow) -> None:
        true = _written(row.result.compared_text, row.reference)
        heard = _written(row.result.hypothesis or "", row.hypothesis)
        for side, text in enumerate((true, heard)):
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
                true.marks[i] if one is not None else _NO_MARKS,
                heard.marks[j] if two is not None else _NO_MARKS,
            )
            if one == two and one is not None and true.raw and heard.raw and not one.isdigit():
                self._case_words += 1
                self._case_errors += _is_other_case(true.raw[i], heard.raw[j])
            i += one is not None
            j += two is not None

    def _add_marks(self, wanted: frozenset[str], found: frozenset[str]) -> None:
        for mark in wanted | found if wanted or found else ():
            self._counts[mark][0 if mark in wanted & found else 1 if mark in found else 2] += 1

    def result(self) -> Writing:
        marks = {mark: MarkCounts(*three) for mark, three in self._counts.items()}
        return Writing(
            marks=marks if all(self._has_marks) else {},
            case_errors=self._case_errors if all(self._has_case) else 0,
            case_words=self._case_words if all(self._has_case) else 0,
        )


def _is_other_case(true: str, heard: str) -> bool:
    return true != heard and true.translate(_YO) != heard.translate(_YO)
