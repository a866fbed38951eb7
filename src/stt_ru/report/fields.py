"""The fields of a recording's row: what each report writes, reads back and calls them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from stt_ru.results import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from stt_ru.results import FileResult, ModelReport
    from stt_ru.scoring.counts import Score

Kind: TypeAlias = Literal["text", "count", "number", "flag", "segments", "columns"]
"""What a value is in JSON; counts and numbers are never negative."""


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a row, wherever a report has it.

    Attributes:
        name: In JSON, CSV and pandas.
        kind: What its value is.
        value: Draws it from a result; None where there is nothing, as when the row failed.
        title: The heading of its column in Excel; empty when tables have no such column.
        look: How Excel shows it: long texts are wrapped, rates are percents.
        null: What JSON does with None: writes null, leaves the field out, or it is never None.
    """

    name: str
    kind: Kind
    value: Callable[[FileResult], object]
    title: str = ""
    look: Literal["plain", "text", "rate"] = "plain"
    null: Literal["written", "left out", "never"] = "written"

    @property
    def is_of_score(self) -> bool:
        """Whether it is a count or a rate, which are read back as one `Score`."""
        return self.name in _COUNTS


_COUNTS: Final[dict[str, Callable[[Score], int | float | None]]] = {
    "words": attrgetter("words.length"),
    "substitutions": attrgetter("words.substitutions"),
    "deletions": attrgetter("words.deletions"),
    "insertions": attrgetter("words.insertions"),
    "chars": attrgetter("chars.length"),
    "char_errors": attrgetter("chars.errors"),
    "wer": attrgetter("words.rate"),
    "cer": attrgetter("chars.rate"),
}


def score_values(score: Score | None) -> dict[str, int | float | None]:
    """Counts and rates as every JSON report of ours has them; None for a failed row."""
    return {name: count(score) if score else None for name, count in _COUNTS.items()}


def _count(name: str, title: str) -> Field:
    count = _COUNTS[name]
    return Field(name, "count", lambda row: count(row.score) if row.score else None, title)


def _rate(name: str, title: str) -> Field:
    rate = _COUNTS[name]
    return Field(name, "number", lambda row: rate(row.score) if row.score else None, title, "rate")


# Not dataclasses.asdict, which copies every value deeply.
_SEGMENT: Final = tuple(field.name for field in dataclasses.fields(Segment))


def _segments(row: FileResult) -> list[dict[str, Any]]:
    return [{name: getattr(segment, name) for name in _SEGMENT} for segment in row.segments]


FIELDS: Final = (
    Field("audio", "text", attrgetter("audio"), "запись", null="never"),
    Field("channel", "count", attrgetter("channel"), "канал"),
    Field("reference", "text", attrgetter("reference"), "эталон", "text", null="never"),
    Field("chosen", "text", attrgetter("chosen"), "сравнено с", "text", null="left out"),
    Field("hypothesis", "text", attrgetter("hypothesis"), "текст модели", "text"),
    Field("duration", "number", attrgetter("duration"), "длительность, с"),
    Field("seconds", "number", attrgetter("seconds"), "распознавание, с"),
    _count("words", "слов"),
    _count("substitutions", "замен"),
    _count("deletions", "удалений"),
    _count("insertions", "вставок"),
    _count("chars", "символов"),
    _count("char_errors", "ошибок в символах"),
    _rate("wer", "WER"),
    _rate("cer", "CER"),
    Field("error", "text", attrgetter("error"), "почему нет", "text"),
    Field("from_cache", "flag", attrgetter("from_cache"), "из кэша", null="never"),
    Field("segments", "segments", _segments, null="never"),
    Field("extra", "columns", lambda row: dict(row.extra), null="never"),
)
"""Every field in the order of JSON."""

BY_NAME: Final[Mapping[str, Field]] = {field.name: field for field in FIELDS}

TABLE_COLUMNS: Final = (
    "audio", "channel", "reference", "hypothesis", "words", "substitutions", "deletions",
    "insertions", "chars", "char_errors", "wer", "cer", "duration", "seconds", "error",
)  # fmt: skip
"""What every table of recordings has, in the order it is read."""


_ALWAYS: Final = tuple((field.name, field.value) for field in FIELDS if field.null != "left out")


def json_row(row: FileResult) -> dict[str, Any]:
    """A row as JSON has it."""
    if row.chosen is None:
        return {name: value(row) for name, value in _ALWAYS}
    return {field.name: field.value(row) for field in FIELDS}


def row_values(row: FileResult, columns: Iterable[str]) -> list[object]:
    """The values of a row in these columns; None where there is nothing, as when it failed."""
    return [BY_NAME[column].value(row) for column in columns]


def extra_names(reports: Iterable[ModelReport]) -> list[str]:
    """The manifest's other columns, of all rows together, in the order they are met."""
    names = dict.fromkeys(
        name for report in reports for result in report.results for name in result.extra
    )
    return list(names)


def json_schema(field: Field) -> dict[str, Any]:
    """What JSON Schema says of the field's value."""
    name = {"text": "string", "count": "integer", "number": "number", "flag": "boolean"}.get(
        field.kind
    )
    if name is None:
        return {"type": "array" if field.kind == "segments" else "object"}
    schema: dict[str, Any] = {"type": [name, "null"] if field.null == "written" else name}
    if field.kind in ("count", "number"):
        schema["minimum"] = 0
    return schema
