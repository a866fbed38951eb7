"""Which file shows a report how: by its suffix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from stt_ru.report.findings import Findings


def render(
    findings: Findings,
    target: str | Path,
    *,
    embed_audio: bool = False,
    warn: Callable[[str], None] | None = None,
) -> Iterable[str] | Iterable[bytes]:
    """The report in pieces, by the suffix of the file it is for.

    Args:
        findings: What to show.
        target: One of `REPORT_SUFFIXES` ends its name.
        embed_audio: Put the recordings into an HTML page.
        warn: Told of recordings that have no player there, a Russian sentence each.

    Raises:
        MissingExtraError: If a package that the file takes is not installed.
        ReportError: If a table is too long for Excel.
    """
    target = Path(target)
    suffix = target.suffix.lower()
    if suffix == ".html":
        from stt_ru.report.html.page import html_report

        return html_report(findings, target=target, embed_audio=embed_audio, warn=warn)
    if suffix == ".md":
        from stt_ru.report.markdown import markdown_report

        return markdown_report(findings)
    if suffix == ".csv":
        from stt_ru.report.csv import csv_report

        return csv_report(findings.reports)
    if suffix == ".xlsx":
        from stt_ru.report.xlsx import xlsx_report

        return xlsx_report(findings)
    from stt_ru.report.json_write import json_report

    return json_report(
        findings.reports,
        manifest=findings.manifest,
        created_at=findings.created_at,
        kind=findings.kind,
        warnings=findings.warnings,
        statistics=findings.statistics,
        spellings=findings.spellings,
        writings=findings.writings,
    )
