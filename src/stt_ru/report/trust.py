"""Which differences between models can be believed, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stt_ru.analysis.significance import FEW_BLOCKS, LEAST_BLOCKS, RESAMPLES
from stt_ru.report.sentences import Note
from stt_ru.report.table import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stt_ru.analysis.significance import Comparison, Statistics
    from stt_ru.results import ModelReport

MOST_PAIRS: Final = 6
"""Pairs of four models; of more models only the best one is set against the others."""


def verdicts(statistics: Statistics, reports: Sequence[ModelReport]) -> list[str]:
    """A sentence in Russian a pair of models: which is better, and whether to believe it."""
    pairs = statistics.comparisons
    if len(pairs) > MOST_PAIRS:
        rated = [report for report in reports if report.error is None and report.wer is not None]
        best = min(rated, key=lambda report: report.wer or 0.0).label if rated else ""
        pairs = [pair for pair in pairs if best in (pair.label_a, pair.label_b)]
    return [verdict(pair) for pair in pairs]


def verdict(pair: Comparison) -> str:
    """What is to be believed of one pair."""
    a, b, difference = pair.label_a, pair.label_b, pair.difference
    if difference is None:
        return f"{a} и {b}: сравнить нельзя, в общих строках нет слов"
    if difference == 0:
        return f"{a} и {b}: WER одинаков, {percent(pair.wer_a)} %"
    better, worse = (a, b) if difference > 0 else (b, a)
    claim = f"{better} лучше {worse} на {percent(abs(difference))} п. п. WER"
    if pair.interval is None:
        return f"{claim}: верить рано, {_too_few(pair.blocks)}"
    low, high = pair.interval.low, pair.interval.high
    if difference < 0:
        low, high = -high, -low
    figures = f"95 %: {_signed(low)}…{_signed(high)}; наоборот {_share(pair.reversed_share)}"
    if pair.mapsswe_p is not None:
        figures += f"; MAPSSWE p {_p(pair.mapsswe_p)}"
    if not pair.is_significant:
        return f"{claim} ({figures}): верить нельзя, разница может быть случайной"
    if pair.has_few_blocks:
        return f"{claim} ({figures}): похоже на правду, но {_too_few(pair.blocks)}"
    return f"{claim} ({figures}): разнице можно верить"


def trust_notes(statistics: Statistics) -> list[Note]:
    """A warning when there are too few recordings to say how exact the rates are."""
    counts = [one.blocks for one in statistics.uncertainties if one is not None and one.blocks]
    if not counts or min(counts) >= FEW_BLOCKS:
        return []
    blocks = min(counts)
    what = "разных записей" if statistics.group_by is None else f"групп по «{statistics.group_by}»"
    if blocks < LEAST_BLOCKS:
        text = f"{what}: {blocks}, мало для интервала (нужно хотя бы {LEAST_BLOCKS}, лучше от "
    else:
        text = f"{what}: {blocks}, мало для надёжного интервала «95 %» (нужно хотя бы "
    return [Note("warning", f"{text}{FEW_BLOCKS}): на других записях WER может быть совсем иным")]


def _too_few(blocks: int) -> str:
    return f"независимых записей всего {blocks} (нужно хотя бы {FEW_BLOCKS})"


def _signed(rate: float) -> str:
    return percent(rate).replace("-", "−")


def _share(share: float | None) -> str:
    if not share:
        return f"менее чем в {100 / RESAMPLES:g} % выборок"
    digits = f"{100 * share:.2g}" if share < 0.01 else f"{100 * share:.0f}"
    return f"в {digits} % выборок"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
