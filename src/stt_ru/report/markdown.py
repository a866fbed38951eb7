"""Reports for other programs and pages: Markdown with the tables, CSV with a row a recording."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from stt_ru.analysis.error_analysis import insight, slice_groups, worst
from stt_ru.analysis.spelling import TITLES, spelling_lines
from stt_ru.files.csv_text import csv_line
from stt_ru.report.fields import ROW_COLUMNS, extra_names, row_values
from stt_ru.report.table import COLUMNS, cells, interval, percent
from stt_ru.report.trust import verdicts
from stt_ru.report.written import writing_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stt_ru.report.findings import ReportContent
    from stt_ru.results import ModelReport

MOST_LINES: Final = 20
"""Lines of each list in Markdown."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def markdown_report(content: ReportContent) -> Iterator[str]:
    """Tables, verdicts, slices, confusions and the worst recordings of each model."""
    yield f"# Распознавание речи: {_md(content.manifest)}\n\n"
    rows = [
        cells(report, exactness)
        for report, exactness in zip(content.reports, content.statistics.uncertainties, strict=True)
    ]
    yield _table(COLUMNS, rows)
    lines = verdicts(content.statistics, content.reports)
    for report, spelling in zip(content.reports, content.spellings, strict=True):
        if spelling is not None:
            lines += spelling_lines(report, spelling, name_model=len(content.reports) > 1)
    lines += writing_lines(content.reports, content.writings)
    lines += content.cautions
    yield "".join(f"- {_md(line)}\n" for line in lines) + "\n" * bool(lines)
    found = [(r, s) for r, s in zip(content.reports, content.spellings, strict=True) if s]
    if found:
        names = list(found[0][1].counts)
        yield "## Модель или запись\n\n"
        yield _table(
            ("WER по правилам, %", *(TITLES[name] for name in names)),
            [
                (report.label, *(percent(one.counts[name].rate) for name in names))
                for report, one in found
            ],
        )
    for report in content.reports:
        if report.error is None:
            yield from _model(report, content.group_by)


def _model(report: ModelReport, group_by: str | None) -> Iterator[str]:
    yield f"## {_md(report.label)}\n\n"
    for group in slice_groups(report, group_by=group_by):
        yield _table(
            (group.title, "WER, %", "95 %", "Строк", "Слов"),
            [
                (
                    one.value,
                    percent(one.words.rate),
                    interval(one.interval),
                    str(one.rows),
                    str(one.words.length),
                )
                for one in group.slices
            ],
        )
    found = insight(report)
    for title, items in (
        ("Замены", found.substitutions),
        ("Пропуски", found.deletions),
        ("Вставки", found.insertions),
    ):
        if items:
            yield _table(
                (title, "Раз"),
                [
                    (" → ".join(w for w in (one.reference, one.hypothesis) if w), str(one.count))
                    for one in items[:MOST_LINES]
                ],
            )
    if rows := worst(report, MOST_LINES):
        yield _table(
            ("Запись", "Канал", "Ошибок", "WER, %", "Эталон", "Текст модели"),
            [
                (
                    row.audio,
                    "" if row.channel is None else str(row.channel),
                    str(row.score.words.errors if row.score else ""),
                    percent(row.wer),
                    row.compared_text,
                    row.hypothesis or "",
                )
                for row in rows
            ],
        )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)]]
    text = "".join(
        "| " + " | ".join(cell if line is lines[1] else _md(cell) for cell in line) + " |\n"
        for line in [*lines, *rows]
    )
    return text + "\n"


def _md(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def csv_report(reports: Sequence[ModelReport]) -> Iterator[str]:
    """A row a recording and model; the manifest's other columns at the end.

    Where references have variants, ``chosen`` is the branch that was compared.

    A byte order mark comes first, so that Excel reads it as UTF-8. A text that Excel would take for
    a formula is preceded by an apostrophe.
    """
    yield "\ufeff"
    extra = extra_names(reports)
    chosen = ["chosen"] if any(report.has_branches for report in reports) else []
    columns = (*ROW_COLUMNS, *chosen)
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
