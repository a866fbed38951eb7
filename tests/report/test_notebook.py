from __future__ import annotations

import re
import sys

import pytest

from stt_ru.errors import MissingExtraError
from stt_ru.extras import install_command
from stt_ru.report.model_report import NotebookReport
from stt_ru.results import FileResult
from stt_ru.scoring.counts import score_texts
from stt_ru.scoring.multi_reference import score_branch
from tests.report.test_json_write import NOT_LOADED, REPORT


def report() -> NotebookReport:
    texts = [("мама мыла раму", "мама мыло раму да"), ("<b>мыла</b>", "мыло"), ("да", "да")]
    rows = [
        FileResult(audio=f"{n}<", reference=one, hypothesis=two, score=score_texts(one, two))
        for n, (one, two) in enumerate(texts)
    ]
    return NotebookReport(model="m", label="<m>", rows=3, results=rows)


def test_a_cell_shows_the_line_of_the_table_and_the_worst_rows() -> None:
    html = report()._repr_html_()
    assert "<td>&lt;m&gt;</td>" in html
    assert html.index("0&lt;") < html.index("1&lt;")
    assert "мыла → мыло</span>" in html
    assert "+да</span>" in html
    assert "<b>мыла" not in html
    assert "нет каталога" in NOT_LOADED._repr_html_()


def marked_report() -> NotebookReport:
    row = FileResult(
        audio="a.wav",
        reference="{ну} да {15|пятнадцать} <*>",
        chosen="да 15 <*>",
        hypothesis="да 16 <и",
        score=score_branch("да 15 <*>", "да 16 и"),
        extra={"chosen": "x"},
    )
    return NotebookReport(model="m", label="m", rows=1, results=[row])


def test_a_cell_shows_the_branch_that_was_said_and_what_anything_stands_for() -> None:
    html = marked_report()._repr_html_()
    assert "да <span" in html
    assert "15 → 16</span> <i>и</i>" in html


def test_a_pandas_table_has_the_branch_where_there_are_variants() -> None:
    pytest.importorskip("pandas")
    frame = marked_report().to_pandas()
    assert frame["chosen"].tolist() == ["да 15 <*>"]
    assert frame["extra.chosen"].tolist() == ["x"]
    assert "chosen" not in REPORT.to_pandas()


def test_worst_and_confusions_are_methods() -> None:
    assert [row.audio for row in report().worst(1)] == ["0<"]
    (first, *_) = report().confusions(2)
    assert first.count == 1
    assert len(report().confusions(2)) == 2


def test_a_pandas_table_has_a_row_a_result() -> None:
    pytest.importorskip("pandas")
    frame = REPORT.to_pandas()
    assert list(frame["audio"]) == ["папка/a.wav", "b.wav", "c.wav"]
    assert frame["words"].isna().tolist() == [False, True, False]
    assert frame["insertions"].sum() == 1
    scored = frame.dropna(subset=["cer"])
    assert (scored["char_errors"] / scored["chars"]).tolist() == scored["cer"].tolist()
    assert str(frame["chars"].dtype) == "Int64"
    assert frame["call"].tolist()[0] == "7"
    clash = FileResult(audio="a", reference="да", error="нет", extra={"words": 9})
    frame = NotebookReport(model="m", label="m", rows=1, results=[clash]).to_pandas()
    assert frame["extra.words"].tolist() == [9]
    assert len(NotebookReport(model="m", label="m", rows=0).to_pandas()) == 0


def test_without_pandas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_command("pandas"))):
        REPORT.to_pandas()
