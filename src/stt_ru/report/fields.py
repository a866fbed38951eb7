"""The fields of a recording's row: what each report writes, reads back and calls them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from stt_ru.results import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from stt_ru.results import FileResult, ModelReport
    from stt_ru.scoring.counts import Score

Kind: TypeAlias = Literal["text", "count", "number", "flag", "segments", "columns"]
"""What a value is in JSON; counts and numbers are never negative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One value of a row, wherever a report has it.

    Attributes:
        name: In JSON, CSV and pandas.
        kind: What its value is.
        value: Draws it from a result; None where there is nothing, as when the row failed.
        may_be_null: Whether null stands for None in JSON.
        only_with_value: Whether JSON leaves the field out instead of writing null.
        is_of_score: Whether it is a count or a rate, which are read back as one `Score`.
        title: The heading of its column in Excel; None when tables have no such column.
        look: How Excel shows it: long texts are wrapped, rates are percents.
    """

    name: str
    kind: Kind
    value: Callable[[FileResult], object]
    may_be_null: bool = False
    only_with_value: bool = False
    is_of_score: bool = False
    title: str | None = None
    look: Literal["plain", "text", "rate"] = "plain"


_COUNTS: Final[dict[str, Callable[[Score], int | float | None]]] = {
    "words": lambda score: score.words.length,
    "substitutions": lambda score: score.words.substitutions,
    "deletions": lambda score: score.words.deletions,
    "insertions": lambda score: score.words.insertions,
    "chars": lambda score: score.chars.length,
    "char_errors": lambda score: score.chars.errors,
    "wer": lambda score: score.words.rate,
    "cer": lambda score: score.chars.rate,
}


def score_values(score: Score | None) -> dict[str, int | float | None]:
    """Counts and rates as every JSON report of ours has them; None for a failed row."""
    return {name: count(score) if score else None for name, count in _COUNTS.items()}


def _counted(name: str, title: str, *, is_rate: bool = False) -> Field:
    count = _COUNTS[name]
    return Field(
        name=name,
        kind="number" if is_rate else "count",
        value=lambda row: count(row.score) if row.score else None,
        may_be_null=True,
        is_of_score=True,
        title=title,
        look="rate" if is_rate else "plain",
    )


# Not dataclasses.asdict, which copies every value deeply.
_SEGMENT: Final = tuple(field.name for field in dataclasses.fields(Segment))

FIELDS: Final = (
    Field(name="audio", kind="text", value=lambda row: row.audio, title="запись"),
    Field(
        name="channel",
        kind="count",
        value=lambda row: row.channel,
        may_be_null=True,
        title="канал",
    ),
    Field(
        name="reference", kind="text", value=lambda row: row.reference, title="эталон", look="text"
    ),
    Field(
        name="chosen",
        kind="text",
        value=lambda row: row.chosen,
        only_with_value=True,
        title="сравнено с",
        look="text",
    ),
    Field(
        name="hypothesis",
        kind="text",
        value=lambda row: row.hypothesis,
        may_be_null=True,
        title="текст модели",
        look="text",
    ),
    Field(
        name="duration",
        kind="number",
        value=lambda row: row.duration,
        may_be_null=True,
        title="длительность, с",
    ),
    Field(
        name="seconds",
        kind="number",
        value=lambda row: row.seconds,
        may_be_null=True,
        title="распознавание, с",
    ),
    _counted("words", "слов"),
    _counted("substitutions", "замен"),
    _counted("deletions", "пропусков"),
    _counted("insertions", "вставок"),
    _counted("chars", "символов"),
    _counted("char_errors", "ошибок в символах"),
    _counted("wer", "WER", is_rate=True),
    _counted("cer", "CER", is_rate=True),
    Field(
        name="error",
        kind="text",
        value=lambda row: row.error,
        may_be_null=True,
        title="почему нет",
        look="text",
    ),
    Field(name="from_cache", kind="flag", value=lambda row: row.from_cache, title="из кэша"),
    Field(
        name="segments",
        kind="segments",
        value=lambda row: [
            {name: getattr(segment, name) for name in _SEGMENT} for segment in row.segments
        ],
    ),
    Field(name="extra", kind="columns", value=lambda row: dict(row.extra)),
)
"""Every field in the order of JSON."""

BY_NAME: Final[Mapping[str, Field]] = {field.name: field for field in FIELDS}

TABLE_COLUMNS: Final = (
    "audio", "channel", "reference", "hypothesis", "words", "substitutions", "deletions",
    "insertions", "chars", "char_errors", "wer", "cer", "duration", "seconds", "error",
)  # fmt: skip
"""What every table of recordings has, in the order it is read."""


_ALWAYS: Final = tuple((field.name, field.value) for field in FIELDS if not field.only_with_value)


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
    schema: dict[str, Any] = {"type": [name, "null"] if field.may_be_null else name}
    if field.kind in ("count", "number"):
        schema["minimum"] = 0
    return schema
