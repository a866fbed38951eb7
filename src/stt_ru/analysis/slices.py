"""Where a model goes wrong: WER of rows that have a property in common."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from stt_ru.analysis.significance import uncertainty
from stt_ru.scoring.counts import EditCounts, total_score

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stt_ru.analysis.significance import Interval
    from stt_ru.results import FileResult, ModelReport

MOST_VALUES: Final = 30
"""A column with more values is cut into `PARTS` if they are quantities; ids are not sliced."""

PARTS: Final = 4
ROWS_A_VALUE: Final = 10
"""Integers that average fewer rows per value are ids, not quantities."""

SLICE_RESAMPLES: Final = 2_000
"""A fifth of the resamples of a whole report, since each row is in several slices."""

DURATIONS_S: Final = (2, 5, 10, 20, 60)
"""Bounds of the slices by duration, in seconds of audio."""

RATES: Final = (1.0, 1.5, 2.0, 2.5, 3.0)
"""Bounds of the slices by speech rate, in reference words per second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Rows that share a value of a property.

    Attributes:
        value: The value, as displayed.
        rows: Number of recognised rows.
        words: Their word error counts.
        interval: 95 % interval of their WER; None with too few blocks.
        numbers: Numbers of the rows in the report, from 0.
    """

    value: str
    rows: int
    words: EditCounts
    interval: Interval | None
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceGroup:
    """All slices by one property, ordered by its values."""

    title: str
    slices: tuple[Slice, ...]


def slice_groups(report: ModelReport, *, group_by: str | None = None) -> list[SliceGroup]:
    """WER by duration, speech rate, channel and every manifest column that is not an id.

    A column with at most `MOST_VALUES` values gives one slice per value; a column with more
    numbers is cut into `PARTS` slices of about equal numbers of rows.

    Args:
        report: The model's results; failed rows are ignored.
        group_by: The column whose values define the bootstrap blocks.
    """
    numbered = [(n, row) for n, row in enumerate(report.results) if row.score is not None]
    properties: list[tuple[str, Callable[[FileResult], str | None]]] = [
        ("Длительность, с", lambda row: _bucket(row.duration, DURATIONS_S)),
        ("Темп, слов в секунду", _speech_rate),
        ("Канал", lambda row: None if row.channel is None else str(row.channel)),
    ]
    columns = dict.fromkeys(name for _, row in numbered for name in row.extra)
    properties += [(name, _column_slices(name, [row for _, row in numbered])) for name in columns]
    groups = []
    for title, value_of in properties:
        members: dict[str, list[tuple[int, FileResult]]] = defaultdict(list)
        for number, row in numbered:
            if (value := value_of(row)) is not None:
                members[value].append((number, row))
        if not 2 <= len(members) <= MOST_VALUES:
            continue
        groups.append(
            SliceGroup(
                title=title,
                slices=tuple(
                    _slice(report, value, members[value], group_by)
                    for value in sorted(members, key=_natural)
                ),
            )
        )
    return groups


def _slice(
    report: ModelReport,
    value: str,
    members: Sequence[tuple[int, FileResult]],
    group_by: str | None,
) -> Slice:
    rows = [row for _, row in members]
    part = replace(report, results=rows, rows=len(rows))
    return Slice(
        value=value,
        rows=len(rows),
        words=total_score(row.score for row in rows if row.score is not None).words,
        interval=uncertainty(part, group_by=group_by, resamples=SLICE_RESAMPLES).wer,
        numbers=tuple(number for number, _ in members),
    )


def _bucket(value: float | None, bounds: Sequence[float]) -> str | None:
    if value is None:
        return None
    above = [bound for bound in bounds if value >= bound]
    if not above:
        return f"до {bounds[0]:g}"
    if len(above) == len(bounds):
        return f"от {bounds[-1]:g}"
    return f"{above[-1]:g}–{bounds[len(above)]:g}"


def _speech_rate(row: FileResult) -> str | None:
    if not row.duration or row.score is None or not row.score.words.length:
        return None
    return _bucket(row.score.words.length / row.duration, RATES)


def _column_slices(name: str, rows: Sequence[FileResult]) -> Callable[[FileResult], str | None]:
    """A function that names the slice of a row by the column."""
    value_of = _column(name)
    values = [value for row in rows if (value := value_of(row)) is not None]
    distinct = set(values)
    if len(distinct) <= MOST_VALUES:
        return value_of
    numbers = {value: _number(value) for value in distinct}
    found = sorted(number for value in values if (number := numbers[value]) is not None)
    are_whole = all(number.is_integer() for number in found)
    if len(found) < len(values) or (are_whole and len(values) < ROWS_A_VALUE * len(distinct)):
        return value_of
    cuts = [found[len(found) * part // PARTS] for part in range(1, PARTS)]
    bounds = [cut for cut in dict.fromkeys(cuts) if cut > found[0]]

    def part_of(row: FileResult) -> str | None:
        value = value_of(row)
        return None if value is None else _bucket(numbers[value], bounds)

    return part_of if bounds else value_of


def _number(value: str) -> float | None:
    try:
        number = float(value.replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _column(name: str) -> Callable[[FileResult], str | None]:
    def value(row: FileResult) -> str | None:
        found: Any = row.extra.get(name)
        if found is None or found == "":
            return None
        return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)

    return value


def _natural(value: str) -> tuple[int, float, str]:
    """Sort key of slices: «до» first, numbers by value, then words, «от» last."""
    if value.startswith("до "):
        return 0, 0.0, value
    if value.startswith("от "):
        return 3, 0.0, value
    try:
        return 1, float(value.partition("–")[0].replace(",", ".")), value
    except ValueError:
        return 2, 0.0, value
