"""A recording's row in the tables of a report: how each value is drawn from its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from stt_ru.results import FileResult, ModelReport
    from stt_ru.scoring.counts import EditCounts

ROW_COLUMNS: Final = (
    "audio", "channel", "reference", "hypothesis", "words", "substitutions", "deletions",
    "insertions", "chars", "char_errors", "wer", "cer", "duration", "seconds", "error",
)  # fmt: skip
"""What every table of recordings has, in this order."""


def _of_words(count: Callable[[EditCounts], int]) -> Callable[[FileResult], int | None]:
    return lambda row: count(row.score.words) if row.score else None


_VALUES: Final[Mapping[str, Callable[[FileResult], object]]] = {
    "audio": lambda row: row.audio,
    "channel": lambda row: row.channel,
    "reference": lambda row: row.reference,
    "chosen": lambda row: row.chosen,
    "hypothesis": lambda row: row.hypothesis,
    "words": _of_words(lambda words: words.length),
    "substitutions": _of_words(lambda words: words.substitutions),
    "deletions": _of_words(lambda words: words.deletions),
    "insertions": _of_words(lambda words: words.insertions),
    "chars": lambda row: row.score.chars.length if row.score else None,
    "char_errors": lambda row: row.score.chars.errors if row.score else None,
    "wer": lambda row: row.wer,
    "cer": lambda row: row.cer,
    "duration": lambda row: row.duration,
    "seconds": lambda row: row.seconds,
    "from_cache": lambda row: row.from_cache,
    "error": lambda row: row.error,
}


def row_values(row: FileResult, columns: Iterable[str]) -> list[object]:
    """The values of a row in these columns; None where there is nothing, as when it failed."""
    return [_VALUES[column](row) for column in columns]


def extra_names(reports: Iterable[ModelReport]) -> list[str]:
    """The manifest's other columns, of all rows together, in the order they are met."""
    names = dict.fromkeys(
        name for report in reports for result in report.results for name in result.extra
    )
    return list(names)
