"""A report in a notebook: as a pandas table, and as the HTML that a cell shows."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from stt_ru.analysis.aligned_rows import AlignedRow
from stt_ru.analysis.error_analysis import worst
from stt_ru.analysis.significance import uncertainty
from stt_ru.errors import MissingExtraError
from stt_ru.report.fields import BY_NAME, TABLE_COLUMNS, row_values
from stt_ru.report.table import COLUMNS, cells, percent
from stt_ru.text.marked_references import ANYTHING

if TYPE_CHECKING:
    from pandas import DataFrame

    from stt_ru.results import FileResult, ModelReport

MOST_ROWS: Final = 5
"""Worst rows that a cell shows."""

_MARKS: Final = {
    "sub": "background:#ffe2b8;color:#6b3f00",
    "del": "background:#ffd3d3;color:#7d1212;text-decoration:line-through",
    "ins": "background:#cfe3ff;color:#0d3d80",
}


def to_pandas(report: ModelReport) -> DataFrame:
    """One line per result, in their order; counts and rates are missing where the row failed.

    Where references have variants, ``chosen`` is the branch that was compared.

    Columns of the manifest that have one of our names are called ``extra.…``.

    Raises:
        MissingExtraError: If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("to_pandas", "pandas") from error
    columns = list(TABLE_COLUMNS)
    if report.has_branches:
        columns.insert(columns.index("hypothesis"), "chosen")
    rows = []
    for result in report.results:
        row = dict(zip(columns, row_values(result, columns), strict=True))
        row |= {f"extra.{k}" if k in row else k: value for k, value in result.extra.items()}
        rows.append(row)
    frame = pd.DataFrame(rows)
    whole = [name for name in columns if name in frame and BY_NAME[name].kind == "count"]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def to_html(report: ModelReport) -> str:
    """The report's line of the table and its worst rows, words aligned and coloured."""
    head = "".join(f"<th>{escape(title)}</th>" for title in COLUMNS)
    exactness = None if report.error is not None else uncertainty(report)
    line = "".join(f"<td>{escape(cell)}</td>" for cell in cells(report, exactness))
    text = f"<table><tr>{head}</tr><tr>{line}</tr></table>"
    if report.error is not None:
        return f"{text}<p>{escape(report.error)}</p>"
    rows = worst(report, MOST_ROWS)
    return text + "".join(_row(row) for row in rows)


def _row(row: FileResult) -> str:
    words = []
    for reference, hypothesis in AlignedRow(row).pairs:
        if reference == ANYTHING:
            words.append(f"<i>{escape(hypothesis or '')}</i>")
        elif reference == hypothesis:
            words.append(escape(reference or ""))
        elif hypothesis is None:
            words.append(_marked("del", reference or ""))
        elif reference is None:
            words.append(_marked("ins", f"+{hypothesis}"))
        else:
            words.append(_marked("sub", f"{reference} → {hypothesis}"))
    return f"<p><b>{escape(row.audio)}</b> {percent(row.wer)} %<br>{' '.join(words)}</p>"


def _marked(kind: str, text: str) -> str:
    return f'<span style="{_MARKS[kind]}">{escape(text)}</span>'
