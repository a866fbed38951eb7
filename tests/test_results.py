from __future__ import annotations

import pytest

from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.counts import score_texts
from stt_ru.scoring.multi_reference import score_branch


def row(reference: str, hypothesis: str) -> FileResult:
    return FileResult(
        audio="a.wav",
        reference=reference,
        hypothesis=hypothesis,
        score=score_texts(reference, hypothesis),
    )


def failed(reference: str = "да") -> FileResult:
    return FileResult(audio="a.wav", reference=reference, error="файл пуст")


def test_a_result_is_either_an_error_or_a_scored_hypothesis() -> None:
    with pytest.raises(ValueError, match=r"a\.wav"):
        FileResult(audio="a.wav", reference="да")
    with pytest.raises(ValueError, match=r"a\.wav"):
        FileResult(audio="a.wav", reference="да", hypothesis="да")
    with pytest.raises(ValueError, match=r"a\.wav"):
        FileResult(
            audio="a.wav",
            reference="да",
            hypothesis="да",
            score=score_texts("да", "да"),
            error="и ошибка",
        )


def test_a_report_sums_only_what_was_recognised() -> None:
    report = ModelReport(
        model="m", label="m", rows=3, results=[row("а б", "а"), failed("а б в г"), row("а", "а")]
    )
    assert (report.wer, report.failed, report.files) == (1 / 3, 1, 3)
    assert report.cer == 2 / 4


def test_a_report_that_is_printed_is_no_pages_of_texts() -> None:
    rows = [row("очень длинный текст " * 100, "да")] * 100
    report = ModelReport(model="m", label="m", rows=100, results=rows)
    assert "rows=100" in repr(report)
    assert len(repr(report)) < 300
    assert report != ModelReport(model="m", label="m", rows=100)  # only shown without them


def test_a_model_that_did_not_load_failed_on_every_row() -> None:
    report = ModelReport(model="m", label="m", rows=5, error="нет каталога")
    assert (report.failed, report.files, report.wer, report.cer, report.speed) == (
        5,
        5,
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("в пятнадцать", "в 15", True),
        ("в 15", "в пятнадцать", True),
        ("в 15", "в 16", False),
        ("да", "нет", False),
    ],
)
def test_digits_on_one_side_only(reference: str, hypothesis: str, expected: bool) -> None:
    assert row(reference, hypothesis).digits_mismatch is expected
    report = ModelReport(model="m", label="m", rows=2, results=[row(reference, hypothesis)] * 2)
    assert report.digits_mismatch == 2 * expected


@pytest.mark.parametrize(
    ("chosen", "hypothesis", "expected"),
    [
        ("тысяча рублей", "тысяча рублей", False),  # «1000» is the other variant
        ("тысяча рублей", "1001 рублей", True),
        ("да <*>", "да 15", False),
        ("да <*>", "нет 15", False),  # with an error beside it too
    ],
)
def test_digits_are_looked_for_in_the_branch_that_was_said(
    chosen: str, hypothesis: str, expected: bool
) -> None:
    result = FileResult(
        audio="a.wav",
        reference="{тысяча|1000} рублей",
        chosen=chosen,
        hypothesis=hypothesis,
        score=score_branch(chosen, hypothesis),
    )
    assert result.compared_text == chosen
    assert result.digits_mismatch is expected


def test_a_failed_row_has_no_digits_mismatch() -> None:
    assert failed("в 15").digits_mismatch is False
