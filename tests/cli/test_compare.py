from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stt_ru.cli import entry
from stt_ru.provenance import Signature
from stt_ru.report.json_write import json_report
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.counts import score_texts

Run = Callable[..., tuple[int, str, str]]

RULES = {"model": "m", "channel": "own", "norm": "ru-1", "split": "s", "empty": "e", "refs": "r"}


def model(texts: Sequence[str], label: str = "m", rules: Mapping[str, str] = RULES) -> ModelReport:
    reference = "раз два три четыре"
    results = [
        FileResult(
            audio=f"{number}.wav",
            reference=reference,
            hypothesis=text,
            score=score_texts(reference, text),
        )
        if text
        else FileResult(audio=f"{number}.wav", reference=reference, error="файл пуст")
        for number, text in enumerate(texts)
    ]
    return ModelReport(
        model=label, label=label, rows=len(texts), results=results, signature=Signature(rules)
    )


GOOD = model(["раз два три четыре"] * 20 + ["раз два три"] * 20)
WORSE = model(["раз два"] * 40)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``stt-ru compare`` in this process; its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(entry, "prepare_streams", lambda: None)

    def compare(
        a: Sequence[ModelReport], b: Sequence[ModelReport], *options: str
    ) -> tuple[int, str, str]:
        for name, models in (("a.json", a), ("b.json", b)):
            pieces = json_report(models, manifest="eval.csv", created_at=datetime.now(tz=UTC))
            Path(name).write_text("".join(pieces), encoding="utf-8")
        monkeypatch.setattr("sys.argv", ["stt-ru", "compare", "a.json", "b.json", *options])
        code = entry.run()
        out, err = capsys.readouterr()
        return code, out, err

    return compare


def test_a_worse_report_is_exit_3_only_when_asked(run: Run) -> None:
    code, out, err = run([GOOD], [WORSE])
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[1].split()[:3] == ["m", "(a.json)", "12.5"]
    assert lines[4].startswith("m (a.json) лучше m (b.json) на 37.5 п. п. WER (95 %: ")
    assert lines[4].endswith("разнице можно верить")
    code, _, err = run([GOOD], [WORSE], "--fail-if-worse")
    assert (code, err) == (3, "Ошибка: m (b.json) достоверно хуже, чем m (a.json)\n")
    assert run([WORSE], [GOOD], "--fail-if-worse")[0] == 0
    assert run([GOOD], [GOOD], "--fail-if-worse")[0] == 0


def test_rows_that_failed_are_exit_1_and_said(run: Run) -> None:
    code, _, err = run([GOOD], [model(["раз два три четыре"] * 39 + [""])], "--fail-if-worse")
    assert code == 1
    assert "не распознано строк: 1 из 40; сравнены общие строки (39)" in err


def test_reports_of_other_rules_are_refused_and_the_rules_named(run: Run) -> None:
    other = model(["раз"] * 40, rules={**RULES, "norm": "ru-2", "channel": "mono"})
    code, out, err = run([GOOD], [other])
    assert (code, out) == (2, "")
    assert "нормализация (norm: ru-1 и ru-2); правило каналов (channel: own и mono)" in err
    with_variants = model(["раз"] * 40, rules={**RULES, "variants": "1"})
    code, _, err = run([GOOD], [with_variants])
    assert code == 2
    assert "варианты в эталонах (variants: нет и 1)" in err
    corrected = model(["раз"] * 40, rules={**RULES, "refs": "other"})
    code, _, err = run([GOOD], [corrected])
    assert code == 2
    assert "эталоны (refs: r и other)" in err


def test_reports_of_other_rows_are_compared_on_the_common_ones(run: Run) -> None:
    fewer = model(["раз два"] * 39, rules={**RULES, "refs": "other"})
    code, out, _ = run([GOOD], [fewer])
    assert code == 0
    assert "на общих строках (39; нет в паре или с другим эталоном: 1), 12.2 % и 50.0 %" in out
    shuffled = replace(GOOD, results=GOOD.results[::-1])
    assert run([shuffled], [GOOD])[1].splitlines()[4].endswith("WER одинаков, 12.5 %")
    strangers = replace(GOOD, results=[replace(row, audio=f"x{row.audio}") for row in GOOD.results])
    code, _, err = run([GOOD], [strangers])
    assert code == 2
    assert "нет ни одной общей записи" in err


def test_one_of_several_models_is_named(run: Run) -> None:
    two = [GOOD, model(["раз"] * 40, "n")]
    code, _, err = run(two, [WORSE])
    assert code == 2
    assert "a.json: модели: m, n; назовите одну: --model-a ИМЯ" in err
    code, out, _ = run(two, [WORSE], "--model-a", "n")
    assert code == 0
    assert "m лучше n" in out
    assert "назовите одну" in run([], [WORSE])[2]


def test_a_model_that_did_not_load_cannot_be_compared(run: Run) -> None:
    broken = ModelReport(model="m", label="m", rows=40, error="нет весов")
    assert "не загружена: нет весов" in run([GOOD], [broken])[2]
    unsigned = ModelReport(model="m", label="m", rows=40, results=GOOD.results)
    assert "нет signature" in run([GOOD], [unsigned])[2]
