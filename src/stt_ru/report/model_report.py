"""What an evaluation returns: the results of one model, and what a notebook asks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from stt_ru.analysis.aligned_rows import AlignedReport
from stt_ru.analysis.error_analysis import find_confusions, worst
from stt_ru.report.notebook import to_html, to_pandas
from stt_ru.results import ModelReport

if TYPE_CHECKING:
    from pandas import DataFrame

    from stt_ru.analysis.error_analysis import Confusion
    from stt_ru.results import FileResult


class NotebookReport(ModelReport):
    """A `ModelReport` that shows itself in a notebook and answers questions there."""

    __slots__ = ()

    def worst(self, n: int = 10, *, by: Literal["errors", "rate"] = "errors") -> list[FileResult]:
        """The n recognised rows with the most word errors, or the highest rate."""
        return worst(self, n, by=by)

    def confusions(self, n: int = 10) -> list[Confusion]:
        """The n most frequent substitutions, deletions and insertions together."""
        return find_confusions(AlignedReport(self)).most_frequent(n)

    def to_pandas(self) -> DataFrame:
        """A table with one line per result; the manifest's other columns at the end.

        Raises:
            MissingExtraError: If pandas is not installed.
        """
        return to_pandas(self)

    def _repr_html_(self) -> str:
        """The line of the table and the worst rows, as a notebook shows them."""
        return to_html(self)
