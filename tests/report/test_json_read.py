from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.errors import UsageError
from stt_ru.provenance import Signature
from stt_ru.report.envelope import KINDS, SCHEMA_VERSION
from stt_ru.report.json_read import parse_report, read_report
from stt_ru.report.json_write import json_report
from stt_ru.report.model_report import NotebookReport
from stt_ru.results import FileResult, ModelReport, Segment
from stt_ru.scoring.counts import score_texts
from tests.conftest import GOLDEN
from tests.report.test_json_write import NOT_LOADED, NOW, REPORT

TEXTS = st.text("абвг \n\"'|:%5\u2028", max_size=12)
SECONDS = st.none() | st.floats(0, 1e6)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    text = draw(TEXTS)
    words = len(text.split())
    times = st.floats(0, 1e6)
    starts: st.SearchStrategy[list[float]] = st.just([]) | st.lists(
        times, min_size=words, max_size=words
    )
    return Segment(draw(times), draw(times), text, draw(st.integers(0, 9)), draw(starts))


@st.composite
def results(draw: st.DrawFn) -> FileResult:
    reference, hypothesis = draw(TEXTS), draw(TEXTS)
    error = draw(st.none() | TEXTS)
    return FileResult(
        audio=draw(TEXTS),
        channel=draw(st.none() | st.integers(0, 9)),
        reference=reference,
        chosen=draw(st.none() | TEXTS),
        hypothesis=hypothesis if error is None else None,
        score=score_texts(reference, hypothesis) if error is None else None,
        duration=draw(SECONDS),
        seconds=draw(SECONDS),
        error=error,
        from_cache=draw(st.booleans()),
        segments=draw(st.lists(segments(), max_size=2)) if error is None else (),
        extra=draw(st.dictionaries(TEXTS, JSON_VALUES, max_size=2)),
    )


@st.composite
def reports(draw: st.DrawFn) -> NotebookReport:
    error = draw(st.none() | TEXTS)
    rows = draw(st.lists(results(), max_size=3)) if error is None else []
    names = st.text("abc-_", min_size=1, max_size=4)
    return NotebookReport(
        model=draw(TEXTS),
        label=draw(TEXTS),
        rows=len(rows) if error is None else draw(st.integers(0, 9)),
        results=rows,
        audio_s=draw(st.floats(0, 1e6)),
        wall_s=draw(st.just(0.0) | st.floats(1e-3, 1e6)),
        error=error,
        warnings=draw(st.lists(TEXTS, max_size=2)),
        signature=draw(
            st.none() | st.builds(Signature, st.dictionaries(names, TEXTS, min_size=1, max_size=3))
        ),
    )


def written(*models: ModelReport, warnings: Sequence[str] = ()) -> str:
    pieces = json_report(models, manifest="eval.csv", created_at=NOW, warnings=warnings)
    return "".join(pieces)


@given(st.lists(reports(), max_size=2), st.lists(TEXTS, max_size=2))
def test_what_was_written_is_read_back(models: list[ModelReport], warnings: list[str]) -> None:
    stored = parse_report(written(*models, warnings=warnings), name="report.json")
    assert stored.models == tuple(models)
    assert (stored.manifest, stored.created_at) == ("eval.csv", NOW)
    assert stored.warnings == warnings


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("evaluate", "score")])
def test_a_report_of_another_kind_is_refused_by_its_name(kind: str) -> None:
    document = json.loads(written(REPORT)) | {"kind": kind}
    with pytest.raises(UsageError, match=f"это отчёт stt-ru {kind}, а нужен отчёт stt-ru evaluate"):
        parse_report(json.dumps(document), name="r.json")
    if kind == "stream":  # the one kind that schema 1 named
        document["schema_version"] = 1
        with pytest.raises(UsageError, match="это отчёт stt-ru stream"):
            parse_report(json.dumps(document), name="r.json")


@pytest.mark.parametrize("kind", [None, "", 5, "eval", ["score"], {}])
def test_a_kind_that_there_is_none_of_is_refused(kind: object) -> None:
    document = json.loads(written(REPORT)) | {"kind": kind}
    with pytest.raises(UsageError, match=r"r.json: kind .*есть: evaluate, score, stream, simul"):
        parse_report(json.dumps(document), name="r.json")


def test_the_golden_report_of_every_schema_version_loads() -> None:
    for version in range(1, SCHEMA_VERSION + 1):
        name = "report.json" if version == SCHEMA_VERSION else f"report-{version}.json"
        stored = read_report(GOLDEN / name)
        assert stored.models == (REPORT, NOT_LOADED)


def test_a_stored_report_without_segments_loads() -> None:
    stored = read_report(GOLDEN / "report-1-without-segments.json")
    results = [replace(result, segments=()) for result in REPORT.results]
    assert stored.models == (replace(REPORT, results=results), NOT_LOADED)
    assert stored.warnings == []  # it was written before reports had them


def test_fields_that_the_design_does_not_name_may_be_missing() -> None:
    document = json.loads(written(REPORT))
    for model in document["models"]:
        for field in ("label", "audio_seconds", "wall_seconds", "warnings", "signature"):
            del model[field]
        for row in model["results"]:
            del row["extra"], row["segments"]
    del document["schema_version"], document["created_at"], document["manifest"]
    (model,) = parse_report(json.dumps(document), name="report.json").models
    assert (model.label, model.wer, model.speed) == ("m", REPORT.wer, None)


def broken(change: Callable[[Any], object]) -> str:
    document = json.loads(written(REPORT, NOT_LOADED))
    change(document)
    return json.dumps(document, ensure_ascii=False)


def row(document: Any) -> Any:
    return document["models"][0]["results"][0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", r"r\.json:1: отчёт повреждён", id="empty"),
        pytest.param(written(REPORT)[:-40], r"r\.json:\d+: отчёт повреждён", id="cut"),
        pytest.param("[" * 100_000, "вложенность", id="deep"),
        pytest.param('{"text": "да"}\n{"text": "нет"}\n', "а JSON Lines; .* score", id="lines"),
        pytest.param('\n{"text": "да"}\n{"te', "а JSON Lines; .* stt-ru score", id="cut lines"),
        pytest.param('{"models": []}\n{}', r"r\.json:2: отчёт повреждён", id="two reports"),
        pytest.param('{"text": "да"', r"r\.json:1: отчёт повреждён", id="half a line"),
        pytest.param("[]", "нет списка models", id="list"),
        pytest.param('{"a": 1}', "нет списка models", id="other"),
        pytest.param('{"models": 5}', "models: «5», а нужно список", id="models"),
        pytest.param('{"models": [5]}', r"модель 1: «5», а нужен объект", id="model"),
        pytest.param(
            broken(lambda d: d.update(schema_version=SCHEMA_VERSION + 1)), "более новой", id="newer"
        ),
        pytest.param(broken(lambda d: d.update(schema_version="x")), "schema_version", id="schema"),
        pytest.param(broken(lambda d: d.update(warnings=[1])), "список строк", id="warnings"),
        pytest.param(broken(lambda d: d.update(created_at="вчера")), "ISO 8601", id="time"),
        pytest.param(broken(lambda d: d["models"][0].pop("model")), "нет поля model", id="name"),
        pytest.param(
            broken(lambda d: d["models"][0].update(files=7)), "строк 7, а результатов 3", id="rows"
        ),
        pytest.param(broken(lambda d: d["models"][0].update(signature="x")), "signature", id="sig"),
        pytest.param(
            broken(lambda d: row(d).update(words=-1)),
            r"модель 1 \(m\), строка 1 \(папка/a\.wav\): words: «-1», а нужно целое число от 0",
            id="words",
        ),
        pytest.param(broken(lambda d: row(d).update(words=True)), "words: «true»", id="bool"),
        pytest.param(broken(lambda d: row(d).update(deletions=9)), "больше, чем слов", id="counts"),
        pytest.param(broken(lambda d: row(d).update(error="x")), "одно из двух", id="both"),
        pytest.param(broken(lambda d: row(d).update(hypothesis=None)), "одно из двух", id="none"),
        pytest.param(broken(lambda d: row(d).pop("chars")), "нет поля chars", id="chars"),
        pytest.param(
            broken(lambda d: row(d).update(chosen="{да")),
            r"строка 1 \(папка/a\.wav\): chosen: скобка открыта и не закрыта",
            id="marks",
        ),
        pytest.param(broken(lambda d: row(d).update(chosen="{да|нет}")), "не одна", id="branches"),
        pytest.param(
            broken(lambda d: row(d).update(reference="да}", chosen="да")),
            "reference: лишняя «}» после «да»",
            id="reference",
        ),
        pytest.param(broken(lambda d: row(d).update(extra=[])), "extra", id="extra"),
        pytest.param(broken(lambda d: row(d).update(from_cache=1)), "true или false", id="cache"),
        pytest.param(broken(lambda d: row(d).update(duration=-1)), "duration", id="duration"),
        pytest.param(
            broken(lambda d: row(d)["segments"].append({"start": "x"})),
            'отрезок 2: start: ««"x"»»|отрезок 2: start: «"x"», а нужно число от 0',
            id="segment",
        ),
        pytest.param(
            broken(lambda d: row(d)["segments"][0].update(word_starts=[0.5])),
            r"отрезок 1: Segment\.word_starts: времён 1, а слов 2",
            id="word-starts",
        ),
    ],
)
def test_a_broken_report_is_a_sentence(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_report(text, name="r.json")


def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="такого файла или каталога нет"):
        read_report(tmp_path / "нет.json")
    file = tmp_path / "bytes.json"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="не в UTF-8"):
        read_report(file)


def test_a_report_of_the_editor_that_adds_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text("\ufeff" + written(REPORT), encoding="utf-8")
    assert read_report(file).created_at == datetime(2026, 11, 30, 12, tzinfo=UTC)
