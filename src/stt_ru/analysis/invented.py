"""Texts that nobody said, and speech that was not heard: errors that are not about single words."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stt_ru.analysis.aligned_rows import AlignedReport, AlignedRow

STOCK: Final = (
    "редактор субтитров",
    "корректор субтитров",
    "субтитры сделал",
    "субтитры создавал",
    "субтитры делал",
    "субтитры подогнал",
    "субтитры добавил",
    "субтитры предоставлены",
    "спасибо за субтитры",
    "спасибо за просмотр",
    "продолжение следует",
    "подписывайтесь на канал",
    "подпишитесь на канал",
    "подписывайтесь на мой канал",
    "ставьте лайки",
    "dimatorzok",
    "amara org",
)
"""Credits and farewells of the videos that models were trained on, normalised: they write them into
silence and noise."""

LEAST_RECORDINGS: Final = 3
"""One text for so many recordings, of which it has no word right, is not heard but invented."""

LEAST_WORDS: Final = 2
"""Shorter texts, «да», may be a fair mistake in several recordings."""

_PADDED_STOCK: Final = tuple((phrase, f" {phrase} ") for phrase in STOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invented:
    """A text that no reference holds, and where it was written.

    Attributes:
        text: Normalised.
        rows: In the order of the report.
    """

    text: str
    rows: Sequence[AlignedRow]


def invented_texts(report: AlignedReport) -> list[Invented]:
    """Stock phrases, and texts written for unrelated recordings; those with most rows first.

    A row is counted once, under the first text that it has.
    """
    by_text: dict[str, list[AlignedRow]] = defaultdict(list)
    for row in report.scored:
        if row.result.score is not None and row.result.score.words.errors:
            for text in _candidates(row):
                by_text[text].append(row)
    found = []
    taken: set[int] = set()
    for text, rows in sorted(
        by_text.items(), key=lambda item: (item[0] not in STOCK, -len(item[1]))
    ):
        if text not in STOCK and not _are_unrelated(rows):
            continue
        left = [row for row in rows if id(row) not in taken]
        if left and not any(_holds(row.reference, text) for row in report.rows):
            taken.update(map(id, left))
            found.append(Invented(text=text, rows=left))
    return sorted(found, key=lambda one: -len(one.rows))


def _candidates(row: AlignedRow) -> Iterator[str]:
    hypothesis = row.hypothesis
    padded = f" {hypothesis} "
    yield from (phrase for phrase, padded_phrase in _PADDED_STOCK if padded_phrase in padded)
    score = row.result.score
    assert score is not None
    right = score.words.length - score.words.substitutions - score.words.deletions
    if right == 0 and hypothesis.count(" ") >= LEAST_WORDS - 1:
        yield hypothesis


def _are_unrelated(rows: Sequence[AlignedRow]) -> bool:
    recordings = {(row.result.audio, row.result.channel) for row in rows}
    references = {row.reference for row in rows}
    return len(recordings) >= LEAST_RECORDINGS and len(references) >= LEAST_RECORDINGS


def _holds(text: str, phrase: str) -> bool:
    return f" {phrase} " in f" {text} "


def unheard_rows(report: AlignedReport) -> list[AlignedRow]:
    """Rows whose reference has words and whose text has none."""
    return [
        row
        for row in report.scored
        if row.result.score is not None
        and row.result.score.words.length
        and row.result.score.words.deletions == row.result.score.words.length
        and not row.hypothesis
    ]
