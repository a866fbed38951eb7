"""The table of scores a person reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from stt_ru.report.table import NO_DENOMINATOR, aligned, percent
from stt_ru.simultaneous.core.record import FAILED
from stt_ru.simultaneous.scorers.scoring import skipped_sentences

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stt_ru.simultaneous.core.record import InstanceRecord
    from stt_ru.simultaneous.scorers.scoring import MetricScore, Scores

COLUMNS: Final = ("Показатель", "Значение", "Единица", "Оценено")
_UNITS: Final = {"words": "слов", "ms": "мс", "rate": "%", "": ""}
_WORDS: Final = (0, 2)
"""Columns that are no figures."""

MOST_FAILED: Final = 20  # instances that are named


def format_scores(scores: Scores) -> str:
    """One line per measure in the order asked for, without a line break at the end.

    «–» stands where nothing could be scored; the last column says how many instances were, of how
    many.
    """
    return aligned([COLUMNS, *(_cells(score) for score in scores.all)], left=_WORDS)


def format_figures(result: Mapping[str, Any]) -> str:
    """The same table of a server's answer to ``/result``."""
    lines = [COLUMNS]
    for name, value in {**result["Quality"], **result["Latency"]}.items():
        unit = result["units"][name]
        shown = "ошибка" if name in result["errors"] else _figure(value, unit)
        lines.append((name, shown, _UNITS[unit], f"{result['scored'][name]} из {result['total']}"))
    return aligned(lines, left=_WORDS)


def closing_sentences(scores: Scores, instances: Mapping[int, InstanceRecord]) -> list[str]:
    """What is to be known beside the table: errors, whom a measure leaves out, how it is made."""
    failed = {record.index: record.error for record in instances.values() if record.error}
    sentences = failed_sentences(failed)
    sentences += [f"Ошибка: показатель {score.error}" for score in scores.all if score.error]
    skipped: list[str] = []
    for score in scores.all:
        skipped += [
            f"Внимание: {sentence}"
            for sentence in skipped_sentences(score)
            if f"({FAILED})" not in sentence  # said above
        ]
        if score.signature:
            skipped.append(f"{score.name}: {score.signature}")
    return [*sentences, *dict.fromkeys(skipped)]


def failed_sentences(errors: Mapping[int, str]) -> list[str]:
    """A sentence for each instance that failed; of many, the first and how many more."""
    sentences = [
        f"Ошибка: пример {index}: {error}" for index, error in list(errors.items())[:MOST_FAILED]
    ]
    if len(errors) > MOST_FAILED:
        sentences.append(f"Ошибка: … и ещё примеров с ошибкой: {len(errors) - MOST_FAILED}")
    return sentences


def figure(score: MetricScore) -> str:
    """The value for people, or «–»."""
    return _figure(score.value, score.unit)


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return NO_DENOMINATOR
    return percent(value) if unit == "rate" else f"{value:.3f}"


def _cells(score: MetricScore) -> tuple[str, str, str, str]:
    return (
        score.name,
        "ошибка" if score.error is not None else figure(score),
        _UNITS[score.unit],
        f"{score.scored} из {score.total}",
    )
