from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.analysis.aligned_rows import AlignedReport, AlignedRow
from stt_ru.evaluation import ModelSource, evaluate_models, load_manifest
from stt_ru.report.findings import make_findings
from stt_ru.report.render import render
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.alignment import align
from stt_ru.scoring.counts import score_texts
from stt_ru.scoring.multi_reference import align_branch, score_branch
from stt_ru.text.normalize import normalize
from tests.conftest import FakeRecognizer
from tests.report.test_json_write import NOW

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORDS = st.lists(st.sampled_from(["а", "б", "в", "Г!", "д-е"]), max_size=6).map(" ".join)


def scored(reference: str, hypothesis: str) -> FileResult:
    score = score_texts(normalize(reference), normalize(hypothesis))
    return FileResult(audio="a", reference=reference, hypothesis=hypothesis, score=score)


@given(WORDS, WORDS)
def test_a_row_equals_its_texts_normalised_and_aligned(one: str, two: str) -> None:
    texts = normalize(one), normalize(two)
    row = AlignedRow(scored(one, two))
    assert (row.reference, row.hypothesis) == texts
    assert row.pairs == align(texts[0].split(), texts[1].split())
    kept = AlignedRow(replace(scored(one, two), compared=texts))
    assert (kept.reference, kept.hypothesis, kept.pairs) == (*texts, row.pairs)


def test_a_row_with_variants_is_aligned_with_the_chosen_branch() -> None:
    result = FileResult(
        audio="a",
        reference="{ну} да <*>",
        chosen="да <*>",
        hypothesis="Да, вот!",
        score=score_branch("да <*>", "да вот"),
    )
    row = AlignedRow(result)
    assert (row.reference, row.hypothesis) == ("да", "да вот")
    assert row.pairs == align_branch("да <*>", "да вот")


def test_a_failed_row_has_a_reference_and_no_pairs() -> None:
    row = AlignedRow(FileResult(audio="a", reference="Да!", error="нет"))
    assert (row.reference, row.hypothesis, row.pairs) == ("да", "", [])


def test_scored_rows_are_those_that_did_not_fail() -> None:
    good, failed = scored("да", "да"), FileResult(audio="b", reference="да", error="нет")
    aligned = AlignedReport(ModelReport(model="m", label="m", rows=2, results=[good, failed]))
    assert [row.result for row in aligned.rows] == [good, failed]
    assert [row.result for row in aligned.scored] == [good]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often texts are normalised and aligned, across all modules."""
    counted: Counter[str] = Counter()

    def counting(function: Callable[..., object], name: str) -> Callable[..., object]:
        def counter(*arguments: object) -> object:
            counted[name] += 1
            return function(*arguments)

        return counter

    ours = [module for name, module in sys.modules.items() if name.startswith("stt_ru")]
    functions: list[Callable[..., object]] = [normalize, align, align_branch]
    for function in functions:
        own_name = function.__name__
        counter = counting(function, "normalize" if function is normalize else "align")
        for module in ours:
            if vars(module).get(own_name) is function:
                monkeypatch.setattr(module, own_name, counter)
    return counted


ROWS = [
    ("Мама мыла раму.", "мама мыло раму"),
    ("Пять рублей, да?", "5 рублей да"),
    ("не льзя", "Нельзя!"),
    ("да", "да"),
    ("кто-то пришёл…", "ктото пришел, да"),
]
WITH_ERRORS = 4


@pytest.mark.parametrize("models", [1, 2, 3])
@pytest.mark.parametrize("suffix", [".html", ".json", ".xlsx", ".md", ".csv"])
def test_each_text_is_normalised_once_and_each_pair_aligned_once(
    tmp_path: Path, calls: Counter[str], models: int, suffix: str
) -> None:
    """From manifest to file: each reference once for all models, each hypothesis once."""
    lines = [f"{n}.wav;{reference}" for n, (reference, _) in enumerate(ROWS)]
    (tmp_path / "eval.csv").write_text("\n".join(["audio;text", *lines]), encoding="utf-8")
    for number in range(len(ROWS)):
        (tmp_path / f"{number}.wav").write_bytes(str(number).encode())
    hypotheses = {f"{number}.wav": text for number, (_, text) in enumerate(ROWS)}

    samples = load_manifest(tmp_path / "eval.csv")
    sources = [
        ModelSource(str(n), str(n), lambda: FakeRecognizer(hypotheses)) for n in range(models)
    ]
    reports = list(evaluate_models(sources, samples))
    findings = make_findings(reports, manifest="eval.csv", created_at=NOW)
    assert all(render(findings, tmp_path / f"report{suffix}"))

    assert all(report.failed == 0 for report in reports)
    assert calls["normalize"] == len(ROWS) * (1 + models) <= 2 * len(ROWS) * models
    assert 0 < calls["align"] <= WITH_ERRORS * models
