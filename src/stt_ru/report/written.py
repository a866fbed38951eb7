"""Punctuation and case, of models that write them: a sentence, and fields of the JSON report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stt_ru.analysis.punctuation import MARKS, Writing
from stt_ru.report.table import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stt_ru.results import ModelReport


def writing_lines(reports: Sequence[ModelReport], writings: Sequence[Writing | None]) -> list[str]:
    """A sentence in Russian a model that writes marks or capitals, as its references do.

    Args:
        reports: The models.
        writings: What was found in each; None where the model did not load.
    """
    lines = []
    for report, found in zip(reports, writings, strict=True):
        parts = []
        if found and found.marks:
            rates = ", ".join(
                f"{MARKS[mark]} {percent(counts.f1)}" for mark, counts in found.marks.items()
            )
            parts.append(f"F1 знаков, %: {rates}")
        if found and found.case_words:
            parts.append(f"не тот регистр: {percent(found.case_rate)} % верных слов")
        if parts:
            prefix = f"{report.label}: " if len(reports) > 1 else ""
            lines.append(prefix + "; ".join(parts))
    return lines


def writing_fields(found: Writing) -> dict[str, Any]:
    """For the JSON report."""
    return {
        "marks": {
            mark: {
                "right": counts.right,
                "extra": counts.extra,
                "missing": counts.missing,
                "f1": counts.f1,
            }
            for mark, counts in found.marks.items()
        },
        "case_errors": found.case_errors,
        "case_words": found.case_words,
        "case_error_rate": found.case_rate,
    }
