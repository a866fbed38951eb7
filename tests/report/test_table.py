from __future__ import annotations

import pytest

from stt_ru.analysis.significance import Interval, Uncertainty, uncertainty
from stt_ru.errors import UsageError
from stt_ru.report.table import format_table
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.counts import score_texts


def report(label: str, *texts: tuple[str, str], audio_s: float = 49.8) -> ModelReport:
    results = [
        FileResult(audio="a.wav", reference=one, hypothesis=two, score=score_texts(one, two))
        for one, two in texts
    ]
    return ModelReport(
        model=label, label=label, rows=len(texts), results=results, audio_s=audio_s, wall_s=1.0
    )


def test_the_table_is_that_of_the_design() -> None:
    reports = [
        report("gigaam-v3-e2e-rnnt", ("да", "да"), ("нет", "нет")),
        report("gigaam-v3-rnnt", ("да", "да"), ("нет", "нет"), audio_s=52.4),
    ]
    assert format_table(reports) == (
        "Модель              WER, %  CER, %  Скорость  Записей  Ошибок\n"
        "gigaam-v3-e2e-rnnt     0.0     0.0     49.8x        2       0\n"
        "gigaam-v3-rnnt         0.0     0.0     52.4x        2       0"
    )


def test_arguments_that_do_not_fit_are_one_sentence() -> None:
    one = report("m", ("да", "да"))
    with pytest.raises(UsageError, match="нужен список отчётов, а не ModelReport"):
        format_table(one)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="нужен список отчётов, а не generator"):
        format_table(each for each in [one])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="интервалов 1, а отчётов 2: нужен один на каждый"):
        format_table([one, one], uncertainties=[None])


def test_an_interval_that_was_drawn_stands_at_the_end() -> None:
    six = [("да нет", "да"), ("нет да", "нет да")] * 3
    one = report("m", *six)  # one recording
    assert format_table([one], uncertainties=[uncertainty(one)]).splitlines()[1].endswith("     –")
    results = [
        FileResult(audio=str(n), reference=one, hypothesis=two, score=score_texts(one, two))
        for n, (one, two) in enumerate(six)
    ]
    several = ModelReport(model="m", label="m", rows=6, results=results)
    drawn = format_table([several], uncertainties=[uncertainty(several)])
    low, high = drawn.splitlines()[1].split()[-1].split("–")
    assert float(low) < 25.0 < float(high)
    given = Uncertainty(blocks=6, wer=Interval(0.123, 0.456), cer=None)
    head, line = format_table([several], uncertainties=[given]).splitlines()
    assert (head[-6:], line[-11:]) == ("  95 %", "  12.3–45.6")
    not_loaded = ModelReport(model="m", label="m", rows=7, error="нет каталога")
    assert format_table([not_loaded], uncertainties=[None]).endswith("   7     -")


def test_figures_that_do_not_exist_are_dashes_never_zeros() -> None:
    failed = FileResult(audio="a.wav", reference="да", error="файл пуст")
    reports = [
        report("м", ("", "шум"), audio_s=0.0),
        ModelReport(model="m", label="m", rows=7, error="нет каталога"),
        ModelReport(model="f", label="f", rows=1, results=[failed], wall_s=1.0),
    ]
    assert format_table(reports) == (
        "Модель            WER, %  CER, %  Скорость  Записей  Ошибок\n"
        "м                      –       –         –        1       0\n"
        "m (не загружена)       -       -         -        7       7\n"
        "f                      –       –         –        1       1"
    )


def test_more_errors_than_words_is_printed_as_it_is() -> None:
    assert "  700.0  " in format_table([report("m", ("да", " ".join(["да"] * 8)))])
