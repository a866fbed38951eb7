"""The report as CSV for other programs: one line per recording and model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from stt_ru.files.csv_text import csv_line
from stt_ru.report.fields import TABLE_COLUMNS, extra_names, row_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stt_ru.results import ModelReport

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def csv_report(reports: Sequence[ModelReport]) -> Iterator[str]:
    """One line per recording and model; the manifest's other columns at the end.

    Where references have variants, ``chosen`` is the branch that was compared.

    A byte order mark comes first, so that Excel reads it as UTF-8. A text that Excel would take for
    a formula is preceded by an apostrophe.
    """
    yield "\ufeff"
    extra = extra_names(reports)
    columns = list(TABLE_COLUMNS)
    if any(report.has_branches for report in reports):
        columns.append("chosen")
    taken = {"model", *columns}
    titles = [f"extra.{name}" if name in taken else name for name in extra]
    yield _csv_line(["model", *columns, *titles])
    for report in reports:
        for result in report.results:
            values = row_values(result, columns)
            more = (result.extra.get(name) for name in extra)
            yield _csv_line([report.label, *values, *more])


def _csv_line(values: Sequence[object]) -> str:
    return csv_line([_csv_cell(value) for value in values])


def _csv_cell(value: object) -> object:
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    if value is None or isinstance(value, (int, float)):
        return value
    return json.dumps(value, ensure_ascii=False)
