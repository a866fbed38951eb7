"""How much of WER is spelling: the rate as it is and under each rule of `scoring.relaxed`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from stt_ru.report.sentences import has_loop
from stt_ru.report.table import NO_FIGURE, aligned, percent
from stt_ru.scoring.counts import ErrorCounts, total_score
from stt_ru.scoring.relaxed import Rules, count_each, find_matches
from stt_ru.text.marked_references import has_anything
from stt_ru.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stt_ru.results import FileResult, ModelReport
    from stt_ru.scoring.relaxed import Match

TITLES: Final = {
    "as_is": "как есть",
    "numbers": "числа",
    "compounds": "слитно",
    "fillers": "без «ну», «э»",
    "glossary": "словарь",
    "all": "всё вместе",
}
"""The rules in their order, and the columns that show them."""

LEAST_SHARE: Final = 0.05
"""Share of the errors from which spelling is worth a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """Errors of one report under the rules.

    Attributes:
        counts: For each rule that was asked for, its errors and words; ``as_is`` are the reported
            ones.
        without_speech: Rows with an empty reference, or branch of it, that were recognised.
        inserted: Words the model wrote on these rows.
        loops: Rows in which a phrase stands ten times, and does not in the reference.
    """

    counts: dict[str, ErrorCounts]
    without_speech: int
    inserted: int
    loops: int


def spelling_of(report: ModelReport, rules: Rules) -> Spelling:
    """Count the errors of a report under each rule alone and under all of them.

    Args:
        report: The results; rows that failed take no part.
        rules: Those without effect are left out.
    """
    rows = [row for row in report.results if row.score is not None]
    alone = {
        "numbers": Rules(numbers=True) if rules.numbers else None,
        "compounds": Rules(compounds=True) if rules.compounds else None,
        "fillers": Rules(fillers=rules.fillers) if rules.fillers else None,
        "glossary": Rules(glossary=rules.glossary) if rules.glossary.lines else None,
    }
    asked = {name: rule for name, rule in alone.items() if rule is not None}
    if len(asked) > 1:
        asked["all"] = rules
    plain = total_score(row.score for row in rows if row.score is not None).words
    counts = {
        "as_is": ErrorCounts(plain.errors, plain.length),
        **dict(zip(asked, _totals(rows, list(asked.values())), strict=True)),
    }
    silent = [row for row in rows if _is_without_speech(row)]
    return Spelling(
        counts=counts,
        without_speech=len(silent),
        inserted=sum(row.score.words.insertions for row in silent if row.score is not None),
        loops=sum(
            has_loop(normalize(row.hypothesis or "").split())
            and not has_loop(normalize(row.compared_text).split())
            for row in rows
            if row.score is not None and row.score.words.insertions
        ),
    )


def _is_without_speech(row: FileResult) -> bool:
    if row.score is None or row.score.words.length:
        return False
    return row.chosen is None or not has_anything(row.chosen)


def _totals(rows: Iterable[FileResult], asked: Sequence[Rules]) -> list[ErrorCounts]:
    errors, words = [0] * len(asked), [0] * len(asked)
    for row in rows:
        assert row.score is not None
        plain = ErrorCounts(row.score.words.errors, row.score.words.length)
        counts = count_each(row.reference, row.hypothesis or "", asked, plain, chosen=row.chosen)
        for number, count in enumerate(counts):
            errors[number] += count.errors
            words[number] += count.length
    return list(map(ErrorCounts, errors, words))


def decisions(report: ModelReport, rules: Rules) -> list[tuple[FileResult, Match]]:
    """Every difference that the rules took for none, with its row, to be read by a person."""
    return [
        (row, match)
        for row in report.results
        if row.score is not None and row.score.words.errors
        for match in find_matches(row.reference, row.hypothesis or "", rules, chosen=row.chosen)
    ]


def spelling_table(reports: Sequence[ModelReport], found: Sequence[Spelling | None]) -> str:
    """A line a model: WER as it is and under each rule, in percents."""
    names = list(next((one.counts for one in found if one is not None), {}))
    lines = [("WER по правилам, %", *(TITLES[name] for name in names))]
    for report, one in zip(reports, found, strict=True):
        cells = (NO_FIGURE,) * len(names)
        if one is not None:
            cells = tuple(percent(one.counts[name].rate) for name in names)
        lines.append((report.label, *cells))
    return aligned(lines)


def spelling_lines(report: ModelReport, found: Spelling, *, name_model: bool) -> list[str]:
    """Sentences in Russian about what in WER is no fault of the model's ear, when it matters."""
    prefix = f"{report.label}: " if name_model else ""
    plain = found.counts["as_is"]
    lines = []
    for name, what in (
        ("numbers", "запись чисел: если «15» и «пятнадцать» считать одним"),
        ("compounds", "слитное и раздельное написание: если «не льзя» и «нельзя» считать одним"),
    ):
        counts = found.counts.get(name)
        if counts is None or not plain.errors:
            continue
        share = (plain.errors - counts.errors) / plain.errors
        if share >= LEAST_SHARE:
            lines.append(
                f"{prefix}{percent(share)} % ошибок в словах – {what}, "
                f"WER {percent(counts.rate)} % вместо {percent(plain.rate)} %"
            )
    if found.inserted:
        lines.append(
            f"{prefix}на записях без речи ({found.without_speech}) написано слов: {found.inserted}"
        )
    return lines


def spelling_fields(found: Spelling) -> dict[str, Any]:
    """For the JSON report."""
    return {
        "rules": {
            name: {"errors": counts.errors, "words": counts.length, "wer": counts.rate}
            for name, counts in found.counts.items()
        },
        "rows_without_speech": found.without_speech,
        "words_without_speech": found.inserted,
        "rows_with_loops": found.loops,
    }


def always(rules: Rules) -> Rules:
    """The rules that are counted whether asked for or not, and those that were."""
    return replace(rules, numbers=True, compounds=True)
