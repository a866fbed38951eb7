from __future__ import annotations

import dataclasses

import pytest

from stt_ru.analysis.aligned_rows import AlignedReport
from stt_ru.analysis.significance import Comparison, Interval, Statistics, Uncertainty, describe
from stt_ru.report.sentences import MOST_PAIRS, trust_notes, verdict, verdicts
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.counts import EditCounts, Score

BETTER = Comparison(
    label_a="старая",
    label_b="новая",
    rows=200,
    blocks=200,
    wer_a=0.2,
    wer_b=0.17,
    interval=Interval(-0.05, -0.01),
    reversed_share=0.0012,
    mapsswe_p=0.0004,
    mapsswe_segments=90,
)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param(
            {},
            "новая лучше старая на 3.0 п. п. WER (95 %: 1.0…5.0; наоборот в 0.12 % выборок; "
            "MAPSSWE p < 0.001): разнице можно верить",
            id="better",
        ),
        pytest.param(
            {"wer_b": 0.23, "interval": Interval(0.01, 0.05), "reversed_share": 0.0},
            "старая лучше новая на 3.0 п. п. WER (95 %: 1.0…5.0; наоборот менее чем в 0.01 % "
            "выборок; MAPSSWE p < 0.001): разнице можно верить",
            id="worse",
        ),
        pytest.param(
            {"interval": Interval(-0.05, 0.02), "reversed_share": 0.13, "mapsswe_p": 0.21},
            "новая лучше старая на 3.0 п. п. WER (95 %: −2.0…5.0; наоборот в 13 % выборок; "
            "MAPSSWE p = 0.210): различие статистически незначимо",
            id="not significant",
        ),
        pytest.param(
            {"blocks": 12, "mapsswe_p": None},
            "новая лучше старая на 3.0 п. п. WER (95 %: 1.0…5.0; наоборот в 0.12 % выборок): "
            "похоже на правду, но независимых записей всего 12 (нужно хотя бы 30)",
            id="few",
        ),
        pytest.param(
            {"blocks": 3, "interval": None},
            "новая лучше старая на 3.0 п. п. WER: верить рано, независимых записей всего 3 "
            "(нужно хотя бы 30)",
            id="no interval",
        ),
        pytest.param({"wer_b": 0.2}, "старая и новая: WER одинаков, 20.0 %", id="same"),
        pytest.param(
            {"wer_a": None, "wer_b": None},
            "старая и новая: сравнить нельзя, в общих строках нет слов",
            id="no words",
        ),
    ],
)
def test_what_can_be_believed_is_said_plainly(change: dict[str, object], sentence: str) -> None:
    assert verdict(dataclasses.replace(BETTER, **change)) == sentence  # type: ignore[arg-type]  # a table


def report(label: str, errors: int) -> ModelReport:
    score = Score(EditCounts(errors, 0, 0, 10))
    results = [FileResult(audio="a", reference="", hypothesis="", score=score)]
    return ModelReport(model=label, label=label, rows=1, results=results)


def test_of_many_models_the_best_is_set_against_the_others() -> None:
    four = [report(str(errors), errors) for errors in (3, 1, 2, 4)]
    assert len(verdicts(describe([AlignedReport(one) for one in four]), four)) == MOST_PAIRS
    five = [*four, report("5", 5)]
    lines = verdicts(describe([AlignedReport(one) for one in five]), five)
    assert len(lines) == 4
    assert all(line.startswith("1 лучше") for line in lines)


@pytest.mark.parametrize(
    ("blocks", "group_by", "text"),
    [
        (4, None, "разных записей: 4, мало для интервала (нужно хотя бы 5, лучше от 30)"),
        (29, "call", "групп по «call»: 29, мало для надёжного интервала «95 %»"),
        (30, None, None),
        (0, None, None),
    ],
)
def test_too_few_recordings_are_a_warning(
    blocks: int, group_by: str | None, text: str | None
) -> None:
    one = Uncertainty(blocks=blocks, wer=None, cer=None)
    statistics = Statistics(group_by=group_by, uncertainties=[one, None], comparisons=())
    found = [note.text for note in trust_notes(statistics)]
    assert [line.startswith(text or "") for line in found] == [True] * (text is not None)


def in_rows(label: str, *rows: tuple[int, int]) -> ModelReport:
    """A report whose rows have so many errors in so many words."""
    results = [
        FileResult(
            audio=str(n),
            reference=f"слово {n}",
            hypothesis="",
            score=Score(EditCounts(deletions=errors, length=words)),
        )
        for n, (errors, words) in enumerate(rows)
    ]
    return ModelReport(model=label, label=label, rows=len(results), results=results)


def test_the_verdict_says_when_the_mean_of_the_rows_orders_the_models_the_other_way() -> None:
    long_is_bad = in_rows("длинные хуже", (50, 100), (0, 2))
    short_is_bad = in_rows("короткие хуже", (40, 100), (2, 2))
    models = [long_is_bad, short_is_bad]
    lines = verdicts(describe([AlignedReport(one) for one in models]), models)
    assert lines[0].startswith("короткие хуже лучше длинные хуже на 7.8 п. п. WER")
    assert lines[1:] == [
        "длинные хуже и короткие хуже: по среднему WER строк порядок обратный, 25.0 % против "
        "70.0 %; короткие строки весят в нём столько же, сколько длинные"
    ]


@pytest.mark.parametrize("other", [((60, 100), (1, 2)), ((50, 100), (0, 2))])
def test_nothing_is_said_when_both_rates_agree_or_nothing_differs(
    other: tuple[tuple[int, int], ...],
) -> None:
    models = [in_rows("a", (50, 100), (0, 2)), in_rows("b", *other)]
    assert len(verdicts(describe([AlignedReport(one) for one in models]), models)) == 1
