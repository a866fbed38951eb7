from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.analysis.aligned_rows import AlignedReport
from stt_ru.analysis.punctuation import MarkCounts, Writing, writing
from stt_ru.report.sentences import writing_lines
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.counts import score_texts
from stt_ru.scoring.multi_reference import score_branch
from stt_ru.text.normalize import normalize


def report(*pairs: tuple[str, str]) -> ModelReport:
    rows = [
        FileResult(
            audio="a",
            reference=one,
            hypothesis=two,
            score=score_texts(normalize(one), normalize(two)),
        )
        for one, two in pairs
    ]
    return ModelReport(model="m", label="m", rows=len(rows), results=rows)


def test_marks_counted_by_hand() -> None:
    found = writing(AlignedReport(report(("Да, нет, может. Кто?", "да нет, может, Кто? Ну."))))
    assert found.marks[","] == MarkCounts(right=1, extra=1, missing=1)
    assert found.marks["."] == MarkCounts(right=0, extra=1, missing=1)
    assert found.marks["?"] == MarkCounts(right=1)
    assert (found.marks[","].f1, found.marks["?"].f1) == (0.5, 1.0)
    assert (found.case_errors, found.case_words) == (1, 4)
    assert found.case_rate == 0.25


def test_marks_and_case_are_those_of_the_chosen_branch() -> None:
    row = FileResult(
        audio="a",
        reference="{Ну,} Да <*>, {тысяча|1000} рублей.",
        chosen="Да <*>, 1000 рублей.",
        hypothesis="да, и ещё, 1000 рублей.",
        score=score_branch("Да <*>, 1000 рублей.", "да и еще 1000 рублей"),
    )
    found = writing(AlignedReport(ModelReport(model="m", label="m", rows=1, results=[row])))
    assert found.marks[","] == MarkCounts(right=1)
    assert found.marks["."] == MarkCounts(right=1)
    row = replace(row, hypothesis="Да, и ещё 1000 Рублей.")
    found = writing(AlignedReport(ModelReport(model="m", label="m", rows=1, results=[row])))
    assert (found.case_errors, found.case_words) == (1, 2)


@pytest.mark.parametrize(
    ("one", "two", "mark", "counts"),
    [
        ("Мама, да.", "рама, да.", ",", MarkCounts(right=1)),  # the word does not matter
        ("Да, мама.", "мама.", ",", MarkCounts(missing=1)),
        ("Да 3,5 м, вот.", "Да 3,5 м вот.", ",", MarkCounts(missing=1)),
        ("Да…", "Да.", ".", MarkCounts(right=1)),
        ("Ну — «да», вот.", "Ну да, вот.", ",", MarkCounts(right=1)),
        ("«Это тест».Чтобы выйти, да.", "Это тест. Чтобы выйти, да.", ".", MarkCounts(right=2)),
        ("Фамилия А.Сёмкин.", "Фамилия А. Сёмкин.", ".", MarkCounts(right=2)),
        ("Да,нет.", "Да, нет.", ",", MarkCounts(right=1)),
        ("Да?Нет.", "Да? Нет.", "?", MarkCounts(right=1)),
        (
            "В 10.30 на mail.ru, т.е. дома.",
            "В 10.30 на mail.ru, т.е. дома.",
            ".",
            MarkCounts(right=2),
        ),
        ("Версия 3.5 на Mail.Ru.", "Версия 3.5 на Mail.Ru.", ".", MarkCounts(right=1)),
    ],
)
def test_marks(one: str, two: str, mark: str, counts: MarkCounts) -> None:
    assert writing(AlignedReport(report((one, two)))).marks[mark] == counts


def test_a_model_without_marks_and_capitals_is_not_judged() -> None:
    assert writing(AlignedReport(report(("Да, нет.", "да нет")))) == Writing()
    assert writing(AlignedReport(report(("да нет", "Да, нет.")))) == Writing()
    assert writing(AlignedReport(report())) == Writing()
    failed = FileResult(audio="a", reference="Да.", error="нет")
    assert (
        writing(AlignedReport(ModelReport(model="m", label="m", rows=1, results=[failed])))
        == Writing()
    )
    assert Writing().case_rate is None
    assert MarkCounts().f1 is None
    assert MarkCounts(extra=3).f1 is None  # the references have none: no fault of the model's
    assert MarkCounts(missing=3).f1 == 0.0


def test_yo_is_not_a_case_error_and_stress_marks_are_tolerated() -> None:
    assert writing(AlignedReport(report(("Ёж и Ёлка", "Еж и елка")))).case_errors == 1
    assert writing(AlignedReport(report(("За\u0301мок, Да.", "Замок, Да.")))).marks["."].right == 1


@given(st.text("аБ ,.?…5", max_size=15))
def test_a_text_compared_with_itself_has_no_errors(text: str) -> None:
    found = writing(AlignedReport(report((text, text))))
    assert found.case_errors == 0
    assert all(counts.extra == counts.missing == 0 for counts in found.marks.values())


def lines(*reports: ModelReport) -> list[str]:
    return writing_lines(reports, [writing(AlignedReport(report)) for report in reports])


def test_a_model_that_did_not_load_has_no_sentence() -> None:
    assert writing_lines([ModelReport(model="m", label="m", rows=1, error="нет")], [None]) == []


def test_the_sentence_appears_only_for_models_that_write_marks() -> None:
    assert lines(report(("Да, нет, может. Кто?", "да нет, может, Кто? Ну."))) == [
        "F1 знаков, %: запятые 50.0, точки 0.0, вопросы 100.0; не тот регистр: 25.0 % верных слов"
    ]
    assert lines(report(("Да.", "да"))) == []
    assert lines(report(("Да.", "Да.")), report(("Да.", "да"))) == [
        "m: F1 знаков, %: запятые –, точки 100.0, вопросы –; не тот регистр: 0.0 % верных слов"
    ]
