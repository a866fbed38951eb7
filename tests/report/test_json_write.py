from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from stt_ru.analysis.aligned_rows import AlignedReport
from stt_ru.analysis.significance import describe
from stt_ru.provenance import Signature
from stt_ru.report.json_write import json_report
from stt_ru.report.model_report import NotebookReport
from stt_ru.results import FileResult, ModelReport, Segment
from stt_ru.scoring.counts import score_texts

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

REPORT = NotebookReport(
    model="m",
    label="m (модель)",
    rows=3,
    results=[
        FileResult(
            audio="папка/a.wav",
            channel=1,
            reference="Мама мыла раму.",
            hypothesis="мама раму",
            score=score_texts("мама мыла раму", "мама раму"),
            duration=2.0,
            seconds=0.5,
            segments=[Segment(0.5, 1.25, "мама раму", 1, [0.54, 0.98])],
            extra={"call": "7", "tags": ["а", None]},
        ),
        FileResult(audio="b.wav", reference="да", error="файл пуст (0 байт)"),
        FileResult(
            audio="c.wav",
            reference="",
            hypothesis="шум",
            score=score_texts("", "шум"),
            duration=1.0,
        ),
    ],
    audio_s=3.0,
    wall_s=1.5,
    warnings=("предупреждение",),
    signature=Signature({"model": "m", "norm": "ru-1"}),
)
NOT_LOADED = NotebookReport(model="x", label="x", rows=3, error="нет каталога")


def as_json(*reports: ModelReport) -> Any:
    statistics = describe([AlignedReport(report) for report in reports])
    pieces = json_report(reports, manifest="eval.csv", created_at=NOW, statistics=statistics)
    return json.loads("".join(pieces))


def test_the_report_is_the_golden_one(golden: Callable[[str, str], None]) -> None:
    pieces = json_report([REPORT, NOT_LOADED], manifest="eval.csv", created_at=NOW)
    golden("report.json", "".join(pieces))


def test_rates_without_a_denominator_are_null() -> None:
    (model,) = as_json(REPORT)["models"]
    assert [row["wer"] for row in model["results"]] == [1 / 3, None, None]
    assert model["results"][2]["insertions"] == 1
    assert model["wer"] == 2 / 3
    assert model["results"][1]["words"] is None


def test_the_design_names_every_field() -> None:
    (model, broken) = as_json(REPORT, NOT_LOADED)["models"]
    wanted = "model error wer cer speed files failed digits_mismatch signature results"
    assert set(wanted.split()) <= set(model)
    wanted = (
        "audio channel reference hypothesis duration seconds words substitutions deletions "
        "insertions chars char_errors wer cer error from_cache segments extra"
    )
    assert all(set(wanted.split()) == set(row) for row in model["results"])
    assert (broken["files"], broken["failed"], broken["results"]) == (3, 3, [])


def test_no_models_is_valid_too() -> None:
    assert as_json()["models"] == []


def test_a_row_is_a_line() -> None:
    text = "".join(json_report([REPORT], manifest="eval.csv", created_at=NOW))
    rows = [line for line in text.splitlines() if line.startswith('{"audio"')]
    assert len(rows) == 3
