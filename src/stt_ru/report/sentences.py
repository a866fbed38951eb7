"""What a person must know beside the table: failures, repairs, and figures that mislead."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from stt_ru.report.table import percent
from stt_ru.scoring.counts import total_score
from stt_ru.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stt_ru.results import FileResult, ModelReport

MOST_LINES: Final = 20
"""Recordings named one by one; the rest are counted."""

LOOP_TIMES: Final = 10  # a phrase said so often in a row is a model's loop, not speech
LOOP_WORDS: Final = 10  # longest phrase looked for
RUNAWAY_TIMES: Final = 5  # a hypothesis so many times as long as its reference has run away
RUNAWAY_WORDS: Final = 20  # shorter hypotheses do little harm
_MOST_RUNAWAYS: Final = 5


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence in Russian after the table.

    Attributes:
        kind: ``error`` for what was asked for and not done, ``warning`` for what to keep in mind.
        text: Without a full stop at the end.
    """

    kind: Literal["error", "warning"]
    text: str


def notes(reports: Sequence[ModelReport]) -> list[Note]:
    """All notes on the reports, in the order of the models, those on several models last."""
    found: list[Note] = []
    for report in reports:
        found += _model_notes(report, name_model=len(reports) > 1)
    found += _different_sets(reports)
    return found


def _model_notes(report: ModelReport, *, name_model: bool) -> Iterator[Note]:
    prefix = f"{report.label}: " if name_model else ""
    if report.error is not None:
        yield Note("error", f"{report.label} не загружена: {report.error}")
        return
    yield from _failures(report, prefix)
    for text in _limited(Counter(report.warnings)):
        yield Note("warning", prefix + text)
    if mismatches := report.digits_mismatch:
        yield Note(
            "warning",
            f"{prefix}цифры стоят только в эталоне или только в тексте модели, строк: {mismatches} "
            f"из {report.files}; WER завышен, потому что числа записаны по-разному. Пишите числа в "
            "эталонах так, как их пишет модель (GigaAM-v3 E2E – цифрами, RNN-T и CTC – словами), "
            "или сравнивайте записи без чисел",
        )
    yield from _runaways(report, prefix)


def _failures(report: ModelReport, prefix: str) -> Iterator[Note]:
    sentences = Counter(
        f"{result.audio}{_channel(result)}: {result.error}"
        for result in report.results
        if result.error is not None
    )
    for text in _limited(sentences):
        yield Note("error", prefix + text)


def _limited(sentences: Counter[str]) -> Iterator[str]:
    """Each sentence once, with how often it came; beyond `MOST_LINES` only their number."""
    for number, (text, times) in enumerate(sentences.items()):
        if number == MOST_LINES:
            yield f"… и ещё {len(sentences) - MOST_LINES}"
            return
        yield f"{text} (×{times})" if times > 1 else text


def _channel(result: FileResult) -> str:
    return "" if result.channel is None else f", канал {result.channel}"


def _runaways(report: ModelReport, prefix: str) -> Iterator[Note]:
    scored = [(result, result.score) for result in report.results if result.score is not None]
    runaways = [(result, score) for result, score in scored if _has_run_away(result)]
    errors = report.score.words.errors
    if not runaways or not errors:
        return
    runaways.sort(key=lambda pair: -pair[1].words.errors)
    theirs = total_score(score for _, score in runaways).words.errors
    others = total_score(score for result, score in scored if not _has_run_away(result))
    names = ", ".join(
        f"{result.audio}{_channel(result)}" for result, _ in runaways[:_MOST_RUNAWAYS]
    )
    more = len(runaways) - _MOST_RUNAWAYS
    yield Note(
        "warning",
        f"{prefix}модель зациклилась или говорит лишнее: {names}"
        f"{f' и ещё {more}' if more > 0 else ''}; на них {percent(theirs / errors)} % всех "
        f"ошибок в словах, без них WER {percent(others.words.rate)} %",
    )


def _has_run_away(result: FileResult) -> bool:
    if result.score is None or result.hypothesis is None:
        return False
    counts = result.score.words
    length = counts.length - counts.deletions + counts.insertions
    if length >= RUNAWAY_WORDS and length >= RUNAWAY_TIMES * max(counts.length, 1):
        return True
    if counts.insertions < LOOP_TIMES - 1:  # a loop that the reference has too is speech
        return False
    return has_loop(normalize(result.hypothesis).split())


def has_loop(words: Sequence[str]) -> bool:
    """Whether a phrase of up to `LOOP_WORDS` words stands `LOOP_TIMES` times in a row.

    Example:
        >>> has_loop(("да да " * 5).split()), has_loop("ну да ну да".split())
        (True, False)
    """
    # What stands ten times in a row are at least nine words that stood before.
    if len(words) - len(set(words)) < LOOP_TIMES - 1:
        return False
    for period in range(1, LOOP_WORDS + 1):
        run = 0  # words in a row that equal the one a period before
        for position in range(period, len(words)):
            run = run + 1 if words[position] == words[position - period] else 0
            if run == period * (LOOP_TIMES - 1):
                return True
    return False


def _different_sets(reports: Sequence[ModelReport]) -> Iterator[Note]:
    scored = [report for report in reports if report.error is None]
    failed = [
        {row for row, result in enumerate(report.results) if result.error is not None}
        for report in scored
    ]
    if len(scored) < 2 or all(rows == failed[0] for rows in failed):
        return
    missing = set().union(*failed)
    rates = "; ".join(
        f"{report.label} {percent(_rate_without(report, missing))} %" for report in scored
    )
    yield Note(
        "warning",
        "модели не справились с разными записями, и WER в таблице посчитан на разных наборах; "
        f"WER на общих строках ({scored[0].files - len(missing)}): {rates}",
    )


def _rate_without(report: ModelReport, rows: set[int]) -> float | None:
    return total_score(
        result.score
        for row, result in enumerate(report.results)
        if row not in rows and result.score is not None
    ).words.rate
