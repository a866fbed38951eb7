from __future__ import annotations

import json

from stt_ru.analysis.aligned_rows import AlignedReport
from stt_ru.analysis.spelling import (
    always,
    decisions,
    spelling_of,
)
from stt_ru.report.json_write import json_report
from stt_ru.report.sentences import spelling_lines
from stt_ru.report.table import spelling_table
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.counts import ErrorCounts, score_texts
from stt_ru.scoring.multi_reference import score_branch
from stt_ru.scoring.relaxed import FILLERS, Glossary, Match, Rules
from stt_ru.text.normalize import normalize
from tests.report.test_json_write import NOT_LOADED, NOW


def report(*pairs: tuple[str, str], label: str = "m") -> ModelReport:
    rows = [
        FileResult(
            audio=f"{number}.wav",
            reference=one,
            hypothesis=two,
            score=score_texts(normalize(one), normalize(two)),
        )
        for number, (one, two) in enumerate(pairs)
    ]
    return ModelReport(model=label, label=label, rows=len(rows), results=rows)


SALE = report(("Скидка пятьдесят процентов", "Скидка 50 %."), ("ну нельзя так", "не льзя так"))
FAILED = FileResult(audio="x", reference="15", error="файл пуст")


def test_a_row_whose_reference_is_anything_is_not_without_speech() -> None:
    rows = [
        FileResult(
            audio="a.wav",
            reference=reference,
            chosen=chosen,
            hypothesis=text,
            score=score_branch(chosen, text),
        )
        for reference, chosen, text in (("<*>", "<*>", "шум " * 20), ("{да}", "", ""))
    ]
    model = ModelReport(model="m", label="m", rows=2, results=rows)
    found = spelling_of(AlignedReport(model), Rules(numbers=True))
    assert (found.without_speech, found.inserted, found.loops) == (1, 0, 0)
    assert found.counts["numbers"] == ErrorCounts(0, 0)


def test_wer_is_shown_plain_and_under_each_rule() -> None:
    rules = Rules(numbers=True, compounds=True, fillers=FILLERS)
    found = spelling_of(AlignedReport(SALE), rules)
    assert found.counts == {
        "as_is": ErrorCounts(4, 6),
        "numbers": ErrorCounts(2, 6),
        "compounds": ErrorCounts(3, 6),
        "fillers": ErrorCounts(4, 5),
        "all": ErrorCounts(0, 5),
    }
    assert found.counts["as_is"].errors == SALE.score.words.errors
    assert spelling_table([SALE, NOT_LOADED], [found, None]) == (
        "WER по правилам, %  как есть  числа  слитно  без «ну», «э»  всё вместе\n"
        "m                       66.7   33.3    50.0           80.0         0.0\n"
        "x                          -      -       -              -           -"
    )


def test_a_single_rule_has_no_column_for_all_rules() -> None:
    rules = Rules(glossary=Glossary({("скидка",): 1, ("акция",): 1}))
    assert list(spelling_of(AlignedReport(SALE), rules).counts) == ["as_is", "glossary"]


def test_failed_rows_are_ignored() -> None:
    with_failed = ModelReport(model="m", label="m", rows=1, results=[FAILED])
    assert spelling_of(AlignedReport(with_failed), Rules(numbers=True)).counts[
        "as_is"
    ] == ErrorCounts(0, 0)
    assert decisions(with_failed, Rules(numbers=True)) == []


def test_sentences_appear_only_if_spelling_matters() -> None:
    lines = spelling_lines(SALE, spelling_of(AlignedReport(SALE), always(Rules())), name_model=True)
    assert lines == [
        "m: 50.0 % ошибок в словах – написание чисел: если «15» и «пятнадцать» считать одним, "
        "WER 33.3 % вместо 66.7 %",
        "m: 25.0 % ошибок в словах – слитное и раздельное написание: если «не льзя» и «нельзя» "
        "считать одним, WER 50.0 % вместо 66.7 %",
    ]
    plain = report(("да нет", "да"))
    assert (
        spelling_lines(plain, spelling_of(AlignedReport(plain), always(Rules())), name_model=False)
        == []
    )


def test_words_on_recordings_without_speech_and_loops_are_counted() -> None:
    noisy = report(("", "спасибо за просмотр"), ("да", "да " * 30), ("нет", "нет"))
    found = spelling_of(AlignedReport(noisy), Rules())
    assert (found.without_speech, found.inserted, found.loops) == (1, 3, 1)
    (line,) = spelling_lines(noisy, found, name_model=False)
    assert line == "на записях без речи (1) написано слов: 3"


def test_every_decision_can_be_reviewed() -> None:
    ((row, match),) = decisions(SALE, Rules(numbers=True))
    assert row.audio == "0.wav"
    assert match == Match("numbers", "пятьдесят процентов", "50")


def test_the_json_report_has_the_rules() -> None:
    pieces = json_report(
        [SALE],
        manifest="m",
        created_at=NOW,
        spellings=[spelling_of(AlignedReport(SALE), Rules(numbers=True))],
    )
    (model,) = json.loads("".join(pieces))["models"]
    assert model["spelling"]["rules"]["numbers"] == {"errors": 2, "words": 6, "wer": 2 / 6}
