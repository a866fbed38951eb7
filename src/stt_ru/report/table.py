"""The table of models a person reads first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from stt_ru.errors import UsageError

if TYPE_CHECKING:
    from stt_ru.analysis.significance import Interval, Uncertainty
    from stt_ru.analysis.spelling import Spelling
    from stt_ru.results import ModelReport

COLUMNS: Final = ("Модель", "WER, %", "CER, %", "Скорость", "Записей", "Ошибок", "95 %")

SPELLING_TITLES: Final = {
    "as_is": "как есть",
    "numbers": "числа",
    "compounds": "слитно",
    "fillers": "без «ну», «э»",
    "glossary": "словарь",
    "all": "всё вместе",
}
"""The columns of the spelling rules."""

NOT_LOADED: Final = "не загружена"
NO_FIGURE: Final = "-"
"""The model did not load: nothing was measured."""

NO_DENOMINATOR: Final = "–"
"""Measured, but there is nothing to divide by."""


def format_table(
    reports: Sequence[ModelReport], *, uncertainties: Sequence[Uncertainty | None] | None = None
) -> str:
    """The table of the reports, one line per model in their order, no line break at the end.

    Rates are percents with one decimal, of the sums over all recognised rows; speed is seconds of
    audio a wall second; «95 %» is the interval of WER. «–» stands where there is no denominator or
    too few recordings for an interval, «-» where the model did not load.

    Args:
        reports: The models.
        uncertainties: Their intervals, one a report, of `significance.uncertainty`: the column
            «95 %»; None for a table without it, since they are drawn from thousands of resamples.

    Raises:
        UsageError: If it is one report and no list, or the intervals are more or fewer.
    """
    if not isinstance(reports, Sequence):
        raise UsageError(f"reports: нужен список отчётов, а не {type(reports).__name__}")
    if uncertainties is not None and len(uncertainties) != len(reports):
        raise UsageError(
            f"uncertainties: интервалов {len(uncertainties)}, а отчётов {len(reports)}: нужен один "
            "на каждый отчёт"
        )
    shown = len(COLUMNS) if uncertainties is not None else len(COLUMNS) - 1
    given = uncertainties if uncertainties is not None else [None] * len(reports)
    lines = [COLUMNS[:shown], *(cells(*pair)[:shown] for pair in zip(reports, given, strict=True))]
    return aligned(lines)


def aligned(lines: Sequence[Sequence[str]], *, left: Collection[int] = (0,)) -> str:
    """Cells under one another, without a line break at the end.

    Args:
        lines: Of as many cells each, the titles first.
        left: Columns, from 0, that begin at the same place: names; figures end at the same place.
    """
    columns = list(zip(*lines, strict=True))
    widths = [max(map(len, column)) for column in columns]
    pad = [str.ljust if number in left else str.rjust for number in range(len(columns))]
    return "\n".join(
        "  ".join(
            pad_cell(cell, width) for pad_cell, cell, width in zip(pad, line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def percent(rate: float | None) -> str:
    """A fraction as percents with one decimal, or «–» for none."""
    return NO_DENOMINATOR if rate is None else f"{100 * rate:.1f}"


def speed(times: float | None) -> str:
    """Seconds of audio a second, e.g. «49.8x», or «–» for none."""
    return NO_DENOMINATOR if times is None else f"{times:.1f}x"


def interval(bounds: Interval | None) -> str:
    """An interval of rates as percents, e.g. «12.3–15.6», or «–» for none."""
    return NO_DENOMINATOR if bounds is None else f"{percent(bounds.low)}–{percent(bounds.high)}"


def cells(report: ModelReport, exactness: Uncertainty | None) -> tuple[str, ...]:
    """What stands under each of `COLUMNS`."""
    counts = (str(report.files), str(report.failed))
    if report.error is not None:
        none = NO_FIGURE
        return (f"{report.label} ({NOT_LOADED})", none, none, none, *counts, none)
    return (
        report.label,
        percent(report.wer),
        percent(report.cer),
        speed(report.speed),
        *counts,
        interval(exactness.wer if exactness else None),
    )


def spelling_table(reports: Sequence[ModelReport], found: Sequence[Spelling | None]) -> str:
    """One line per model: WER as it is and under each rule, in percents."""
    return aligned(spelling_rows(reports, found))


def spelling_rows(
    reports: Sequence[ModelReport], found: Sequence[Spelling | None]
) -> list[tuple[str, ...]]:
    """The cells of `spelling_table`, its head first."""
    names = list(next((one.counts for one in found if one is not None), {}))
    rows = [("WER по правилам, %", *(SPELLING_TITLES[name] for name in names))]
    for report, one in zip(reports, found, strict=True):
        cells = (NO_FIGURE,) * len(names)
        if one is not None:
            cells = tuple(percent(one.counts[name].rate) for name in names)
        rows.append((report.label, *cells))
    return rows
