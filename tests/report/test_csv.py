from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.report.csv import csv_report
from stt_ru.report.markdown import markdown_report
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.counts import score_texts
from tests.report.test_html_page import content

ODD = st.text("=+-@\t\r\n,;\"'а\x1b ", max_size=6)


def written(*texts: str, **more: str) -> list[list[str]]:
    rows = [
        FileResult(
            audio=str(n),
            reference="да",
            hypothesis=text,
            score=score_texts("да", "нет"),
            extra=more,
        )
        for n, text in enumerate(texts)
    ]
    report = ModelReport(model="m", label="m", rows=len(rows), results=rows)
    return list(csv.reader(io.StringIO("".join(csv_report([report])), newline="")))


@given(st.lists(ODD, max_size=3), ODD)
def test_a_row_stays_a_row_whatever_is_in_it(texts: list[str], value: str) -> None:
    lines = written(*texts, колонка=value)
    assert len(lines) == 1 + len(texts)
    assert {len(line) for line in lines} <= {len(lines[0])}
    heard = [line[lines[0].index("hypothesis")] for line in lines[1:]]
    assert [text.removeprefix("'") for text in heard] == [text.removeprefix("'") for text in texts]


@pytest.mark.parametrize("text", ["=1+1", "+7", "-2", "@a", "\t=1", "\r=1"])
def test_what_a_spreadsheet_takes_for_a_formula_is_a_text(text: str) -> None:
    _, line = written(text, **{"=колонка": text})
    assert line.count(f"'{text}") == 2


def test_no_control_character_reaches_markdown() -> None:
    row = FileResult(
        audio="a\x1b]0;взлом\x07.wav", reference="да", hypothesis="нет\x1b[2J\u202e\x9b",
        score=score_texts("да", "нет"),
    )  # fmt: skip
    report = ModelReport(model="m", label="m\x1b[31m", rows=1, results=[row])
    page = "".join(markdown_report(content(report)))
    assert all(character.isprintable() or character == "\n" for character in page)
    assert "\\\\x1b" in page
