"""The report as Markdown: its tables, what they say, and the worst recordings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from stt_ru.analysis.error_analysis import find_confusions, worst
from stt_ru.analysis.slices import slice_groups
from stt_ru.files.wording import harmless
from stt_ru.report.table import COLUMNS, cells, interval, percent, spelling_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stt_ru.analysis.aligned_rows import AlignedReport
    from stt_ru.report.findings import Findings

MOST_LINES: Final = 20
"""Lines of each list in Markdown."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def markdown_report(findings: Findings) -> Iterator[str]:
    """Tables, verdicts, slices, confusions and the worst recordings of each model."""
    yield f"# Распознавание речи: {_md(findings.manifest)}\n\n"
    rows = [
        cells(report, exactness)
        for report, exactness in zip(
            findings.reports, findings.statistics.uncertainties, strict=True
        )
    ]
    yield _table(COLUMNS, rows)
    lines = [*findings.conclusions, *findings.cautions]
    yield "".join(f"- {_md(line)}\n" for line in lines) + "\n" * bool(lines)
    if any(findings.spellings):
        head, *rows = spelling_rows(findings.reports, findings.spellings)
        yield "## Модель или написание\n\n"
        yield _table(head, [row for row, one in zip(rows, findings.spellings, strict=True) if one])
    for aligned in findings.aligned:
        if aligned.report.error is None:
            yield from _model(aligned, findings.group_by)


def _model(aligned: AlignedReport, group_by: str | None) -> Iterator[str]:
    report = aligned.report
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
    found = find_confusions(aligned)
    for title, items in (
        ("Замены", found.substitutions),
        ("Удаления", found.deletions),
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
    return _SPECIAL.sub(r"\\\1", harmless(" ".join(text.split())))
