from __future__ import annotations

import base64
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unicodedata
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

import openpyxl
import pytest

from stt_ru.audio import AudioReader, open_audio
from stt_ru.errors import MissingExtraError
from stt_ru.extras import install_command
from stt_ru.files.writing import write_report
from stt_ru.report.findings import Findings, make_findings
from stt_ru.report.html.charts import _nice, interval_chart, scatter_chart
from stt_ru.report.html.page import html_report as html_pieces
from stt_ru.report.render import render
from stt_ru.results import FileResult, ModelReport, Segment
from stt_ru.scoring.counts import score_texts
from stt_ru.scoring.multi_reference import score_branch
from stt_ru.scoring.relaxed import Rules
from stt_ru.text.normalize import normalize
from tests.conftest import tone, write_wav
from tests.report.test_json_write import NOT_LOADED, NOW

EVIL = "</script><script>document.title='взлом'</script><img src=x onerror=alert(1)>"


def row(audio: str, reference: str, hypothesis: str, **more: Any) -> FileResult:
    score = score_texts(normalize(reference), normalize(hypothesis))
    return FileResult(audio=audio, reference=reference, hypothesis=hypothesis, score=score, **more)


def model(*rows: FileResult, label: str = "m") -> ModelReport:
    return ModelReport(
        model=label, label=label, rows=len(rows), results=rows, audio_s=9.0, wall_s=3.0
    )


def html_report(*arguments: Any, **more: Any) -> str:
    return "".join(html_pieces(*arguments, **more))


def content(*reports: ModelReport, folder: Path | None = None) -> Findings:
    return make_findings(
        reports, manifest="eval.csv", folder=folder, created_at=NOW, rules=Rules(numbers=True)
    )


def written(content: Findings, target: Path) -> str:
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
    text = written(content(*VARIANTS), tmp_path / "x.md")
    assert r"| да 15 \<\*\> | Да 16 и всё |" in text
    lines = written(content(*VARIANTS), tmp_path / "x.csv").splitlines()
    assert lines[0].split(",")[-1] == "chosen"
    assert [line.split(",")[-1] for line in lines[1:]] == ["да 15 <*>", "ну да пятнадцать <*>"]
    assert "chosen" not in written(content(*TWO), tmp_path / "x.csv")


TIMED = [
    model(
        row(
            "a.wav",
            "кто-то был там",
            "кто-то – там",
            segments=[Segment(0.0, 4.0, "кто-то – там", word_starts=[0.5, 1.0, 2.5])],
        )
    ),
    model(
        row(
            "a.wav",
            "кто-то был там",
            "кто-то был там",
            segments=[Segment(0.0, 1.0, "кто-то"), Segment(2.0, 4.0, "был там")],
        ),
        label="n",
    ),
    model(
        row(
            "a.wav",
            "кто-то был там",
            "кто-то был там",
            segments=[Segment(0.0, 4.0, "кто-то был там")],
        ),
        label="k",
    ),
]


def test_times_are_those_of_words_or_of_segments_that_cut_the_recording(tmp_path: Path) -> None:
    (only,) = data(html_report(content(*TIMED), target=tmp_path / "page.html"))["rows"]
    words, segments, whole = only["models"]
    assert (words["times"], words["exact"]) == ([0.5, 0.5, 2.5], True)
    assert (segments["times"], segments["exact"]) == ([0.0, 0.0, 2.0, 2.0], False)
    assert "times" not in whole


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
    write_wav(tmp_path / "audio" / "за пись#1.wav", tone(0.1))
    report = model(row("за пись#1.wav", "да", "да"), row("нет.wav", "да", "да"))
    shown = content(report, folder=tmp_path / "audio")
    said: list[str] = []
    page = html_report(shown, target=tmp_path / "out" / "page.html", warn=said.append)
    rows = data(page)["rows"]
    assert rows[0]["src"] == ("../audio/%D0%B7%D0%B0%20%D0%BF%D0%B8%D1%81%D1%8C%231.wav")
    assert rows[1]["src"] is None
    assert said == [
        "записей не найдено: 1 из 2 («нет.wav»), плеера у них нет; каталог записей называет "
        "--audio-dir команды stt-ru report"
    ]
    assert said[0] in page
    page = html_report(shown, target=tmp_path / "p.html", embed_audio=True)
    rows = data(page)["rows"]
    kind, _, written = rows[0]["src"].partition(";base64,")
    assert re.fullmatch(r"data:audio/[\w-]+", kind)
    content_of_file = (tmp_path / "audio" / "за пись#1.wav").read_bytes()
    assert base64.b64decode(written, validate=True) == content_of_file
    assert rows[1]["src"] is None
    assert said[0] in page


@pytest.mark.parametrize("embed_audio", [False, True], ids=["linked", "embedded"])
@pytest.mark.parametrize("name", [r"звонки\йод.wav", "звонки/йод.wav ", "./звонки/йод.wav"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_recordings_are_found_as_the_manifest_finds_them(
    tmp_path: Path, form: Literal["NFC", "NFD"], name: str, embed_audio: bool
) -> None:
    folder = tmp_path / unicodedata.normalize(form, "звонки")
    folder.mkdir()
    write_wav(folder / unicodedata.normalize(form, "йод.wav"), tone(0.1))
    said: list[str] = []
    page = html_report(
        content(model(row(name, "да", "да")), folder=tmp_path),
        target=tmp_path / "page.html",
        embed_audio=embed_audio,
        warn=said.append,
    )
    source = data(page)["rows"][0]["src"]
    assert (source.startswith("data:") or (tmp_path / unquote(source)).is_file(), said) == (
        True,
        [],
    )


def embedded(findings: Findings, tmp_path: Path) -> tuple[list[bool], list[str]]:
    """Which rows have their recording in the page, and what is said of the others."""
    said: list[str] = []
    page = html_report(findings, target=tmp_path / "p.html", embed_audio=True, warn=said.append)
    assert all(sentence in page for sentence in said)
    return [bool(one["src"]) for one in data(page)["rows"]], said


def test_a_recording_that_cannot_be_read_loses_only_its_own_player(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.wav", "b.wav"):
        write_wav(tmp_path / name, tone(0.1))

    def opening(path: Path) -> AudioReader:
        if path.name == "b.wav":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return open_audio(path)

    monkeypatch.setattr("stt_ru.report.html.audio_links.open_audio", opening)
    rows = row("a.wav", "да", "да"), row("b.wav", "да", "да")
    found, said = embedded(content(model(*rows), folder=tmp_path), tmp_path)
    assert found == [True, False]
    (sentence,) = said
    assert sentence.startswith("запись «b.wav» не положена в страницу, плеера у неё нет: ")


@pytest.mark.parametrize("is_read_back", [False, True])
def test_only_what_decodes_as_sound_is_embedded(tmp_path: Path, is_read_back: bool) -> None:
    (tmp_path / "пароли").write_text("root:x:0:0:root:/root:/bin/bash\n", encoding="utf-8")
    (tmp_path / "записи").mkdir()
    for name in ("../пароли", str(tmp_path / "пароли"), "/etc/passwd", "/proc/self/environ"):
        shown = content(model(row(name, "да", "да")), folder=tmp_path / "записи")
        found, said = embedded(replace(shown, is_read_back=is_read_back), tmp_path)
        assert (found, len(said)) == ([False], 1), name


def test_a_foreign_report_embeds_nothing_outside_the_folder_of_recordings(tmp_path: Path) -> None:
    (tmp_path / "записи").mkdir()
    write_wav(tmp_path / "чужая.wav", tone(0.1))
    write_wav(tmp_path / "записи" / "своя.wav", tone(0.1))
    (tmp_path / "записи" / "ссылка.wav").symlink_to(tmp_path / "чужая.wav")
    names = ["своя.wav", "../чужая.wav", str(tmp_path / "чужая.wav"), "ссылка.wav"]
    shown = content(model(*(row(name, "да", "да") for name in names)), folder=tmp_path / "записи")
    found, said = embedded(replace(shown, is_read_back=True), tmp_path)
    assert found == [True, False, False, False]
    assert all("вне каталога записей" in sentence for sentence in said)
    assert embedded(shown, tmp_path) == ([True] * 4, [])  # this run has heard them


def test_without_jinja2_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_command("report"))):
        html_report(content(*TWO), target=tmp_path / "page.html")


@pytest.mark.parametrize("name", ["r.html", "r.md", "r.xlsx", "r.json"])
def test_every_report_for_people_says_what_the_terminal_says(tmp_path: Path, name: str) -> None:
    warning = "eval.csv: строка 3 – та же"
    shown = make_findings(
        TWO, manifest="eval.csv", folder=None, created_at=NOW, rules=Rules(), warnings=[warning]
    )
    write_report(tmp_path / name, render(shown, tmp_path / name))
    if name == "r.xlsx":
        book = openpyxl.load_workbook(tmp_path / name)
        said = [row[0] for row in book["Выводы"].iter_rows(values_only=True)]
        assert [line for line in said if line in shown.cautions] == shown.cautions
        return
    text = (tmp_path / name).read_text(encoding="utf-8")
    if name == "r.json":
        assert json.loads(text)["warnings"] == [warning]
    else:
        said = [warning, "n: a.wav: файл пуст", "модели не справились с разными записями"]
        plain = unescape(text).replace("\\", "").replace("\u00a0", " ")
        assert [line in plain for line in said] == [True] * 3


def test_channels_of_a_recording_are_told_apart_in_markdown(tmp_path: Path) -> None:
    rows = [row("a.wav", "да", "нет", channel=0), row("a.wav", "да", "ну", channel=1)]
    text = written(content(model(*rows, row("b.wav", "да", "не"))), tmp_path / "r.md")
    assert "| Запись | Канал | Ошибок | WER, % | Эталон | Текст модели |\n" in text
    for start in ("| a.wav | 0 | 1 |", "| a.wav | 1 | 1 |", "| b.wav |  | 1 |"):
        assert start in text


def test_markdown_and_csv(tmp_path: Path) -> None:
    text = written(content(*TWO), tmp_path / "r.md")
    assert "| m | 60.0 |" in text
    assert "| мыла → мыло | 1 |" in text
    assert "| кто | WER, % | 95 % | Строк | Слов |" in text
    assert written(content(model(row("a|b", "*", "_x_"))), tmp_path / "r.md").count("\\|")
    lines = written(content(*TWO), tmp_path / "r.csv").splitlines()
    assert lines[0].startswith("\ufeffmodel,audio,channel,reference")
    assert lines[1].startswith("m,a.wav,,Мама мыла раму,мама мыло раму,3,1,0,0,14,1,0.333")
    assert lines[4] == "n,a.wav,,Мама мыла раму,,,,,,,,,,,,файл пуст,"
    formula = written(content(model(row("a", "=1+1", "да"))), tmp_path / "r.csv")
    assert "'=1+1" in formula


def test_charts_without_points_are_nothing() -> None:
    assert scatter_chart([], x_title="", title="") == ""
    assert "&lt;b&gt;" in scatter_chart([(1.0, 0.5, "<b>")], x_title="x", title="t")
    assert [_nice(value) for value in (0, 0.13, 0.2, 3, 41)] == [1.0, 0.2, 0.2, 4, 50]
    assert interval_chart.__doc__


@pytest.mark.slow
def test_ten_thousand_rows_make_a_page_in_seconds(tmp_path: Path) -> None:
    rows = [row(f"{n}.wav", "раз два три четыре пять", "раз два тру пять") for n in range(10_000)]
    started = time.process_time()
    page = html_report(content(model(*rows)), target=tmp_path / "page.html")
    assert time.process_time() - started < 60  # about 3 s alone
    assert len(page) < 5_000_000


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def browse(page: str, tmp_path: Path, script: str = "") -> str:
    """The page as a browser has it after the script, which stands at its end."""
    target = tmp_path / "browsed.html"
    target.write_text(page.replace("</body>", f"<script>{script}</script></body>"), "utf-8")
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
    return done.stdout


needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")


@needs_browser
def test_a_browser_draws_the_rows_and_runs_nothing_of_the_texts(tmp_path: Path) -> None:
    evil = model(row("a.wav", "да нет", EVIL), row("b.wav", "раз два", "раз тва"))
    drawn = browse(html_report(content(evil), target=tmp_path / "page.html"), tmp_path)
    assert drawn.count('<article class="row"') == 2
    assert '<del class="">два</del>' in drawn or "<del>два</del>" in drawn
    assert "<title>stt-ru: eval.csv</title>" in drawn
    assert "2 из 2" in drawn


LOOK = """
const log = [];
const press = key => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const look = what => {
  const at = document.activeElement, row = at.closest(".row");
  const name = row ? row.querySelector("b").textContent : at.id || at.tagName;
  log.push([what, name, at.closest(".w") ? at.textContent : ""]);
};
// A browser may run the script before it gives its window the focus. An element can be the active
// one by then, but hears of it only once the window is focused, which is before any key of a user.
const enter = element => {
  element.focus();
  element.dispatchEvent(new FocusEvent("focusin", { bubbles: true }));
};
const done = () => {
  const said = document.createElement("pre");
  said.id = "log"; said.textContent = JSON.stringify(log); document.body.append(said);
};
"""


def logged(page: str, tmp_path: Path, script: str) -> Any:
    drawn = browse(page, tmp_path, f"{LOOK} {script} done();")
    found = re.search(r'<pre id="log">(.*?)</pre>', drawn, re.DOTALL)
    assert found is not None
    return json.loads(unescape(found[1]))


@pytest.mark.slow
@needs_browser
def test_the_page_is_used_by_the_keyboard(tmp_path: Path) -> None:
    rows = [row("a", "раз два", "раз тва"), row("b", "раз", "раз"), row("c", "три", "тли")]
    page = html_report(content(model(*rows)), target=tmp_path / "page.html")
    script = "for (const key of %s) { press(key); look(key); }"
    keys = ["/", "Escape", "j", "ArrowRight", "ArrowLeft", "Escape", "ArrowDown", "k", "Escape"]
    assert logged(page, tmp_path, script % json.dumps(keys)) == [
        ["/", "search", ""],
        ["Escape", "BODY", ""],
        ["j", "a", ""],
        ["ArrowRight", "a", "дватва"],  # the first that is wrong
        ["ArrowLeft", "a", "раз"],
        ["Escape", "a", ""],
        ["ArrowDown", "c", ""],
        ["k", "a", ""],
        ["Escape", "BODY", ""],
    ]
    script = """
        document.querySelector("button.link").click(); log.push(byId("count").textContent);
        press("Escape"); log.push(byId("count").textContent);
        enter(byId("rows").children[1]);
        log.push([...byId("rows").children].map(row => row.tabIndex));
        dispatchEvent(new Event("beforeprint"));
        log.push(document.querySelectorAll("details:not([open])").length);
    """
    page = html_report(content(model(*rows), model(*rows, label="n")), target=tmp_path / "x.html")
    assert logged(page, tmp_path, script) == ["1 из 3", "3 из 3", [-1, 0, -1], 0]


@pytest.mark.slow
@needs_browser
def test_a_word_leads_the_player_to_its_time_and_says_how_exactly(tmp_path: Path) -> None:
    write_wav(tmp_path / "a.wav", tone(4.0))
    page = html_report(content(*TIMED, folder=tmp_path), target=tmp_path / "page.html")
    script = """
        const player = document.querySelector("audio");
        Object.defineProperty(player, "readyState", { get: () => 4 });
        Object.defineProperty(player, "duration", { get: () => 4 });
        let from = null;
        Object.defineProperty(player, "currentTime", { set: s => { from = s; } });
        player.play = () => Promise.resolve();
        for (const word of document.querySelectorAll("#rows .w")) {
          word.click();
          log.push([word.textContent, from, document.querySelector(".at").textContent]);
        }
    """
    segment = "начало отрезка, 2.00 с: времени слов модель не сообщила"
    assert logged(page, tmp_path, script) == [
        ["кто", 0.4, "«кто», 0.50 с"],
        ["то", 0.4, "«то», 0.50 с"],
        ["был", 2.4, "«был» пропущено; ближайшее слово модели – 2.50 с"],
        ["там", 2.4, "«там», 2.50 с"],
        ["кто", 0, segment.replace("2.00", "0.00")],
        ["то", 0, segment.replace("2.00", "0.00")],
        ["был", 2, segment],
        ["там", 2, segment],
        ["кто", 0, "примерно, 0.00 с: по доле текста, времени в отчёте нет"],
        ["то", 1, "примерно, 1.00 с: по доле текста, времени в отчёте нет"],
        ["был", 2, "примерно, 2.00 с: по доле текста, времени в отчёте нет"],
        ["там", 3, "примерно, 3.00 с: по доле текста, времени в отчёте нет"],
    ]
