from __future__ import annotations

import io
import re
import sys
import tracemalloc
import zipfile
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from stt_ru.errors import MissingExtraError, ReportError
from stt_ru.extras import install_command
from stt_ru.files.writing import write_report
from stt_ru.report import xlsx as xlsx_report
from stt_ru.report.render import render
from tests.report.test_html_page import TWO, VARIANTS, content, model, row
from tests.report.test_json_write import NOT_LOADED, NOW, REPORT


def book(tmp_path: Path, *reports: Any) -> Any:
    target = tmp_path / "report.xlsx"
    write_report(target, render(content(*reports), target))
    return openpyxl.load_workbook(target)


def table(workbook: Any, sheet: str) -> list[dict[str, Any]]:
    head, *rows = workbook[sheet].iter_rows(values_only=True)
    return [dict(zip(head, values, strict=True)) for values in rows]


def test_every_question_has_its_sheet(tmp_path: Path) -> None:
    workbook = book(tmp_path, *TWO, NOT_LOADED)
    assert workbook.sheetnames == [
        "Модели", "Выводы", "Сравнения", "Срезы", "Ошибки", "Слова", "Написание", "Записи",
    ]  # fmt: skip
    first, second, third = table(workbook, "Модели")
    assert (first["модель"], first["WER"], first["слов"], first["вставок"]) == ("m", 0.6, 5, 1)
    assert (second["WER"], second["не распознано"]) == (0.0, 1)
    assert (third["WER"], third["почему нет"]) == (None, "нет каталога")
    assert workbook["Модели"]["B2"].number_format == "0.0%"
    (confusion, *_) = table(workbook, "Ошибки")
    assert confusion == {
        "модель": "m",
        "вид": "замена",
        "эталон": "5",
        "текст модели": "пять",
        "раз": 1,
        "пример: запись": "b.wav",
        "пример: эталон": "да 5",
        "пример: текст модели": "ну да пять",
    }
    slices = {(one["срез"], one["значение"]): one for one in table(workbook, "Срезы")}
    assert slices["кто", "Б"]["WER"] == 1.0
    rows = table(workbook, "Записи")
    assert [one["запись"] for one in rows] == ["a.wav", "b.wav", "b.wav", "a.wav"]
    assert (rows[0]["WER"], rows[0]["длительность, с"], rows[0]["кто"]) == (1 / 3, 2.0, "А")
    assert (rows[0]["символов"], rows[0]["ошибок в символах"], rows[0]["CER"]) == (14, 1, 1 / 14)
    assert rows[3]["почему нет"] == "файл пуст"
    assert rows[3]["символов"] is None


def test_the_branch_that_was_said_has_a_column_where_there_are_variants(tmp_path: Path) -> None:
    rows = table(book(tmp_path, *VARIANTS), "Записи")
    assert [one["сравнено с"] for one in rows] == ["да 15 <*>", "ну да пятнадцать <*>"]
    assert "сравнено с" not in table(book(tmp_path, *TWO), "Записи")[0]


def test_models_are_compared(tmp_path: Path) -> None:
    rows = [row(str(n), "да нет", "да") for n in range(6)]
    right = [row(str(n), "да нет", "да нет") for n in range(6)]
    workbook = book(tmp_path, model(*rows), model(*right, label="n"))
    (pair,) = table(workbook, "Сравнения")
    assert (pair["модель A"], pair["WER A"], pair["разница"]) == ("m", 0.5, -0.5)
    assert (pair["от"], pair["до"], pair["можно верить"]) == (-0.5, -0.5, "да")
    assert table(workbook, "Выводы")[0]["вывод"].startswith("n лучше m на 50.0 п. п. WER")


def test_marks_and_case_have_a_sheet_of_models_that_write_them(tmp_path: Path) -> None:
    text = model(row("a", "Да, нет, может. Кто?", "да нет, может, Кто? Ну."))
    marks = table(book(tmp_path, text), "Знаки")
    assert [(one["знак"], one["F1"], one["не тот регистр"]) for one in marks] == [
        ("запятые", 0.5, None),
        ("точки", 0.0, None),
        ("вопросы", 1.0, None),
        ("регистр", None, 0.25),
    ]


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("http://x")', "http://x.ru", "{=1}", "7"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_is_never_a_formula_or_a_link(tmp_path: Path, text: str) -> None:
    report = model(row(text, f"{text}", text, extra={text: text, "b": [text]}), label=text)
    workbook = book(tmp_path, report)
    kinds = {
        cell.data_type
        for sheet in workbook
        for line in sheet.iter_rows()
        for cell in line
        if text in str(cell.value)
    }
    assert kinds == {"s"}
    assert not any(cell.hyperlink for line in workbook["Записи"].iter_rows() for cell in line)
    with zipfile.ZipFile(tmp_path / "report.xlsx") as parts:
        assert not any(b"<f>" in parts.read(name) for name in parts.namelist())


def test_values_that_excel_cannot_hold_are_kept_as_texts_or_said_to_be_cut(tmp_path: Path) -> None:
    extra = {
        "inf": float("inf"), "id": 12345678901234567890, "list": ["а", None], "no": None,
        "flag": True, "long": "я" * 40_000, "bell": "a\x07b", "name": "a\udcff",
    }  # fmt: skip
    (found,) = table(book(tmp_path, model(row("a", "да", "да", extra=extra))), "Записи")
    assert (found["inf"], found["id"]) == ("Infinity", "12345678901234567890")
    assert (found["list"], found["no"], found["flag"]) == ('["а", null]', None, "да")
    assert len(found["long"]) == xlsx_report.MOST_CHARACTERS
    assert found["long"].endswith("[обрезано: предел ячейки Excel]")
    assert "\\udcff" in found["name"]
    assert "a" in found["bell"]


def test_more_rows_than_a_sheet_holds_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = model(*[row(str(n), "да", "да") for n in range(4)])
    monkeypatch.setattr(xlsx_report, "MOST_ROWS", 5)
    assert len(table(book(tmp_path, report), "Записи")) == 4
    monkeypatch.setattr(xlsx_report, "MOST_ROWS", 4)
    with pytest.raises(ReportError, match=r"«Записи» больше 4 строк.*\.csv"):
        write_report(tmp_path / "r.xlsx", render(content(report), tmp_path / "r.xlsx"))
    assert not (tmp_path / "r.xlsx").exists()


def test_the_same_report_is_the_same_file(tmp_path: Path) -> None:
    moscow = NOW.astimezone(timezone(timedelta(hours=3)))
    report = replace(content(REPORT), created_at=moscow)
    pieces = [b"".join(xlsx_report.xlsx_report(report)) for _ in range(2)]
    assert pieces[0] == pieces[1]
    properties = openpyxl.load_workbook(io.BytesIO(pieces[0])).properties
    assert properties.title.endswith("eval.csv")
    assert properties.created == NOW.replace(tzinfo=None)  # Excel takes it for UTC


def test_rows_are_not_held_in_memory(tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        shown = content(model(*[row(str(n), "да нет", "да нет") for n in range(rows)]))
        tracemalloc.start()
        for _ in xlsx_report.xlsx_report(shown):
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(200)  # loads the library
    assert peak(2_000) < peak(200) + 1_000_000  # as cells in memory a row is some 3 kB


def test_without_the_library_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_command("xlsx"))):
        list(render(content(REPORT), tmp_path / "r.xlsx"))
