"""All that is found in the results before any of it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from stt_ru.analysis.aligned_rows import AlignedReport
from stt_ru.analysis.punctuation import writing
from stt_ru.analysis.significance import describe
from stt_ru.analysis.spelling import always, spelling_of
from stt_ru.report.sentences import Note, conclusions, notes, trust_notes
from stt_ru.scoring.relaxed import Rules

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from stt_ru.analysis.punctuation import Writing
    from stt_ru.analysis.significance import Statistics
    from stt_ru.analysis.spelling import Spelling
    from stt_ru.results import ModelReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Results and what was found in them.

    Attributes:
        aligned: One report per model with its rows aligned, in the order of the table.
        manifest: Its path as the user gave it.
        folder: The folder that recordings are named from; None when there are none.
        created_at: With a time zone.
        kind: The command whose results they are.
        warnings: What the manifest and the request were warned of before the first model, one
            Russian sentence each.
        group_by: The column whose values are independent; None for recordings.
        is_read_back: Whether the results come from a file, which may be anybody's.
        statistics: Intervals and comparisons.
        spellings: Rates under the spelling rules; None where a model did not load.
        writings: Punctuation and case; None where a model did not load.
        conclusions: What the figures say, one Russian sentence each.
        notes: What a reader must know beside the table.
    """

    aligned: Sequence[AlignedReport]
    manifest: str
    folder: Path | None
    created_at: datetime
    kind: Literal["evaluate", "score"]
    warnings: Sequence[str]
    group_by: str | None
    is_read_back: bool
    statistics: Statistics
    spellings: Sequence[Spelling | None]
    writings: Sequence[Writing | None]
    conclusions: Sequence[str]
    notes: Sequence[Note]

    @property
    def reports(self) -> list[ModelReport]:
        """The results of each model, in the order of the table."""
        return [one.report for one in self.aligned]

    @property
    def cautions(self) -> list[str]:
        """What a reader must know beside the table: the warnings, then what the results say."""
        return [*self.warnings, *(note.text for note in self.notes)]


def make_findings(
    reports: Sequence[ModelReport],
    *,
    manifest: str,
    created_at: datetime,
    kind: Literal["evaluate", "score"] = "evaluate",
    folder: Path | None = None,
    rules: Rules = Rules(),  # noqa: B008 - frozen
    warnings: Sequence[str] = (),
    group_by: str | None = None,
    is_read_back: bool = False,
) -> Findings:
    """Find in the results all that is shown of them.

    Args:
        reports: The models.
        manifest: As in `Findings`.
        created_at: As in `Findings`.
        kind: As in `Findings`.
        folder: As in `Findings`.
        rules: Spelling rules asked for; numbers and compounds are always counted.
        warnings: As in `Findings`.
        group_by: As in `Findings`.
        is_read_back: As in `Findings`.
    """
    aligned = [AlignedReport(report) for report in reports]
    statistics = describe(aligned, group_by=group_by)
    counted = always(rules)
    spellings = [None if one.report.error else spelling_of(one, counted) for one in aligned]
    writings = [None if one.report.error else writing(one) for one in aligned]
    return Findings(
        aligned=aligned,
        manifest=manifest,
        folder=folder,
        created_at=created_at,
        kind=kind,
        warnings=tuple(warnings),
        group_by=group_by,
        is_read_back=is_read_back,
        statistics=statistics,
        spellings=spellings,
        writings=writings,
        conclusions=conclusions(reports, statistics, spellings, writings),
        notes=[*notes(aligned), *trust_notes(statistics)],
    )
