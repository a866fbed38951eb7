from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from stt_ru.equivalence import Rules
from stt_ru.errors import MissingExtraError, ReportError
from stt_ru.lattice import score_branch
from stt_ru.normalize import normalize
from stt_ru.report.charts import _nice, interval_chart, scatter_chart
from stt_ru.report.content import SUFFIXES, ReportContent, make_content, render
from stt_ru.report.html_report import html_report
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring import score_texts
from tests.report.test_json_report import NOT_LOADED, NOW

EVIL = "</script><script>document.title='взлом'</script><img src=x onerror=alert(1)>"


def row(audio: str, reference: str, hypothesis: str, **more: Any) -> FileResult:
    score = score_texts(normalize(reference), normalize(hypothesis))
    return FileResult(audio=audio, reference=reference, hypothesis=hypothesis, score=score, **more)


def model(*rows: FileResult, label: str = "m") -> ModelReport:
    return ModelReport(
        model=label, label=label, rows=len(rows), results=rows, audio_s=9.0, wall_s=3.0
    )


def content(*reports: ModelReport, folder: Path | None = None) -> ReportContent:
    return make_content(
        reports, manifest="eval.csv", folder=folder, created_at=NOW, rules=Rules(numbers=True)
    )


def written(content: ReportContent, target: Path) -> str:
    return "".join(piece for piece in render(content, target) if isinstance(piece, str))


def data(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


TWO = [
    model(
        row("a.wav", "Мама мыла раму", "мама мыло раму", duration=2.0, extra={"кто": "А"}),
        row("b.wav", "да 5", "ну да пять", duration=7.0, extra={"кто": "Б"}),
    ),
    model(
        row("b.wav", "да 5", "да 5", duration=7.0),
        FileResult(audio="a.wav", reference="Мама мыла раму", error="файл пуст"),
        label="n",
    ),
]


def test_the_page_shows_every_model_beside_the_others(tmp_path: Path) -> None:
    page = html_report(content(*TWO, NOT_LOADED), target=tmp_path / "page.html")
    found = data(page)
    assert found["models"] == ["m", "n", "x"]
    first, second = found["rows"]
    assert first["models"][0]["pairs"] == [["мама", 0], ["мыла", "мыло"], ["раму", 0]]
    assert first["models"][1] == {"error": "файл пуст"}
    assert first["models"][2] == {"skipped": True}
    assert second["models"][0]["pairs"] == [[None, "ну"], ["да", 0], ["5", "пять"]]
    assert second["models"][1]["errors"] == 0
    assert "нет каталога" in page
    assert "мыла → мыло" in unescape(page)
    assert 'data-rows="0"' in page


def marked(audio: str, reference: str, chosen: str, hypothesis: str) -> FileResult:
    return FileResult(
        audio=audio,
        reference=reference,
        chosen=chosen,
        hypothesis=hypothesis,
        score=score_branch(chosen, normalize(hypothesis)),
    )


VARIANTS = [
    model(marked("a.wav", "{ну} да {15|пятнадцать} <*>", "да 15 <*>", "Да 16 и всё")),
    model(
        marked("a.wav", "{ну} да {15|пятнадцать} <*>", "ну да пятнадцать <*>", "ну да пятнадцать"),
        label="n",
    ),
]


def test_the_branch_that_each_model_said_is_shown(tmp_path: Path) -> None:
    (only,) = data(html_report(content(*VARIANTS), target=tmp_path / "page.html"))["rows"]
    assert only["ref"] == "{ну} да {15|пятнадцать} <*>"
    first, second = only["models"]
    assert (first["branch"], first["words"], first["errors"]) == ("да 15 <*>", 2, 1)
    assert first["pairs"] == [["да", 0], ["15", "16"], ["<*>", "и"], ["<*>", "все"]]
    assert (second["branch"], second["words"]) == ("ну да пятнадцать <*>", 3)
    (plain,) = data(html_report(content(model(row("a", "да", "да"))), target=tmp_path / "x.html"))[
        "rows"
    ]
    assert "branch" not in plain["models"][0]
    written = "".join(render(content(*VARIANTS), tmp_path / "x.md"))
    assert r"| да 15 \<\*\> | Да 16 и всё |" in written
    lines = "".join(render(content(*VARIANTS), tmp_path / "x.csv")).splitlines()
    assert lines[0].split(",")[-1] == "chosen"
    assert [line.split(",")[-1] for line in lines[1:]] == ["да 15 <*>", "ну да пятнадцать <*>"]
    assert "chosen" not in "".join(render(content(*TWO), tmp_path / "x.csv"))


def test_a_slice_filters_the_rows_it_is_about(tmp_path: Path) -> None:
    page = html_report(content(*TWO), target=tmp_path / "page.html")
    filters = re.findall(r'<option value="\d+">([^<]*: [^<]*)</option>', page)
    named = dict(zip(filters, data(page)["filters"], strict=True))
    assert named["кто: Б"] == [1]
    assert named["Длительность, с: 2–5"] == [0]


def test_no_text_can_become_markup_and_nothing_is_loaded(tmp_path: Path) -> None:
    evil = model(row(EVIL, EVIL, EVIL + " ещё", extra={EVIL: EVIL, "b": "1"}), label=EVIL)
    other = model(row(EVIL, EVIL, "да", extra={EVIL: "2", "b": "2"}), label="n")
    page = html_report(content(evil, other), target=tmp_path / "page.html")
    assert "<script>document" not in page
    assert "<img" not in page
    assert page.count("</script>") == 2
    assert data(page)["rows"][0]["ref"] == EVIL
    assert re.findall(r"https?://|src=[\"']", page) == []
    assert "default-src 'none'" in page


def test_recordings_are_linked_from_where_the_page_is(tmp_path: Path) -> None:
    (tmp_path / "audio").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "audio" / "за пись#1.wav").write_bytes(b"RIFF")
    report = model(row("за пись#1.wav", "да", "да"), row("нет.wav", "да", "да"))
    shown = content(report, folder=tmp_path / "audio")
    rows = data(html_report(shown, target=tmp_path / "out" / "page.html"))["rows"]
    assert rows[0]["src"] == ("../audio/%D0%B7%D0%B0%20%D0%BF%D0%B8%D1%81%D1%8C%231.wav")
    assert rows[1]["src"] is None
    with pytest.raises(ReportError, match=r"нет\.wav: такого файла"):
        html_report(shown, target=tmp_path / "page.html", embed_audio=True)
    (tmp_path / "audio" / "нет.wav").write_bytes(b"x")
    rows = data(html_report(shown, target=tmp_path / "p.html", embed_audio=True))["rows"]
    assert re.fullmatch(r"data:audio/[\w-]+;base64,UklGRg==", rows[0]["src"])


def test_without_jinja2_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"\.\[report\]"):
        html_report(content(*TWO), target=tmp_path / "page.html")


def test_markdown_and_csv(tmp_path: Path) -> None:
    text = written(content(*TWO), tmp_path / "r.md")
    assert "| m | 60.0 |" in text
    assert "| мыла → мыло | 1 |" in text
    assert "| кто | WER, % | 95 % | Строк | Слов |" in text
    assert written(content(model(row("a|b", "*", "_x_"))), tmp_path / "r.md").count("\\|")
    lines = written(content(*TWO), tmp_path / "r.csv").splitlines()
    assert lines[0].startswith("\ufeffmodel,audio,channel,reference")
    assert lines[1].startswith("m,a.wav,,Мама мыла раму,мама мыло раму,3,1,0,0,0.333")
    assert lines[4] == "n,a.wav,,Мама мыла раму,,,,,,,,,,файл пуст,"
    formula = written(content(model(row("a", "=1+1", "да"))), tmp_path / "r.csv")
    assert "'=1+1" in formula


def test_the_command_knows_every_suffix() -> None:
    from stt_ru.cli import outcome

    assert outcome.SUFFIXES == SUFFIXES


def test_charts_without_points_are_nothing() -> None:
    assert scatter_chart([], x_title="", title="") == ""
    assert "&lt;b&gt;" in scatter_chart([(1.0, 0.5, "<b>")], x_title="x", title="t")
    assert [_nice(value) for value in (0, 0.13, 0.2, 3, 41)] == [1.0, 0.2, 0.2, 4, 50]
    assert interval_chart.__doc__


def test_ten_thousand_rows_make_a_page_in_seconds(tmp_path: Path) -> None:
    rows = [row(f"{n}.wav", "раз два три четыре пять", "раз два тру пять") for n in range(10_000)]
    started = time.process_time()
    page = html_report(content(model(*rows)), target=tmp_path / "page.html")
    assert time.process_time() - started < 60  # about 3 s alone
    assert len(page) < 5_000_000


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
def test_a_browser_draws_the_rows_and_runs_nothing_of_the_texts(tmp_path: Path) -> None:
    evil = model(
        row("a.wav", "да нет", EVIL),
        row("b.wav", "раз два", "раз тва"),
        marked("c.wav", "{да|нет} <*>", "нет <*>", "нет и все"),
    )
    target = tmp_path / "page.html"
    target.write_text(html_report(content(evil), target=target), encoding="utf-8")
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--dump-dom",
            target.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.count('<article class="row"') == 3
    assert '<del class="">два</del>' in done.stdout or "<del>два</del>" in done.stdout
    assert "<title>stt-ru: eval.csv</title>" in done.stdout
    assert "3 из 3" in done.stdout
    assert done.stdout.count('<span class="w any" title="&lt;*&gt;: что угодно"') == 2
    assert '<div class="dim">сравнено с «нет &lt;*&gt;»</div>' in done.stdout
