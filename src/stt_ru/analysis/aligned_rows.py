"""The words of scored rows and their alignment, computed once per row, on first use.

Everything that reads the texts of a report gets these rows: confusions, spelling, punctuation,
loops, matched pairs and every output. None of them normalises or aligns again.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from stt_ru.scoring.alignment import align
from stt_ru.scoring.multi_reference import align_branch
from stt_ru.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stt_ru.results import FileResult, ModelReport
    from stt_ru.scoring.alignment import Pair


class AlignedRow:
    """One result with its texts in the form in which they were compared.

    Attributes:
        result: The row.
    """

    __slots__ = ("_compared", "_pairs", "result")

    def __init__(self, result: FileResult) -> None:
        self.result = result
        self._compared = result.compared
        self._pairs: list[Pair] | None = None

    def _texts(self) -> tuple[str, str]:
        if self._compared is None:
            row = self.result
            self._compared = normalize(row.compared_text), normalize(row.hypothesis or "")
        return self._compared

    @property
    def reference(self) -> str:
        """The normalised reference, or the branch that was compared, without «<*>»."""
        return self._texts()[0]

    @property
    def hypothesis(self) -> str:
        """The normalised hypothesis; empty if the row failed."""
        return self._texts()[1]

    @property
    def pairs(self) -> list[Pair]:
        """Pairs of reference and hypothesis words, in order; empty if the row failed.

        Words covered by a «<*>» of the reference are paired with it.
        """
        if self._pairs is None:
            self._pairs = self._align()
        return self._pairs

    def _align(self) -> list[Pair]:
        row = self.result
        if row.score is None:
            return []
        if row.chosen is not None:
            return align_branch(row.chosen, self.hypothesis)
        words = self.reference.split()
        if not row.score.words.errors:
            return list(zip(words, words, strict=True))
        return align(words, self.hypothesis.split())


class AlignedReport:
    """One model's report with its rows aligned.

    Args:
        report: The results of the model.
    """

    def __init__(self, report: ModelReport) -> None:
        self.report = report

    @cached_property
    def rows(self) -> list[AlignedRow]:
        """One aligned row per result, in the same order."""
        return [AlignedRow(result) for result in self.report.results]

    @property
    def scored(self) -> Iterator[AlignedRow]:
        """The recognised rows, in order."""
        return (row for row in self.rows if row.result.score is not None)
