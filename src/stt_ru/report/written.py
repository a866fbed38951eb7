"""Punctuation and case in one sentence, for models that write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stt_ru.report.table import percent
from stt_ru.writing import MARKS, writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stt_ru.results import ModelReport


def writing_lines(reports: Sequence[ModelReport]) -> list[str]:
    """A sentence in Russian a model that writes marks or capitals, as its references do."""
    lines = []
    for report in reports:
        found = writing(report)
        parts = []
        if found.marks:
            rates = ", ".join(
                f"{MARKS[mark]} {percent(counts.f1)}" for mark, counts in found.marks.items()
            )
            parts.append(f"F1 знаков, %: {rates}")
        if found.case_words:
            parts.append(f"не тот регистр: {percent(found.case_rate)} % верных слов")
        if parts:
            prefix = f"{report.label}: " if len(reports) > 1 else ""
            lines.append(prefix + "; ".join(parts))
    return lines
