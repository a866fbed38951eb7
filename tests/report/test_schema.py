from __future__ import annotations

import json
from typing import Any

import pytest

from stt_ru.report.envelope import KINDS, SCHEMA_VERSION
from stt_ru.report.fields import FIELDS, json_schema
from stt_ru.report.findings import make_findings
from stt_ru.results import FileResult, ModelReport, Segment
from stt_ru.scoring.counts import score_texts
from stt_ru.scoring.relaxed import FILLERS, Rules
from tests.conftest import GOLDEN, ROOT
from tests.report.test_html_page import written
from tests.report.test_json_write import NOT_LOADED, NOW

SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8"))


READ = ("evaluate", "score")
"""Kinds that the schema describes: those whose rows are results of whole recordings."""


def full_report() -> Any:
    """A report in which every field has a value."""
    rows = [
        FileResult(
            audio=str(n),
            reference="да, {нет}",
            chosen="да, нет",
            hypothesis=text,
            score=score_texts("да нет", text),
            duration=1.0,
            seconds=0.1,
            segments=[Segment(0.0, 1.0, text, word_starts=[0.5] * len(text.split()))],
        )
        for n, text in enumerate(["да", "да, нет", "нет да", "да нет", "ну", "да"])
    ]
    models = [ModelReport(model=name, label=name, rows=6, results=rows) for name in ("a", "b")]
    content = make_findings(
        [*models, NOT_LOADED],
        manifest="eval.csv",
        folder=None,
        created_at=NOW,
        rules=Rules(fillers=FILLERS),
        warnings=["eval.csv:3: строка повторяется"],
    )
    return json.loads(written(content, GOLDEN / "x.json"))


def test_reports_follow_the_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(SCHEMA)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    golden = json.loads((GOLDEN / "report.json").read_text(encoding="utf-8"))
    for report in (golden, full_report()):
        assert [error.message for error in validator.iter_errors(report)] == []
    golden["models"][0]["results"][0]["words"] = -1
    assert list(validator.iter_errors(golden))


def test_the_schema_names_every_field_and_no_other() -> None:
    report = full_report()
    assert SCHEMA["properties"]["schema_version"] == {"const": SCHEMA_VERSION}
    assert SCHEMA["properties"]["kind"] == {"enum": [one for one in KINDS if one in READ]}
    assert set(SCHEMA["properties"]) == set(report)
    model = SCHEMA["properties"]["models"]["items"]
    assert set(model["properties"]) == set(report["models"][0])
    row = model["properties"]["results"]["items"]
    segment = row["properties"]["segments"]["items"]
    assert set(segment["properties"]) == set(report["models"][0]["results"][0]["segments"][0])
    assert set(row["properties"]) == set(report["models"][0]["results"][0])
    statistics = SCHEMA["properties"]["statistics"]["oneOf"][1]
    assert set(statistics["properties"]) == set(report["statistics"])
    pair = statistics["properties"]["comparisons"]["items"]
    assert set(pair["properties"]) == set(report["statistics"]["comparisons"][0])
    spelling = model["properties"]["spelling"]["oneOf"][1]
    assert set(spelling["properties"]) == set(report["models"][0]["spelling"])
    writing = model["properties"]["writing"]["oneOf"][1]
    assert set(writing["properties"]) == set(report["models"][0]["writing"])
    mark = writing["properties"]["marks"]["additionalProperties"]
    assert set(mark["properties"]) == set(report["models"][0]["writing"]["marks"][","])


def test_the_schema_of_a_row_is_drawn_from_the_list_of_its_fields() -> None:
    row = SCHEMA["properties"]["models"]["items"]["properties"]["results"]["items"]
    shown = {name: {**value} for name, value in row["properties"].items()}
    shown["segments"].pop("items")
    assert shown == {field.name: json_schema(field) for field in FIELDS}
    assert list(row["properties"]) == [field.name for field in FIELDS]
