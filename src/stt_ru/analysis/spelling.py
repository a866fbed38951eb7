"""How much of WER is spelling: the plain rate and the rate under each rule of `scoring.relaxed`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stt_ru.analysis.loops import has_loop
from stt_ru.scoring.counts import ErrorCounts, total_score
from stt_ru.scoring.relaxed import Rules, count_each, find_matches
from stt_ru.text.marked_references import has_anything

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stt_ru.analysis.aligned_rows import AlignedReport, AlignedRow
    from stt_ru.results import FileResult, ModelReport
    from stt_ru.scoring.counts import Score
    from stt_ru.scoring.relaxed import Match


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """Errors of one report under the rules.

    Attributes:
        counts: Errors and words per requested rule; ``as_is`` holds the reported counts.
        without_speech: Number of recognised rows whose reference, or chosen branch, is empty.
        inserted: Number of words the model wrote on these rows.
        loops: Number of rows in which the hypothesis loops and the reference does not.
    """

    counts: dict[str, ErrorCounts]
    without_speech: int
    inserted: int
    loops: int


def spelling_of(report: AlignedReport, rules: Rules) -> Spelling:
    """Count the errors of a report under each rule alone and under all of them.

    Args:
        report: The model's results; failed rows are ignored.
        rules: The requested rules; rules without effect are left out.
    """
    rows = [(row, row.result.score) for row in report.rows if row.result.score is not None]
    alone = {
        "numbers": Rules(numbers=True) if rules.numbers else None,
        "compounds": Rules(compounds=True) if rules.compounds else None,
        "fillers": Rules(fillers=rules.fillers) if rules.fillers else None,
        "glossary": Rules(glossary=rules.glossary) if rules.glossary.lines else None,
    }
    asked = {name: rule for name, rule in alone.items() if rule is not None}
    if len(asked) > 1:
        asked["all"] = rules
    plain = total_score(score for _, score in rows).words
    counts = {
        "as_is": ErrorCounts(plain.errors, plain.length),
        **dict(zip(asked, _totals(rows, list(asked.values())), strict=True)),
    }
    silent = [score for row, score in rows if _is_without_speech(row.result)]
    return Spelling(
        counts=counts,
        without_speech=len(silent),
        inserted=sum(score.words.insertions for score in silent),
        loops=sum(
            has_loop(row.hypothesis.split()) and not has_loop(row.reference.split())
            for row, score in rows
            if score.words.insertions
        ),
    )


def _is_without_speech(row: FileResult) -> bool:
    if row.score is None or row.score.words.length:
        return False
    return row.chosen is None or not has_anything(row.chosen)


def _totals(rows: Iterable[tuple[AlignedRow, Score]], asked: Sequence[Rules]) -> list[ErrorCounts]:
    errors, words = [0] * len(asked), [0] * len(asked)
    leave_out_words = any(rules.fillers for rules in asked)
    for row, score in rows:
        plain = ErrorCounts(score.words.errors, score.words.length)
        counts = [plain] * len(asked)
        if plain.errors or leave_out_words:  # otherwise no rule has anything to forgive
            counts = count_each(
                row.result.reference,
                row.result.hypothesis or "",
                asked,
                plain,
                chosen=row.result.chosen,
                compared=(row.reference, row.hypothesis),
            )
        for number, count in enumerate(counts):
            errors[number] += count.errors
            words[number] += count.length
    return list(map(ErrorCounts, errors, words))


def decisions(report: ModelReport, rules: Rules) -> list[tuple[FileResult, Match]]:
    """Every difference that the rules accepted as equal, with its row, for review by a person."""
    return [
        (row, match)
        for row in report.results
        if row.score is not None and row.score.words.errors
        for match in find_matches(row.reference, row.hypothesis or "", rules, chosen=row.chosen)
    ]


def always(rules: Rules) -> Rules:
    """The given rules plus those that are always counted."""
    return replace(rules, numbers=True, compounds=True)
