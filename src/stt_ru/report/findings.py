"""All that a report file can show, and which file shows it how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stt_ru.analysis.punctuation import writing
from stt_ru.analysis.significance import describe
from stt_ru.analysis.spelling import always, spelling_of
from stt_ru.report.sentences import notes
from stt_ru.report.trust import trust_notes
from stt_ru.scoring.relaxed import Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from stt_ru.analysis.punctuation import Writing
    from stt_ru.analysis.significance import Statistics
    from stt_ru.analysis.spelling import Spelling
    from stt_ru.results import ModelReport


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContent:
    """Results and what was found in them.

    Attributes:
        reports: A report a model, in the order of the table.
        manifest: Its path as the user gave it.
        folder: The folder that recordings are named from; None when there are none.
        created_at: With a time zone.
        warnings: What the manifest and the request were warned of before the first model, a Russian
            sentence each.
        group_by: The column whose values are independent; None for recordings.
        statistics: Intervals and comparisons.
        spellings: Rates under the spelling rules; None where a model did not load.
        writings: Punctuation and case; None where a model did not load.
    """

    reports: Sequence[ModelReport]
    manifest: str
    folder: Path | None
    created_at: datetime
    warnings: Sequence[str]
    group_by: str | None
    statistics: Statistics
    spellings: Sequence[Spelling | None]
    writings: Sequence[Writing | None]

    @property
    def cautions(self) -> list[str]:
        """What a reader must know beside the table: the warnings, then what the results say."""
        found = [*notes(self.reports), *trust_notes(self.statistics)]
        return [*self.warnings, *(note.text for note in found)]


def make_content(
    reports: Sequence[ModelReport],
    *,
    manifest: str,
    created_at: datetime,
    folder: Path | None = None,
    rules: Rules = Rules(),  # noqa: B008 - frozen
    warnings: Sequence[str] = (),
    group_by: str | None = None,
) -> ReportContent:
    """Find in the results all that is shown of them.

    Args:
        reports: The models.
        manifest: As in `ReportContent`.
        created_at: As in `ReportContent`.
        folder: As in `ReportContent`.
        rules: Spelling rules asked for; numbers and compounds are always counted.
        warnings: As in `ReportContent`.
        group_by: As in `ReportContent`.
    """
    return ReportContent(
        reports=reports,
        manifest=manifest,
        folder=folder,
        created_at=created_at,
        warnings=tuple(warnings),
        group_by=group_by,
        statistics=describe(reports, group_by=group_by),
        spellings=[
            None if report.error is not None else spelling_of(report, always(rules))
            for report in reports
        ],
        writings=[None if report.error is not None else writing(report) for report in reports],
    )


def render(
    content: ReportContent,
    target: str | Path,
    *,
    embed_audio: bool = False,
    warn: Callable[[str], None] | None = None,
) -> Iterable[str] | Iterable[bytes]:
    """The report in pieces, by the suffix of the file it is for.

    Args:
        content: What to show.
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

        return [html_report(content, target=target, embed_audio=embed_audio, warn=warn)]
    if suffix == ".md":
        from stt_ru.report.markdown import markdown_report

        return markdown_report(content)
    if suffix == ".csv":
        from stt_ru.report.markdown import csv_report

        return csv_report(content.reports)
    if suffix == ".xlsx":
        from stt_ru.report.xlsx import xlsx_report

        return xlsx_report(content)
    from stt_ru.report.json_write import json_report

    return json_report(
        content.reports,
        manifest=content.manifest,
        created_at=content.created_at,
        warnings=content.warnings,
        statistics=content.statistics,
        spellings=content.spellings,
        writings=content.writings,
    )
