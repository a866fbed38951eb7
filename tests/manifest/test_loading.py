"""Manifests: what loads, and what every fault says."""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stt_ru.errors import ManifestError, UsageError
from stt_ru.files import csv_text
from stt_ru.manifest import (
    AUDIO_SUFFIXES,
    CORE_SUFFIXES,
    MEDIA_SUFFIXES,
    Sample,
    load_manifest,
)
from stt_ru.manifest.csv_rows import read_csv
from stt_ru.manifest.jsonl_rows import DEEPEST
from stt_ru.manifest.rows import Faults, Row

# A busy machine is no reason to fail; the folder is shared, and each example overwrites its file.
UNTIMED = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

DOCS = Path(__file__).parents[2] / "docs" / "manifest.md"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the recordings `a.wav`, `b.wav`, `c.wav`."""
    monkeypatch.chdir(tmp_path)
    touch(tmp_path, "a.wav", "b.wav", "c.wav")
    return tmp_path


def touch(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"RIFF" + name.encode())


def write(name: str, content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    Path(name).write_bytes(data)
    return name


def load(name: str, *, allow_empty: bool = False) -> list[Sample]:
    """The samples of a manifest that gives no warning."""
    warnings: list[str] = []
    samples = load_manifest(name, allow_empty=allow_empty, warn=warnings.append)
    assert not warnings
    return samples


def load_warned(name: str) -> tuple[list[Sample], list[str]]:
    warnings: list[str] = []
    return load_manifest(name, warn=warnings.append), warnings


def problems(name: str, *, allow_empty: bool = False) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        load_manifest(name, allow_empty=allow_empty, warn=lambda _: None)
    assert str(caught.value) == "\n".join(caught.value.problems)
    for problem in caught.value.problems:
        assert "\n" not in problem
        assert not re.search(r"[a-z]+(Error|Exception)\b|Traceback|\[Errno", problem)
    return list(caught.value.problems)


def problem(name: str, *, allow_empty: bool = False) -> str:
    (only,) = problems(name, allow_empty=allow_empty)
    return only


def audio_and_text(samples: list[Sample]) -> list[tuple[str, str]]:
    return [(sample.audio, sample.text) for sample in samples]


TWO_ROWS = [("a.wav", "алло"), ("b.wav", "да, слушаю")]

# --- CSV: what loads -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('audio,text\na.wav,алло\nb.wav,"да, слушаю"\n', id="comma"),
        pytest.param("audio;text\na.wav;алло\nb.wav;да, слушаю\n", id="semicolon"),
        pytest.param("audio\ttext\na.wav\tалло\nb.wav\tда, слушаю\n", id="tab"),
        pytest.param("audio;text\na.wav;алло\nb.wav;да, слушаю", id="no line end at the end"),
        pytest.param("audio;text\r\na.wav;алло\r\nb.wav;да, слушаю\r\n", id="CRLF"),
        pytest.param("audio;text\ra.wav;алло\rb.wav;да, слушаю\r", id="CR"),
        pytest.param("\ufeffaudio;text\na.wav;алло\nb.wav;да, слушаю\n", id="BOM"),
        pytest.param("\ufeff\ufeffaudio;text\na.wav;алло\nb.wav;да, слушаю\n", id="BOM twice"),
        pytest.param(
            "Audio ; TEXT\na.wav;алло\nb.wav;да, слушаю\n", id="names in any case, trimmed"
        ),
        pytest.param(
            "\u00a0audio\u00a0;text\na.wav;алло\nb.wav;да, слушаю\n", id="NBSP in the header"
        ),
        pytest.param(
            'audio,text,"a;b;c;d"\na.wav,алло,\nb.wav,"да, слушаю",', id="more semicolons in a name"
        ),
        pytest.param('"audio";"text"\na.wav;алло\nb.wav;да, слушаю\n', id="quoted header"),
        pytest.param("text;audio\nалло;a.wav\nда, слушаю;b.wav\n", id="columns in another order"),
        pytest.param("sep=;\naudio;text\na.wav;алло\nb.wav;да, слушаю\n", id="sep="),
        pytest.param('"SEP=;"\r\naudio;text\r\na.wav;алло\r\nb.wav;да, слушаю', id="quoted SEP="),
        pytest.param("sep=\t\naudio\ttext\na.wav\tалло\nb.wav\tда, слушаю", id="sep= and a tab"),
        pytest.param(
            "\n\r\n;;\nsep=;\n\naudio;text\na.wav;алло\nb.wav;да, слушаю", id="blank first"
        ),
        pytest.param(
            "audio;text\n\na.wav;алло\n;\n  \n;;;;\nb.wav;да, слушаю\n\n", id="blank rows"
        ),
        pytest.param(
            'audio;text\na.wav;алло\n"";""\nb.wav;да, слушаю\n', id="bare quoted delimiters"
        ),
        pytest.param("audio;text;;\na.wav;алло;;\nb.wav;да, слушаю\n", id="delimiters at the end"),
        pytest.param("audio;text\na.wav;алло;\nb.wav;да, слушаю;;\n", id="delimiters after values"),
        pytest.param("audio;text;channel\na.wav;алло;\nb.wav;да, слушаю\n", id="missing values"),
        pytest.param('audio,text\n"a.wav","алло"\n"b.wav","да, слушаю"', id="all quoted"),
    ],
)
def test_a_csv_loads(here: Path, content: str) -> None:
    samples = load(write("eval.csv", content))
    assert audio_and_text(samples) == TWO_ROWS
    assert all(sample.channel is None for sample in samples)
    assert all(not any(sample.extra.values()) for sample in samples)


@pytest.mark.parametrize("name", ["e.csv", "e.CSV", "e.tsv", "E.Tsv", "e.jsonl", "e.NDJSON"])
def test_a_suffix_counts_in_any_case(here: Path, name: str) -> None:
    content = (
        '{"audio": "a.wav", "text": "алло"}' if "j" in name.lower() else "audio\ttext\na.wav\tалло"
    )
    assert audio_and_text(load(write(name, content))) == TWO_ROWS[:1]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        pytest.param('"он сказал ""да"""', 'он сказал "да"', id="quotes inside quotes"),
        pytest.param('он сказал "да"', 'он сказал "да"', id="quotes inside an unquoted cell"),
        pytest.param('"раз\nдва"', "раз\nдва", id="LF inside"),
        pytest.param('"раз\r\nдва"', "раз\r\nдва", id="CRLF inside"),
        pytest.param('"раз\rдва"', "раз\rдва", id="CR inside"),
        pytest.param('"раз,\nдва.wav и три"', "раз,\nдва.wav и три", id="words like a row inside"),
        pytest.param("раз\u2028два", "раз\u2028два", id="U+2028"),
        pytest.param(
            "раз\x0bдва\x0c\x1c\x85", "раз\x0bдва\x0c\x1c\x85", id="what splitlines splits"
        ),
        pytest.param("  раз ", "  раз ", id="spaces are kept"),
    ],
)
def test_the_text_is_as_written(here: Path, cell: str, text: str) -> None:
    (sample, after) = load(write("eval.csv", f"audio,text\na.wav,{cell}\nb.wav,да\n"))
    assert sample.text == text
    assert after.text == "да"


def test_a_text_may_be_longer_than_the_limit_of_the_csv_module(here: Path) -> None:
    text = "слово, " * 100_000
    limit = csv.field_size_limit()
    (sample,) = load(write("eval.csv", f'audio,text\na.wav,"{text}"\n'))
    assert sample.text == text
    assert csv.field_size_limit() == limit


def test_other_columns_are_kept_as_written(here: Path) -> None:
    content = ",Audio,Оператор,TEXT,channel,note\n7,a.wav, Анна ,алло,1,\n8,b.wav,Петр,да\n"
    first, second = load(write("eval.csv", content))
    assert first == Sample(
        "a.wav", "алло", 1, {"": "7", "Оператор": " Анна ", "note": ""}, Path("a.wav")
    )
    assert second.extra == {"": "8", "Оператор": "Петр", "note": ""}


CHANNELS_TAKEN = [("", None), ("0", 0), ("1", 1), (" 12 ", 12), ("007", 7)]
CHANNELS_REFUSED = ["-1", "1.5", "1.0", "true", "левый", "١", "1e3", "+1", "0x1", "9" * 5000]


@pytest.mark.parametrize(("cell", "channel"), CHANNELS_TAKEN)
def test_a_channel_is_a_number_or_nothing(here: Path, cell: str, channel: int | None) -> None:
    (sample,) = load(write("eval.csv", f"audio,text,channel\na.wav,алло,{cell}\n"))
    assert sample.channel == channel
    (sample,) = load(
        write("e.jsonl", json.dumps({"audio": "a.wav", "text": "да", "channel": cell}))
    )
    assert sample.channel == channel


@pytest.mark.parametrize("cell", CHANNELS_REFUSED)
def test_anything_else_is_no_channel(here: Path, cell: str) -> None:
    message = problem(write("eval.csv", f'audio,text,channel\na.wav,алло,"{cell}"\n'))
    assert message.startswith("eval.csv:2: channel «" + cell[:50])
    assert message.endswith("нужен номер канала, целое число от 0, или пустое значение")
    assert len(message) < 160
    row = json.dumps({"audio": "a.wav", "text": "да", "channel": cell})
    assert problem(write("e.jsonl", row)).startswith("e.jsonl:1: channel «")


# --- CSV: what does not --------------------------------------------------------------------------

CSV_FAULTS = [
    pytest.param("", ["eval.csv: манифест пуст: первой строкой нужны имена колонок"], id="empty"),
    pytest.param("\n\n;;\n", ["eval.csv: манифест пуст"], id="blank lines alone"),
    pytest.param("sep=;\n", ["eval.csv: манифест пуст"], id="sep= alone"),
    pytest.param("audio,text\n", ["eval.csv: есть заголовок, но нет ни одной строки"], id="header"),
    pytest.param(
        "audio,text\n,\n\n", ["eval.csv: есть заголовок, но нет"], id="header, blank rows"
    ),
    pytest.param(
        "\naudio|text\na.wav|алло\n",
        ["eval.csv:2: разделитель «|» не принимается; принимаются: запятая, точка с запятой, таб"],
        id="another delimiter",
    ),
    pytest.param(
        "audio|text|a,b\na.wav|алло|1,2\n",
        ["eval.csv:1: разделитель «|» не принимается"],
        id="another delimiter, a comma in a name",
    ),
    pytest.param("audio text\na.wav да\n", ["eval.csv:1: разделитель пробел не"], id="a space"),
    pytest.param(
        "a.wav,алло\nb.wav,да\n",
        ["eval.csv:1: нет заголовка, файл начинается с «a.wav»"],
        id="no header",
    ),
    pytest.param("audio\na.wav\n", ["eval.csv:1: нет колонки «text», есть «audio»"], id="no text"),
    pytest.param(
        "audio_filepath,transcript,x\na.wav,да,1\n",
        [
            "eval.csv:1: нет колонок «audio» и «text», есть «audio_filepath», «transcript», «x»; "
            "переименуйте «audio_filepath» в «audio»; переименуйте «transcript» в «text»"
        ],
        id="names of other tools",
    ),
    pytest.param(
        "аudio,text\na.wav,да\n",
        ["eval.csv:1: нет колонки «audio», есть «аudio», «text»; в имени «аudio» русские буквы"],
        id="a Cyrillic letter in a name",
    ),
    pytest.param(
        "audio,text,Text \na.wav,да,нет\n",
        ["eval.csv:1: колонка повторяется: «text» (регистр и пробелы по краям не различаются)"],
        id="a column twice",
    ),
    pytest.param(
        "audio,audio,text,note,NOTE\n",
        ["eval.csv:1: колонка повторяется: «audio», «note»"],
        id="two twice",
    ),
    pytest.param(
        ",,audio,text\n", ["eval.csv:1: колонка повторяется: без имени"], id="nameless twice"
    ),
    pytest.param(
        "audio,text\na.wav,да, нет\n",
        ["eval.csv:2: 3 значения в строке, а колонок 2; текст с запятой берётся в кавычки"],
        id="too many values",
    ),
    pytest.param(
        "audio;text\n\na.wav;да; нет;;да;;\n",
        ["eval.csv:3: 5 значений в строке, а колонок 2; текст с точкой с запятой берётся"],
        id="too many values, semicolon",
    ),
    pytest.param(
        "audio\ttext\t\na.wav\tда\tнет\n",
        ["eval.csv:2: 3 значения в строке, а колонок 2; текст с табуляцией берётся"],
        id="a value in a column without a name",
    ),
    pytest.param(
        'audio,text\na.wav, "да, нет"\n',
        ["eval.csv:2: 3 значения в строке, а колонок 2"],
        id="a space before the quote",
    ),
    pytest.param(
        "audio,text\na.wav;алло\n",
        ["eval.csv:2: 1 значение в строке, а колонок 2: разделитель здесь точка с запятой, а"],
        id="another delimiter in a row",
    ),
    pytest.param(
        "audio,text\n,алло\n  ,да\n",
        [
            "eval.csv:2: колонка audio пуста, а нужен путь к записи",
            "eval.csv:3: колонка audio пуста",
        ],
        id="no audio",
    ),
    pytest.param(
        'audio,text\na.wav,"алло\nb.wav,да\nc.wav,нет\n',
        ['eval.csv:2: кавычка открыта и не закрыта: «"алло»; закройте её, а кавычки внутри'],
        id="a quote never closed",
    ),
    pytest.param(
        'audio,text\na.wav,"ал""ло\n',
        ['eval.csv:2: кавычка открыта и не закрыта: «"ал""ло»'],
        id="a quote never closed, a doubled one inside",
    ),
    pytest.param(
        'audio,text\na.wav,"алло\nb.wav,"да"\nc.wav,нет\n',
        ['eval.csv:2: кавычка открыта и не закрыта: «"алло»'],
        id="a quote closed by the next row's",
    ),
    pytest.param(
        'audio,text\na.wav,"алло\nb.wav,да\nc.wav,"\n',
        ['eval.csv:2: кавычка открыта и не закрыта: «"алло»', "eval.csv:4: кавычка открыта и не"],
        id="a quote that would swallow rows",
    ),
    pytest.param(
        'text,note,audio\nда,,a.wav\n"алло,,b.wav\nнет,",c.wav\n',
        ['eval.csv:3: кавычка открыта и не закрыта: «"алло,,b.wav»', "eval.csv:4: кавычка отк"],
        id="a quote that would swallow rows, audio last",
    ),
    pytest.param(
        'audio,note,text\na.wav,"раз\nдва","алло\nb.wav,,да\n',
        ['eval.csv:3: кавычка открыта и не закрыта: «"алло»'],
        id="the line of the quote, not of the row",
    ),
    pytest.param(
        'audio,text\na.wav,"ал""ло\nнет.wav,""\nb.wav,да,нет\n"b.wav,x\n',
        [
            "eval.csv:2: кавычка открыта и не закрыта",
            "eval.csv:3: записи «нет.wav» нет",
            "eval.csv:3: текст пуст",
            "eval.csv:4: 3 значения в строке",
            "eval.csv:5: кавычка открыта и не закрыта",
        ],
        id="rows after a bad quote are checked",
    ),
    pytest.param(
        'audio,text\na.wav,"раз "два"\nтри, четыре\nпять"\nb.wav,да\n',
        ["eval.csv:2: после закрывающей кавычки стоит текст"],
        id="the rest of a broken text is no row",
    ),
    pytest.param(
        'audio,text\na.wav,"ал"ло\nb.wav,\n',
        [
            'eval.csv:2: после закрывающей кавычки стоит текст: «"ал"ло»; в кавычки берётся весь',
            "eval.csv:3: текст пуст",
        ],
        id="text after the closing quote",
    ),
    pytest.param(
        '"audio,text\na.wav,да\n',
        ["eval.csv:1: кавычка в заголовке не закрыта"],
        id="header's quote",
    ),
    pytest.param("audio,text\na.wav,да\0\n", ["eval.csv:2: нулевой байт"], id="NUL"),
    pytest.param(
        "audio,text\na.wav,\nb.wav,  \nc.wav,«...»\n",
        [
            "eval.csv:2: текст пуст: впишите, что сказано; если речи в записи нет, добавьте",
            "eval.csv:3: текст пуст",
            "eval.csv:4: в тексте ««...»» нет ни букв, ни цифр: впишите",
        ],
        id="no text",
    ),
    pytest.param(
        'audio,text,channel\r\na.wav,"раз\r\nдва",x\r\nнет.wav,,y\r\n',
        [
            "eval.csv:2: channel «x»",
            "eval.csv:4: channel «y»",
            "eval.csv:4: записи «нет.wav» нет",
            "eval.csv:4: текст пуст",
        ],
        id="all faults at once, lines of the file",
    ),
]


def assert_problems(found: list[str], expected: list[str]) -> None:
    assert len(found) == len(expected), found
    for message, start in zip(found, expected, strict=True):
        assert message.startswith(start)


@pytest.mark.parametrize(("content", "expected"), CSV_FAULTS)
def test_a_csv_is_refused(here: Path, content: str, expected: list[str]) -> None:
    assert_problems(problems(write("eval.csv", content)), expected)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_alike_for_every_line_end(here: Path, line_end: str) -> None:
    rows = ["sep=,", "", "audio,text", 'a.wav,"раз', "", 'два"', ",", "b.wav,", "", "нет.wav,да"]
    found = problems(write("eval.csv", line_end.join(rows)))
    assert_problems(found, ["eval.csv:8: текст пуст", "eval.csv:10: записи «нет.wav» нет"])


def test_after_twenty_faults_the_rest_is_a_count(here: Path) -> None:
    rows = [f"нет{n}.wav,да" for n in range(55)]
    found = problems(write("eval.csv", "\n".join(["audio,text", *rows])))
    assert [message.split(":")[1] for message in found[:-1]] == [str(line) for line in range(2, 22)]
    assert found[-1] == "eval.csv: … и ещё 35 ошибок"
    assert len(problems(write("eval.csv", "\n".join(["audio,text", *rows[:20]])))) == 20
    assert problems(write("e.csv", "\n".join(["audio,text", *rows[:21]])))[-1].endswith(
        "ещё 1 ошибка"
    )


# --- CSV: properties -----------------------------------------------------------------------------

CELLS = st.text(alphabet='аб ",;\t\n\r\u2028', max_size=6)
TABLES = st.integers(min_value=0, max_value=2).flatmap(
    lambda n_extra: st.lists(
        st.tuples(*[CELLS] * (n_extra + 1)).filter(lambda cells: "".join(cells).strip()),
        min_size=1,
        max_size=6,
    )
)


def written_by_csv(rows: list[list[str]], delimiter: str, quoting: Any, line_end: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=line_end).writerows(rows)
    return out.getvalue()


@UNTIMED
@given(
    table=TABLES,
    delimiter=st.sampled_from(",;\t"),
    # Before Python 3.13 QUOTE_MINIMAL leaves a lone CR unquoted when lines end in LF.
    dialect=st.sampled_from(
        [(csv.QUOTE_MINIMAL, "\r\n"), *((csv.QUOTE_ALL, end) for end in ("\n", "\r\n", "\r"))]
    ),
)
def test_what_the_csv_module_writes_loads_back_with_its_lines(
    table: list[tuple[str, ...]], delimiter: str, dialect: tuple[Any, str]
) -> None:
    quoting, line_end = dialect
    header = ["audio", "text", "x", "y"][: len(table[0]) + 1]
    rows = [[f"{n}.wav", *cells] for n, cells in enumerate(table)]
    content = written_by_csv([header, *rows], delimiter, quoting, line_end)
    lines = [
        1
        + len(
            re.findall(
                r"\r\n?|\n", written_by_csv([header, *rows[:n]], delimiter, quoting, line_end)
            )
        )
        for n in range(len(rows))
    ]
    faults = Faults("e.csv")
    expected = [
        Row(line, row[0], row[1], None, dict(zip(header[2:], row[2:], strict=True)))
        for line, row in zip(lines, rows, strict=True)
    ]
    assert list(read_csv(content, faults)) == expected
    assert not faults.count


@UNTIMED
@given(content=st.text(alphabet='аw.,;\t"\n\r', max_size=60))
def test_any_csv_is_read_as_the_csv_module_reads_it_or_refused(content: str) -> None:
    faults = Faults("e.csv")
    found = list(read_csv("audio,text,x\n" + content, faults))
    if faults.count:
        return
    records = csv.reader(io.StringIO(content, newline=""), strict=True)
    expected = [[*cells, "", ""][:3] for cells in records if "".join(cells).strip()]
    assert [[row.audio, row.text, row.extra["x"]] for row in found] == expected


@UNTIMED
@given(content=st.text(alphabet='аw.,;\t"\n\r\0\u2028\ufeff{}[]:', max_size=60))
def test_no_text_breaks_the_csv_reader(content: str) -> None:
    faults = Faults("e.csv")
    rows = list(read_csv(content, faults))
    n_lines = 1 + len(re.findall(r"\r\n?|\n", content))
    assert all(isinstance(row.place, int) and 1 < row.place <= n_lines for row in rows)


def test_a_file_of_quotes_takes_no_quadratic_time(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0
    real = csv_text.parse_record

    def counting(text: str, start: int, delimiter: str) -> tuple[list[str], int]:
        nonlocal looked_at
        try:
            cells, end = real(text, start, delimiter)
        except csv_text.BadQuoteError as bad:
            looked_at += (bad.closed or len(text)) - start
            raise
        looked_at += end - start
        return cells, end

    monkeypatch.setattr(csv_text, "parse_record", counting)
    for row in ('a.wav,"да\n', 'a.wav,""да\n', 'a.wav,"""да\n', 'a.wav,"да""\n', '"\n', '""""\n'):
        text = "audio,text\n" + row * 1000
        looked_at = 0
        list(read_csv(text, Faults("e.csv")))
        assert looked_at < 5 * len(text)


# --- JSON Lines ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(
            '{"audio":"a.wav","text":"алло"}\n{"audio":"b.wav","text":"да, слушаю"}', id="LF"
        ),
        pytest.param(
            '{"audio":"a.wav","text":"алло"}\r\n{"audio":"b.wav","text":"да, слушаю"}\r\n',
            id="CRLF",
        ),
        pytest.param(
            '{"audio":"a.wav","text":"алло"}\r{"audio":"b.wav","text":"да, слушаю"}', id="CR"
        ),
        pytest.param(
            '\ufeff\n \n{"audio":"a.wav","text":"алло"}\n\n{"text":"да, слушаю","audio":"b.wav"}',
            id="BOM and blank lines",
        ),
        pytest.param(
            '{"Audio":"a.wav"," TEXT":"алло"}\n{"audio":"b.wav","text":"да, слушаю","channel":""}',
            id="names in any case",
        ),
    ],
)
def test_a_jsonl_loads(here: Path, content: str) -> None:
    samples = load(write("eval.jsonl", content))
    assert audio_and_text(samples) == TWO_ROWS
    assert all(not sample.extra for sample in samples)


def test_a_line_separator_inside_a_json_string_ends_no_line(here: Path) -> None:
    content = '{"audio":"a.wav","text":"раз\u2028два\x85три"}\n{"audio":"b.wav","text":""}'
    assert problem(write("eval.jsonl", content)).startswith("eval.jsonl:2: текст пуст")
    (sample, _) = load("eval.jsonl", allow_empty=True)
    assert sample.text == "раз\u2028два\x85три"


def test_json_values_are_kept(here: Path) -> None:
    extra = {"duration": 3.5, "segments": [{"start": 0, "text": "да"}], "ok": None, "Note": True}
    row = {"audio": "a.wav", "channel": 1, "text": "алло", **extra}
    (sample,) = load(write("eval.jsonl", json.dumps(row)))
    assert sample == Sample("a.wav", "алло", 1, extra, Path("a.wav"))


def object_with(**fields: Any) -> str:
    return json.dumps({"audio": "a.wav", "text": "да", **fields}, ensure_ascii=False)


def nested(levels: int) -> str:
    return f'{{"audio":"a.wav","text":"да","x":{"[" * (levels - 1)}{"]" * (levels - 1)}}}'


JSONL_FAULTS = [
    pytest.param("", "eval.jsonl: манифест пуст: в каждой строке нужен объект", id="empty"),
    pytest.param(" \n\n", "eval.jsonl: манифест пуст", id="blank"),
    pytest.param(
        '\n["a.wav", "да"]', "eval.jsonl:2: в строке массив, а нужен объект {", id="array"
    ),
    pytest.param("15", "eval.jsonl:1: в строке число 15, а нужен объект", id="number"),
    pytest.param('"а"', "eval.jsonl:1: в строке строка «а», а нужен объект", id="string"),
    pytest.param("null", "eval.jsonl:1: в строке null, а нужен объект", id="null"),
    pytest.param(
        '[\n{"audio":1}\n]', "eval.jsonl:1: похоже на обычный JSON из многих строк", id="JSON"
    ),
    pytest.param("[" * 100_000, "eval.jsonl:1: вложенность больше 100 уровней", id="deep, open"),
    pytest.param(
        nested(100_000), "eval.jsonl:1: вложенность больше 100 уровней", id="100 000 levels"
    ),
    pytest.param(
        nested(DEEPEST + 1), "eval.jsonl:1: вложенность больше 100 уровней", id="101 levels"
    ),
    pytest.param(
        '{"audio":"a.wav","text":"да"',
        "eval.jsonl:1: не JSON: в конце строки (символ 29): здесь нужна запятая или закрывающая",
        id="cut",
    ),
    pytest.param(
        '{"audio":"a.wav","text":да}',
        "eval.jsonl:1: не JSON: около «да}» (символ 25): здесь нужно значение",
        id="no quotes",
    ),
    pytest.param(
        '{"audio":"C:\\audio\\a.wav","text":"да"}',
        'eval.jsonl:1: не JSON: около «\\audio\\a.wav","text":"да"}» (символ 13): обратная черта',
        id="backslashes",
    ),
    pytest.param(
        object_with() + object_with(), 'eval.jsonl:1: не JSON: около «{"audio"', id="two objects"
    ),
    pytest.param('{"audio":"a.wav","text":"д\tа"}', "eval.jsonl:1: не JSON: около", id="a raw tab"),
    pytest.param(object_with(x=float("nan")), "eval.jsonl:1: NaN нет в JSON", id="NaN"),
    pytest.param(object_with(x=-float("inf")), "eval.jsonl:1: -Infinity нет в JSON", id="Infinity"),
    pytest.param(
        '{"audio":"a.wav","text":"да","x":1e999}',
        "eval.jsonl:1: число 1e999 слишком велико",
        id="1e999",
    ),
    pytest.param(
        '{"audio":"a.wav","text":"да","x":' + "9" * 5000 + "}",
        "eval.jsonl:1: целое число слишком длинно",
        id="5000 digits",
    ),
    pytest.param(
        '{"audio":"a.wav","text":"да","text":"нет"}',
        "eval.jsonl:1: поле «text» повторяется в одном объекте",
        id="a key twice",
    ),
    pytest.param(
        '{"audio":"a.wav","text":"да","x":{"y":1,"y":2}}',
        "eval.jsonl:1: поле «y» повторяется в одном объекте",
        id="a key twice inside",
    ),
    pytest.param(
        '{"audio":"a.wav","text":"да","Text":"нет"}',
        "eval.jsonl:1: поле «text» повторяется (регистр",
        id="a key twice in two cases",
    ),
    pytest.param(
        '{"audio_filepath":"a.wav","text":"да"}',
        "eval.jsonl:1: нет поля «audio», есть «audio_filepath», «text»; переименуйте «audio_file",
        id="NeMo's names",
    ),
    pytest.param(
        "{}", "eval.jsonl:1: нет полей «audio» и «text», и никаких других", id="empty object"
    ),
    pytest.param(
        object_with(text=15),
        "eval.jsonl:1: text: число 15, а нужна строка: возьмите его",
        id="number text",
    ),
    pytest.param(
        object_with(text=1.5), "eval.jsonl:1: text: число 1.5, а нужна строка:", id="float"
    ),
    pytest.param(
        object_with(text=None), "eval.jsonl:1: text: null, а нужна строка", id="null text"
    ),
    pytest.param(
        object_with(text=True), "eval.jsonl:1: text: true, а нужна строка", id="true text"
    ),
    pytest.param(
        object_with(text=["да"]), "eval.jsonl:1: text: массив, а нужна строка", id="list text"
    ),
    pytest.param(
        object_with(audio=7), "eval.jsonl:1: audio: число 7, а нужна строка, путь", id="audio"
    ),
    pytest.param(
        object_with(audio={}), "eval.jsonl:1: audio: объект, а нужна строка", id="audio object"
    ),
    pytest.param(object_with(audio=""), "eval.jsonl:1: поле audio пусто", id="no audio"),
    pytest.param(
        object_with(audio="a\0.wav"), "eval.jsonl:1: в пути «a\\x00.wav» нулевой", id="NUL path"
    ),
    pytest.param(
        '{"audio":"a.wav","text":"\\ud83d"}',
        "eval.jsonl:1: половина суррогатной пары",
        id="half a pair",
    ),
    pytest.param(
        '{"audio":"a.wav","text":"да","x":["\\udC00"]}',
        "eval.jsonl:1: половина сурр",
        id="half, inside",
    ),
    pytest.param(
        object_with(channel=-1), "eval.jsonl:1: channel «-1»: нужен номер", id="channel -1"
    ),
    pytest.param(object_with(channel=1.5), "eval.jsonl:1: channel «1.5»: нужен", id="channel 1.5"),
    pytest.param(object_with(channel=1.0), "eval.jsonl:1: channel «1.0»: нужен", id="channel 1.0"),
    pytest.param(
        object_with(channel=True), "eval.jsonl:1: channel «true»: нужен", id="channel true"
    ),
    pytest.param(object_with(channel=[0]), "eval.jsonl:1: channel «[0]»: нужен", id="channel list"),
    pytest.param('{"audio":"a.wav","text":"\0"}', "eval.jsonl:1: нулевой байт", id="NUL"),
]


@pytest.mark.parametrize(("content", "expected"), JSONL_FAULTS)
def test_a_jsonl_is_refused(here: Path, content: str, expected: str) -> None:
    assert problem(write("eval.jsonl", content)).startswith(expected)


def test_faults_of_several_json_lines_are_reported_together(here: Path) -> None:
    content = "\n".join(
        ["{", "5", object_with(), object_with(text=1, channel="x", audio="нет.wav")]
    )
    found = problems(write("eval.jsonl", "\n" + object_with(text="") + "\n" + content))
    assert [message.split(": ")[0] for message in found] == [
        f"eval.jsonl:{line}" for line in (2, 3, 4, 6, 6, 6)
    ]


def test_a_control_character_in_a_path_is_explained(here: Path) -> None:
    message = problem(write("eval.jsonl", '{"audio":"calls\\temp.wav","text":"да"}'))
    assert "записи «calls\\temp.wav» нет: в пути управляющий символ" in message


def test_as_many_levels_as_allowed_load_and_can_be_written_again(here: Path) -> None:
    (sample,) = load(write("eval.jsonl", nested(DEEPEST)))
    json.dumps(dict(sample.extra), indent=2)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(UNTIMED, max_examples=40)
@given(
    rows=st.lists(
        st.tuples(st.text(max_size=8), st.dictionaries(st.sampled_from("xyzё"), JSON_VALUES)),
        min_size=1,
    ),
    escaped=st.booleans(),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_what_json_writes_loads_back(
    here: Path, rows: list[tuple[str, dict[str, Any]]], escaped: bool, line_end: str
) -> None:
    lines = [
        json.dumps({"audio": "a.wav", "text": text, **extra}, ensure_ascii=escaped)
        for text, extra in rows
    ]
    write("eval.jsonl", line_end.join(lines).encode())
    loaded = load_manifest("eval.jsonl", allow_empty=True, warn=lambda _: None)
    assert [(sample.text, sample.extra) for sample in loaded] == rows


# --- Empty texts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "  ", "...", "«—»", "\u200b", "\u0301"])
def test_an_empty_text_is_a_recording_without_speech_when_allowed(here: Path, text: str) -> None:
    write("eval.csv", f'audio,text\na.wav,"{text}"\n')
    assert problem("eval.csv").startswith("eval.csv:2: ")
    (sample,) = load("eval.csv", allow_empty=True)
    assert sample.text == text
    write("eval.jsonl", object_with(text=text))
    assert problem("eval.jsonl").startswith("eval.jsonl:1: ")
    assert load("eval.jsonl", allow_empty=True)[0].text == text


def test_marks_of_variants_are_checked_when_they_are_to_be_read(here: Path) -> None:
    content = (
        "audio,text\n"
        "a.wav,{тысяча|1000} рублей\n"
        "a.wav,<*>\n"
        "b.wav,{ну}\n"
        "b.wav,{тысяча|1000 рублей\n"
        "c.wav,да}\n"
        "c.wav,...\n"
    )
    with pytest.raises(ManifestError) as error:
        load_manifest(write("eval.csv", content), variants=True)
    first, second, third = error.value.problems
    assert first.startswith("eval.csv:5: скобка открыта и не закрыта: «{тысяча|1000 рублей»; ")
    assert second.startswith("eval.csv:6: лишняя «}» после «да»: уберите её")
    assert third.startswith("eval.csv:7: в тексте «...» нет ни букв, ни цифр")
    good = "".join(content.splitlines(keepends=True)[:4])
    warnings: list[str] = []
    samples = load_manifest(write("eval.csv", good), variants=True, warn=warnings.append)
    assert [sample.text for sample in samples] == ["{тысяча|1000} рублей", "<*>", "{ну}"]
    assert len(warnings) == 1  # two texts of one recording
    assert "другой текст" in warnings[0]


def test_marks_that_nobody_reads_are_said_once(here: Path) -> None:
    content = "audio,text\na.wav,да\nb.wav,{тысяча|1000} рублей\nc.wav,да <*>\n"
    warnings: list[str] = []
    samples = load_manifest(write("eval.csv", content), warn=warnings.append)
    assert len(samples) == 3
    assert warnings == [
        "eval.csv:3: в тексте «{тысяча|1000} рублей» есть скобки {…} или <*> (и ещё в текстах: 1), "
        "прочитаны как обычный текст; если это варианты, их читают evaluate и score с --variants"
    ]


def test_allowing_empty_texts_allows_no_missing_ones(here: Path) -> None:
    assert "text: null" in problem(write("e.jsonl", object_with(text=None)), allow_empty=True)
    assert "нет поля «text»" in problem(write("e.jsonl", '{"audio": "a.wav"}'), allow_empty=True)


# --- Encodings and files -------------------------------------------------------------------------

RUSSIAN = "audio;text\na.wav;Здравствуйте, чем могу помочь?\nb.wav;«Ёлки» - за 15 минут\n"
CAPITALS = "audio;text\na.wav;ЗДРАВСТВУЙТЕ, ЧЕМ МОГУ ПОМОЧЬ?\nb.wav;«ЁЛКИ» - ЗА 15 МИНУТ\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(RUSSIAN.encode("utf-16"), "в UTF-16, а нужна UTF-8", id="UTF-16"),
        pytest.param(
            b"\xfe\xff" + RUSSIAN.encode("utf-16-be"), "в UTF-16, а нужна", id="UTF-16 BE"
        ),
        pytest.param(RUSSIAN.encode("utf-16-le"), "похоже на UTF-16; ", id="UTF-16 LE, no BOM"),
        pytest.param(RUSSIAN.encode("utf-16-be"), "похоже на UTF-16; ", id="UTF-16 BE, no BOM"),
        pytest.param(RUSSIAN.encode("utf-32"), "в UTF-32, а нужна UTF-8", id="UTF-32"),
        pytest.param(RUSSIAN.encode("cp1251"), "похоже на Windows-1251; ", id="cp1251"),
        pytest.param(CAPITALS.encode("cp1251"), "похоже на Windows-1251; ", id="CP1251 CAPS"),
        pytest.param(RUSSIAN.encode("koi8-r", "replace"), "похоже на KOI8-R; ", id="KOI8-R"),
        pytest.param(RUSSIAN.encode("cp866", "replace"), "похоже на CP866; ", id="CP866"),
    ],
)
def test_a_foreign_encoding_is_named_with_the_way_out(
    here: Path, content: bytes, expected: str
) -> None:
    message = problem(write("мой eval.csv", content))
    assert message.startswith("мой eval.csv: файл ")
    assert expected in message
    assert "сохраните его в Excel как «CSV UTF-8» или перекодируйте: iconv -f " in message
    command = message.partition("перекодируйте: ")[2]
    done = subprocess.run(command, shell=True, check=False)
    assert done.returncode == 0
    converted = load("мой eval-utf8.csv")
    assert len(converted) == 2
    assert converted[0].text.casefold() == "здравствуйте, чем могу помочь?"


def test_a_foreign_jsonl_has_no_advice_about_excel(here: Path) -> None:
    message = problem(write("e.jsonl", object_with(text="привет всем").encode("cp1251")))
    assert message == (
        "e.jsonl: файл не в UTF-8, похоже на Windows-1251; перекодируйте: "
        "iconv -f WINDOWS-1251 -t UTF-8 e.jsonl > e-utf8.jsonl"
    )


def test_a_spoilt_byte_in_utf8_is_named_with_its_line(here: Path) -> None:
    content = RUSSIAN.replace("чем", "попопопопо").encode().replace("минут".encode(), b"\xff\xfe")
    message = problem(write("eval.csv", content))
    assert (
        message
        == "eval.csv:3: байт 0xFF не из UTF-8: файл повреждён или в другой кодировке, "
        + ("а нужна UTF-8")
    )


@pytest.mark.parametrize("start", [b"PK\x03\x04\x14\0", b"\xd0\xcf\x11\xe0\xa1\xb1"])
def test_a_workbook_named_csv_is_called_a_workbook(here: Path, start: bytes) -> None:
    message = problem(write("eval.csv", start + bytes(range(256))))
    assert message.startswith("eval.csv: это книга Excel или архив, а не текст")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "eval",
            "eval: по имени без суффикса нельзя понять, что в файле; манифест: файл .csv, .tsv",
        ),
        ("eval.txt", "eval.txt: файлы «.txt» не читаются; манифест: файл .csv"),
        ("eval.xlsx", "eval.xlsx: электронные таблицы не читаются: сохраните лист как «CSV UTF-8»"),
        ("eval.json", "eval.json: из JSON читается JSON Lines: по одному объекту в строке"),
        ("a.wav", "a.wav: это запись, а не манифест; манифест: файл .csv"),
        ("нет.csv", "нет.csv: такого файла или каталога нет; манифест: файл .csv"),
        ("a.wav/eval.csv", "a.wav/eval.csv: на пути стоит файл, а не каталог"),
        ("loop.csv", "loop.csv: символическая ссылка ведёт сама на себя"),
        ("x" * 300 + ".csv", "x" * 300 + ".csv: имя длиннее, чем допускает система"),
        ("x\0.csv", "x\\x00.csv: недопустимое имя файла"),
        ("\ud800.csv", "\\ud800.csv: недопустимое имя файла"),
        ("", "манифест не указан; манифест: файл .csv"),
        ("fifo.csv", "fifo.csv: канал (FIFO), а не обычный файл; манифест: файл .csv"),
        ("socket.jsonl", "socket.jsonl: сокет, а не обычный файл"),
        ("device.csv", "device.csv: устройство, а не обычный файл"),
    ],
)
def test_what_is_no_manifest_is_refused_unopened(here: Path, name: str, expected: str) -> None:
    touch(here, "eval", "eval.txt", "eval.xlsx", "eval.json")
    os.mkfifo("fifo.csv")
    Path("loop.csv").symlink_to("loop.csv")
    Path("device.csv").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.jsonl")
        assert problem(name).startswith(expected)


def test_a_manifest_without_permission_is_refused(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    write("eval.csv", RUSSIAN)
    monkeypatch.setattr(Path, "read_bytes", refuse)  # root may read anything
    assert problem("eval.csv") == "eval.csv: нет прав на чтение"


# --- Recordings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("audio", "file"),
    [
        ("calls/my call.wav", "calls/my call.wav"),
        ("звонки/первый.wav", "звонки/первый.wav"),
        ("calls\\my call.wav", "calls/my call.wav"),
        (" calls\\my call.wav ", "calls/my call.wav"),
        ("./calls/../calls/my call.wav", "calls/my call.wav"),
        ("a.wav ", "a.wav"),
        ("back\\slash.wav", "back\\slash.wav"),
        ("\u0438\u0306.wav", "\u0438\u0306.wav"),
        ("decomposed-\u0439.wav", "decomposed-\u0438\u0306.wav"),
        ("composed-\u0438\u0306.wav", "composed-\u0439.wav"),
        ("%20 #1 [x].wav", "%20 #1 [x].wav"),
        ("a.pcm", "a.pcm"),
    ],
)
def test_a_recording_is_found_relative_to_the_manifest(here: Path, audio: str, file: str) -> None:
    (here / "data").mkdir()
    touch(here / "data", file)
    for name in ("data/eval.csv", str(here / "data" / "eval.csv")):
        (sample,) = load(write(name, f'audio,text\n"{audio}",да\n'))
        assert sample.audio == audio
        assert sample.path.samefile(here / "data" / file)


def test_an_absolute_path_is_taken(here: Path) -> None:
    (here / "data").mkdir()
    (sample,) = load(write("data/eval.csv", f"audio,text\n{here}/a.wav,да\n"))
    assert sample.path == here / "a.wav"


def test_a_tilde_is_a_character(here: Path) -> None:
    write("eval.csv", "audio,text\n~/x.wav,да\n")
    assert problem("eval.csv") == (
        "eval.csv:2: записи «~/x.wav» нет: «~» здесь обычный символ, напишите путь целиком"
    )
    touch(here, "~/x.wav")
    (sample,), warnings = load_warned("eval.csv")
    assert sample.path == Path("~/x.wav")
    assert warnings == [
        "путь «~/x.wav» взят буквально: «~» здесь обычный символ, а не домашний каталог"
    ]


@pytest.mark.parametrize(
    ("audio", "expected"),
    [
        (
            "нет.wav",
            "записи «нет.wav» нет (искали {here}/нет.wav): пути пишутся относительно каталога",
        ),
        ("sub/нет.wav", "записи «sub/нет.wav» нет (искали {here}/sub/нет.wav): пути пишутся"),
        ("a.wav/x.wav", "записи «a.wav/x.wav» нет (искали"),
        ("/нет/a.wav", "записи «/нет/a.wav» нет"),
        ("A.WAV", "записи «A.WAV» нет: рядом есть «a.wav», регистр букв должен совпадать"),
        ("sub", "«sub»: каталог, а нужен файл записи"),
        ("fifo.wav", "«fifo.wav»: канал (FIFO), а нужен файл записи"),
        ("dead.wav", "запись «dead.wav»: символическая ссылка ведёт к файлу, которого нет"),
        ("loop.wav", "запись «loop.wav»: символическая ссылка ведёт сама на себя"),
        ("x" * 5000 + ".wav", "запись «" + "x" * 59 + "…»: имя длиннее, чем допускает система"),
        ("https://example.org/a.wav", "«https://example.org/a.wav»: ссылки не читаются: скачайте"),
        ("D:\\calls\\a.wav", "записи «D:\\calls\\a.wav» нет: это путь Windows с буквой диска"),
    ],
)
def test_a_missing_recording_is_explained(here: Path, audio: str, expected: str) -> None:
    (here / "sub").mkdir()
    os.mkfifo("fifo.wav")
    Path("dead.wav").symlink_to("nowhere.wav")
    Path("loop.wav").symlink_to("loop.wav")
    message = problem(write("eval.csv", f"audio,text\n{audio},да\n"))
    assert message.startswith("eval.csv:2: " + expected.format(here=here))
    assert len(message) < 250 + len(str(here))


def test_one_file_in_three_spellings_is_one_recording(here: Path) -> None:
    Path("link.wav").symlink_to("a.wav")
    rows = ["a.wav,0", "./a.wav,1", "link.wav,2"]
    content = "\n".join(["audio,channel,text", *(row + ",да" for row in rows)])
    samples = load(write("eval.csv", content))
    assert len({sample.path.resolve() for sample in samples}) == 1
    _, warnings = load_warned(write("eval.csv", content + "\nlink.wav,1,Да!"))
    assert warnings == [
        "eval.csv:5: запись «link.wav» (канал 1) с тем же текстом уже есть (строка 3); "
        "она войдёт в оценку дважды"
    ]


def test_rows_of_one_recording_with_other_texts_are_a_warning(here: Path) -> None:
    content = "audio,text\na.wav,да\nb.wav,да\na.wav,нет\na.wav,Да.\na.wav,нет\n"
    samples, warnings = load_warned(write("eval.csv", content))
    assert len(samples) == 5
    assert warnings == [
        "eval.csv:5: запись «a.wav» с тем же текстом уже есть (строка 2); она войдёт в оценку "
        "дважды",
        "eval.csv:6: запись «a.wav» с тем же текстом уже есть (строка 4); она войдёт в оценку "
        "дважды",
        "eval.csv:4: у записи «a.wav» уже есть другой текст (строка 2); распознанное сравнивается "
        "с каждым из них целиком",
    ]


def test_many_warnings_of_a_kind_end_in_a_count(here: Path) -> None:
    rows = ["a.wav,да"] * 13 + [f"b.wav,{n}" for n in range(10)]
    _, warnings = load_warned(write("eval.csv", "\n".join(["audio,text", *rows])))
    assert len(warnings) == 12
    assert warnings[5] == "eval.csv: … и ещё повторов: 7"
    assert warnings[11] == "eval.csv: … и ещё других текстов: 4"


def test_warnings_go_to_the_log_by_default(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="stt_ru"):
        load_manifest(write("eval.csv", "audio,text\na.wav,100 %s\na.wav,100 %s\n"))
    (record,) = caplog.records
    assert "строка 2" in record.getMessage()


def test_a_refused_manifest_warns_of_nothing(here: Path) -> None:
    write("eval.csv", "audio,text\na.wav,да\na.wav,да\nb.wav,\n")
    warnings: list[str] = []
    with pytest.raises(ManifestError):
        load_manifest("eval.csv", warn=warnings.append)
    assert not warnings


# --- Folders -------------------------------------------------------------------------------------


def make_folder(name: str, *files: str, **texts: str) -> str:
    """A folder with recordings `files`, and with texts where the file is a `.txt`."""
    folder = Path(name)
    folder.mkdir()
    for file in files:
        content = f"текст {file}" if file.lower().endswith(".txt") else "звук"
        (folder / file).write_text(content, encoding="utf-8")
    return name


def test_a_folder_is_its_recordings_with_their_texts_in_natural_order(here: Path) -> None:
    make_folder("calls", "10.wav", "10.txt", "9.mp3", "9.txt", "1.ogg", "1.txt", "readme.md")
    samples = load("calls")
    assert [sample.audio for sample in samples] == ["1.ogg", "9.mp3", "10.wav"]
    assert samples[2] == Sample("10.wav", "текст 10.txt", path=Path("calls/10.wav"))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("\ufeffалло\r\n", "алло"),
        ("раз\n\nдва\n", "раз\n\nдва"),
        ('"a.wav",алло', '"a.wav",алло'),
    ],
)
def test_the_text_of_a_folder_is_the_whole_file(here: Path, content: str, text: str) -> None:
    make_folder("calls", "a.wav")
    write("calls/a.txt", content)
    assert load("calls")[0].text == text


@pytest.mark.parametrize(
    ("files", "pairs"),
    [
        (["CALL.WAV", "call.TXT"], {"CALL.WAV": "call.TXT"}),
        (["Ёлка.wav", "ёлка.txt"], {"Ёлка.wav": "ёлка.txt"}),
        (["\u0439.wav", "\u0438\u0306.txt"], {"\u0439.wav": "\u0438\u0306.txt"}),
        (["a.b.wav", "a.b.txt"], {"a.b.wav": "a.b.txt"}),
        (["a.wav", "A.wav", "a.txt", "A.txt"], {"A.wav": "A.txt", "a.wav": "a.txt"}),
    ],
)
def test_names_pair_in_any_case(here: Path, files: list[str], pairs: dict[str, str]) -> None:
    samples = load(make_folder("calls", *files))
    assert {sample.audio: sample.text for sample in samples} == {
        audio: f"текст {text}" for audio, text in pairs.items()
    }


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            [], ["calls: в каталоге нет записей (.wav, .mp3, .flac и других)"], id="empty"
        ),
        pytest.param(["a.txt", "b.md"], ["calls: в каталоге нет записей"], id="texts alone"),
        pytest.param(
            ["eval.csv"],
            ["calls: в каталоге нет записей (.wav, .mp3, .flac и других); если манифест «eval"],
            id="a manifest inside",
        ),
        pytest.param(
            ["a.wav", "b.wav", "a.txt"],
            ["calls: нет текста у 1 записи: «b.wav»; рядом с b.wav нужен b.txt"],
            id="a missing text",
        ),
        pytest.param(
            [f"{n}.wav" for n in range(12)],
            ["calls: нет текста у 12 записей: «0.wav», «1.wav», «2.wav», «3.wav», «4.wav» и ещё 7"],
            id="twelve missing texts",
        ),
        pytest.param(
            ["a.mp3", "a.wav", "a.txt"],
            ["calls: один текст «a.txt» у нескольких записей: «a.mp3», «a.wav»; оставьте одну"],
            id="one text of two",
        ),
        pytest.param(
            ["A.wav", "a.wav", "a.txt"],
            ["calls: один текст «a.txt» у нескольких"],
            id="two cases, one text",
        ),
        pytest.param(
            ["a.wav", "a.txt", "A.TXT"],
            ["calls: непонятно, какой текст чей: «a.wav» и «A.TXT», «a.txt»"],
            id="two texts of one",
        ),
        pytest.param(
            ["a.mp3", "a.wav", "a.txt", "A.txt"],
            ["calls: непонятно, какой текст чей"],
            id="two of two",
        ),
    ],
)
def test_a_folder_is_refused(here: Path, files: list[str], expected: list[str]) -> None:
    assert_problems(problems(make_folder("calls", *files)), expected)


def test_all_faults_of_a_folder_are_reported_together(here: Path) -> None:
    make_folder("calls", "a.wav", "b.wav", "c.wav", "d.wav", "f.wav", "g.wav", "g.mp3", "g.txt")
    write("calls/a.txt", "...")
    write("calls/b.txt", "привет, как дела".encode("cp1251"))
    write("calls/c.txt", "раз\nдва\0")
    os.mkfifo("calls/e.wav")
    Path("calls/d.txt").symlink_to("nowhere.txt")
    found = problems("calls")
    assert_problems(
        found,
        [
            "calls/d.txt: символическая ссылка ведёт к файлу, которого нет",
            "calls/e.wav: канал (FIFO), а не обычный файл",
            "calls: один текст «g.txt» у нескольких записей: «g.mp3», «g.wav»",
            "calls: нет текста у 2 записей: «d.wav», «f.wav»",
            "calls/a.txt: в тексте «...» нет ни букв, ни цифр",
            "calls/b.txt: файл не в UTF-8, похоже на Windows-1251; перекодируйте: iconv -f WIN",
            "calls/c.txt:2: нулевой байт",
        ],
    )


def test_what_a_folder_leaves_out_is_said(here: Path) -> None:
    make_folder("calls", "a.wav", "a.txt", "b.txt", ".c.wav", ".wav", ".DS_Store", "notes.md")
    make_folder("calls/sub", "x.wav", "x.txt")
    make_folder("calls/.git")
    samples, warnings = load_warned("calls")
    assert [sample.audio for sample in samples] == ["a.wav"]
    assert warnings == [
        "calls: вложенные каталоги не читаются: «sub»",
        "calls: скрытые файлы не читаются: «.c.wav», «.wav»",
        "calls: есть текст, но нет записи: «b.txt»",
    ]


def test_a_folder_may_be_named_like_a_file(here: Path) -> None:
    assert load(make_folder("x.csv", "a.wav", "a.txt"))[0].audio == "a.wav"


def test_a_folder_may_be_the_current_one(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_folder("calls", "a.wav", "a.txt"))
    (sample,) = load(".")
    assert sample.path.exists()


def test_empty_texts_of_a_folder_follow_the_same_rule(here: Path) -> None:
    make_folder("calls", "a.wav")
    write("calls/a.txt", "\n")
    assert problem("calls").startswith("calls/a.txt: текст пуст: впишите")
    assert load("calls", allow_empty=True)[0].text == ""


def test_one_recording_twice_in_a_folder_is_a_warning(here: Path) -> None:
    make_folder("calls", "a.wav", "a.txt", "b.txt")
    Path("calls/b.wav").symlink_to("a.wav")
    _, warnings = load_warned("calls")
    assert warnings == [
        "calls/b.txt: у записи «b.wav» уже есть другой текст (calls/a.txt); "
        "распознанное сравнивается с каждым из них целиком"
    ]


# --- Samples -------------------------------------------------------------------------------------


def test_a_sample_of_two_values_has_the_rest_by_default() -> None:
    assert Sample("calls/a.wav", "да") == Sample(
        audio="calls/a.wav", text="да", channel=None, extra={}, path=Path("calls/a.wav")
    )
    assert len({Sample("a.wav", "да", 1, {"x": "1"}), Sample("a.wav", "да", 1, {"x": "1"})}) == 1


def test_a_sample_takes_a_path_for_audio() -> None:
    assert Sample(Path("calls/a.wav"), "да").audio == "calls/a.wav"  # type: ignore[arg-type]  # as users do


@pytest.mark.parametrize("channel", [-1, True, 1.5, "0"])
def test_a_sample_refuses_what_is_no_channel(channel: Any) -> None:
    with pytest.raises(UsageError, match="channel: нужно целое число от 0 или None"):
        Sample("a.wav", "да", channel)


def test_a_sample_refuses_what_is_no_text() -> None:
    with pytest.raises(UsageError, match="text: нужна строка, а не None"):
        Sample("a.wav", None)  # type: ignore[arg-type]  # from a table with gaps


# --- The module ----------------------------------------------------------------------------------


def test_the_manifest_is_read_without_the_heavy_libraries() -> None:
    code = "import sys, stt_ru.manifest; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "soundfile", "onnxruntime", "onnx_asr", "rapidfuzz", "rich", "typer", "av"}
    assert not heavy & set(out.stdout.split())


def test_the_messages_on_the_page_are_real(here: Path) -> None:
    rows = 'calls/1.wav,да\na.wav,да,нет\nb.wav,\nc.wav,"Добрый день\n'
    make_folder("calls", "2.wav", "3.wav", "4.mp3", "4.wav", "4.txt")
    in_cp1251 = "audio,text\na.wav,Добрый день\n".encode("cp1251")
    found = [
        *problems(write("eval.csv", "audio,text\n" + rows)),
        *problems(write("eval.csv", "audio|text\n")),
        *problems(write("eval.csv", "audio_filepath,text\n")),
        *problems(write("eval.csv", in_cp1251)),
        *problems(write("eval.csv", "audio,text,channel\na.wav,да,-1")),
        *problems(write("eval.jsonl", object_with(text=15))),
        *problems("calls"),
    ]
    page = DOCS.read_text(encoding="utf-8").replace("\\|", "|").replace("/data/", f"{here}/")
    assert len(found) == 11
    assert [message for message in found if message not in page] == []


def documented(heading: str) -> set[str]:
    section = DOCS.read_text(encoding="utf-8").partition(heading)[2].partition("\n\n")[0]
    return set(re.findall(r"`(\.[a-z0-9]+)`", section))


def test_the_page_lists_the_suffixes_that_are_taken() -> None:
    assert documented("Читаются без дополнений:") == CORE_SUFFIXES
    assert documented("С дополнением `media`:") == MEDIA_SUFFIXES
    assert CORE_SUFFIXES | MEDIA_SUFFIXES == AUDIO_SUFFIXES
    assert not CORE_SUFFIXES & MEDIA_SUFFIXES
