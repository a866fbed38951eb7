from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stt_ru.files.csv_text import BadQuoteError, Records, csv_line, loose_cells, quoted_cells

UNTIMED = settings(deadline=None)
TEXTS = st.text(alphabet='аб,;\t"\n\r ', max_size=40)
DELIMITER = st.sampled_from(",;\t")


def rows_of(text: str, delimiter: str) -> list[list[str]] | None:
    """The records, blank lines left out; None if a quote is bad."""
    try:
        return [cells for cells in Records(text, delimiter) if cells != [""]]
    except BadQuoteError:
        return None


@UNTIMED
@given(text=TEXTS, delimiter=DELIMITER)
def test_records_are_those_of_the_strict_csv_module(text: str, delimiter: str) -> None:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        expected = [cells for cells in reader if cells not in ([], [""])]
    except csv.Error:
        expected = None
    assert rows_of(text, delimiter) == expected


@UNTIMED
@given(text=TEXTS, delimiter=DELIMITER)
def test_loose_cells_are_those_of_the_lenient_csv_module(text: str, delimiter: str) -> None:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    assert loose_cells(text, 0, delimiter) == (next(reader, []) or [""])


def line_of(text: str, position: int) -> int:
    return 1 + len(re.findall(r"\r\n?|\n", text[:position]))


@UNTIMED
@given(text=TEXTS)
def test_each_record_knows_its_lines(text: str) -> None:
    records = Records(text, ",")
    found = []
    while True:
        try:
            if next(records, None) is None:
                break
            found.append((records.line, records.start, records.end_line, records.end))
        except BadQuoteError as bad:
            quote_line = records.resume_after(bad)
            found.append((quote_line, bad.opened, records.end_line, records.end))
    for line, start, end_line, end in found:
        assert (line, end_line) == (line_of(text, start), line_of(text, end))


@pytest.mark.parametrize(
    ("opened", "why"),
    [('"да', "кавычка открыта и не закрыта"), ('"нет"да', "после закрывающей кавычки стоит текст")],
)
def test_reading_goes_on_at_the_line_after_a_bad_quote(opened: str, why: str) -> None:
    text = f"а,б\n{opened}\nв,г\n"
    records = Records(text, ",")
    assert next(records) == ["а", "б"]
    with pytest.raises(BadQuoteError) as bad:
        next(records)
    assert bad.value.describe(text).startswith(f"{why}: «{opened}»")
    assert records.resume_after(bad.value) == 2
    assert (next(records), records.line) == (["в", "г"], 3)
    assert next(records, None) is None


def test_what_is_inside_quotes_has_its_place() -> None:
    assert list(quoted_cells('а,"б""в",г\nд', 0, ",")) == [(0, ""), (2, 'б""в'), (9, "")]


@UNTIMED
@given(cells=st.lists(st.text(alphabet='аб,;"\n ', max_size=6), min_size=2, max_size=4))
def test_a_line_that_is_written_reads_back(cells: list[str]) -> None:
    assert list(Records(csv_line(cells), ",")) == [cells]
