"""Punctuation and case, for models that write them: what WER does not see."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from stt_ru.alignment import align
from stt_ru.figures import split_words, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stt_ru.results import ModelReport

MARKS: Final = {",": "запятые", ".": "точки", "?": "вопросы"}
"""The marks that are counted, and what they are called; «…» is a full stop."""

_WORD = re.compile(r"[^\W_]+")
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


def _written(text: str) -> _Written:
    split = split_words(text)
    raw = _WORD.findall(visible(text))
    last = len(split.words)
    marks = []
    for number in range(1, last + 1):
        gap = split.gaps[number].replace("…", ".")
        # «3,5» and «10.30» have no blank after the sign: it belongs to the number.
        is_mark = number == last or any(character.isspace() for character in gap)
        marks.append(frozenset(mark for mark in MARKS if is_mark and mark in gap))
    return _Written(split.words, raw if len(raw) == last else None, marks)


def writing(report: ModelReport) -> Writing:
    """Compare punctuation and case of the recognised rows, along the alignment of their words.

    A mark is right when both texts have it after words that are aligned, the same or not; a mark
    after a word that was left out is missing, after one that was added extra.

    Args:
        report: The results; rows that failed take no part.
    """
    pairs = [
        (_written(row.reference), _written(row.hypothesis or ""))
        for row in report.results
        if row.score is not None
    ]
    has_marks = all(any(any(text.marks) for text in side) for side in zip(*pairs, strict=True))
    has_case = all(
        any(word != word.lower() for text in side for word in text.raw or ())
        for side in zip(*pairs, strict=True)
    )
    counts = {mark: [0, 0, 0] for mark in MARKS}
    case_errors = case_words = 0
    for true, heard in pairs:
        i = j = 0
        for one, two in align(true.words, heard.words):
            wanted = true.marks[i] if one is not None else frozenset()
            found = heard.marks[j] if two is not None else frozenset()
            for mark in wanted | found:
                counts[mark][0 if mark in wanted & found else 1 if mark in found else 2] += 1
            if one == two and one is not None and true.raw and heard.raw and not one.isdigit():
                case_words += 1
                case_errors += true.raw[i].translate(_YO) != heard.raw[j].translate(_YO)
            i += one is not None
            j += two is not None
    return Writing(
        marks={mark: MarkCounts(*three) for mark, three in counts.items()}
        if pairs and has_marks
        else {},
        case_errors=case_errors if pairs and has_case else 0,
        case_words=case_words if pairs and has_case else 0,
    )
