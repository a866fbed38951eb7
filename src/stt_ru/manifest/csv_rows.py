"""CSV as people and Excel write it: RFC 4180, the delimiter by the header, lines as in an editor.

Not the csv module: it has no line for an unclosed quote and lets it swallow rows, limits a cell to
128 KB by a setting of the whole process, and does not know where a record began.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from stt_ru.files.reading import LINE_END
from stt_ru.files.wording import counted, quoted
from stt_ru.manifest.recordings import looks_like_recording
from stt_ru.manifest.rows import (
    AUDIO,
    CHANNEL,
    TEXT,
    Faults,
    Row,
    describe_missing_names,
    parse_channel,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class _Delimiter(NamedTuple):
    name: str
    instrumental: str  # «текст с запятой»


_DELIMITERS: Final = {
    ",": _Delimiter("запятая", "запятой"),
    ";": _Delimiter("точка с запятой", "точкой с запятой"),
    "\t": _Delimiter("табуляция", "табуляцией"),
}
_HEADER = "первой строкой нужны имена колонок, например «audio,text»"

_LINE_BREAK = re.compile(r"[\r\n]")
_PHYSICAL_LINE = re.compile(r"[^\r\n]*")
# A quoted cell or a plain one, then the delimiter if one follows. Possessive: half of a doubled
# quote must not close what is never closed.
_CELL = {
    delimiter: re.compile(rf'(?:"((?:[^"]++|"")*+)"|(?!")([^\r\n{delimiter}]*+))({delimiter})?')
    for delimiter in _DELIMITERS
}
_EXCEL_HINT = re.compile(r'\s*"?sep=.?"?[,;|\t]*\s*', re.IGNORECASE)
_BLANK = ' \t\u00a0\ufeff",;'


class _BadQuoteError(Exception):
    """A quoted cell that does not end as RFC 4180 says."""

    def __init__(self, opened: int, closed: int | None) -> None:
        self.opened = opened
        self.closed = closed  # after its second quote; None if it has none, or far from here


class _Columns(NamedTuple):
    width: int
    audio: int
    text: int
    channel: int | None
    extra: list[tuple[int, str]]


def read_csv(text: str, faults: Faults) -> Iterator[Row]:
    """Rows of a CSV text.

    A quote inside an unquoted cell stands for itself. A row's place is the line it begins at.
    """
    start, line = _skip_to_header(text)
    if start == len(text):
        faults.add(None, f"манифест пуст: {_HEADER}")
        return
    delimiter = _find_delimiter(text, start)
    try:
        header, end = _parse_record(text, start, delimiter)
    except _BadQuoteError:
        faults.add(line, f"кавычка в заголовке не закрыта: {_HEADER}")
        return
    columns = _columns(header)
    if isinstance(columns, str):
        faults.add(line, _foreign_delimiter(text, start) or columns)
        return
    line += _count_breaks(text, start, end)
    position = _after_line_end(text, end)
    yield from _csv_rows(text, position, line + 1, delimiter, columns, faults)


def _skip_to_header(text: str) -> tuple[int, int]:
    """Where the first line with a value begins, Excel's «sep=;» apart, and its number."""
    position, line, is_first = 0, 1, True
    while position < len(text):
        written = _match(_PHYSICAL_LINE, text, position)[0]
        if written.strip(_BLANK):
            if not (is_first and _EXCEL_HINT.fullmatch(written)):
                break
            is_first = False
        position = _after_line_end(text, position + len(written))
        line += 1
    return min(position, len(text)), line


def _match(pattern: re.Pattern[str], text: str, position: int) -> re.Match[str]:
    """A match of a pattern that matches the empty string too."""
    match = pattern.match(text, position)
    assert match is not None
    return match


def _after_line_end(text: str, position: int) -> int:
    return position + (2 if text.startswith("\r\n", position) else 1)


def _count_breaks(text: str, start: int, end: int) -> int:
    return len(LINE_END.findall(text, start, end))


def _find_delimiter(text: str, start: int) -> str:
    """The delimiter by which the header has `audio` and `text`, or else the most columns."""
    best, best_rank = ",", (False, 0)
    for delimiter in _DELIMITERS:
        try:
            header, _ = _parse_record(text, start, delimiter)
        except _BadQuoteError:
            continue
        names = {name.casefold() for name in _column_names(header)}
        rank = (names >= {AUDIO, TEXT}, len(header))
        if rank > best_rank:
            best, best_rank = delimiter, rank
    return best


def _column_names(header: Iterable[str]) -> list[str]:
    return [cell.strip("\ufeff\u200b").strip() for cell in header]


def _columns(header: list[str]) -> _Columns | str:
    """What each column is, or what is wrong with the header."""
    names = _column_names(header)
    while names and not names[-1]:
        names.pop()  # left by delimiters at the end of the line
    folded = [name.casefold() for name in names]
    twice = sorted(name for name, times in Counter(folded).items() if times > 1)
    if twice:
        which = ", ".join(quoted(name) if name else "без имени" for name in twice)
        return f"колонка повторяется: {which} (регистр и пробелы по краям не различаются)"
    missing = [name for name in (AUDIO, TEXT) if name not in folded]
    if missing:
        if any(looks_like_recording(name) for name in names):
            return f"нет заголовка, файл начинается с {quoted(header[0])}: {_HEADER}"
        return describe_missing_names(missing, names, "колонки", "колонок")
    audio, text = folded.index(AUDIO), folded.index(TEXT)
    channel = folded.index(CHANNEL) if CHANNEL in folded else None
    extra = [(i, name) for i, name in enumerate(names) if i not in (audio, text, channel)]
    return _Columns(len(names), audio, text, channel, extra)


def _foreign_delimiter(text: str, start: int) -> str:
    """What is wrong if some other delimiter makes a header of the line; empty if none does."""
    header = _match(_PHYSICAL_LINE, text, start)[0]
    taken = ", ".join(delimiter.name for delimiter in _DELIMITERS.values())
    for delimiter in "|:/ ":
        names = {name.strip('"').casefold() for name in _column_names(header.split(delimiter))}
        if names >= {AUDIO, TEXT}:
            which = "пробел" if delimiter == " " else f"«{delimiter}»"
            return f"разделитель {which} не принимается; принимаются: {taken}"
    return ""


def _csv_rows(
    text: str, position: int, line: int, delimiter: str, columns: _Columns, faults: Faults
) -> Iterator[Row]:
    size = len(text)
    quote = text.find('"', position)
    is_uncertain = False
    while position < size:
        started = line
        match = _LINE_BREAK.search(text, position)
        end = match.start() if match else size
        if quote == -1 or quote >= end:
            cells = text[position:end].split(delimiter)
        else:
            try:
                cells, end = _parse_record(text, position, delimiter)
                line += _count_breaks(text, position, end)
                if line > started:
                    _refuse_swallowed_rows(text, position, delimiter, columns)
            except _BadQuoteError as bad:
                line = started + _count_breaks(text, position, bad.opened)
                faults.add(line, _describe_bad_quote(text, bad))
                match = _LINE_BREAK.search(text, bad.opened)
                end = match.start() if match else size
                cells, is_uncertain = [], True
            quote = text.find('"', end)
        position = _after_line_end(text, end)
        line += 1
        if is_uncertain:  # perhaps still the broken text, until a line is a row for certain
            if len(cells) <= columns.audio or not looks_like_recording(cells[columns.audio]):
                continue
            is_uncertain = False
        if "".join(cells).strip():  # neither a blank line nor bare delimiters
            yield _csv_row(cells, started, delimiter, columns, faults)


def _parse_record(text: str, start: int, delimiter: str) -> tuple[list[str], int]:
    """Cells of the record at `start`, and where it ends, before its line end.

    Raises:
        _BadQuoteError: If a quoted cell is not closed, or text follows its closing quote.
    """
    cells: list[str] = []
    position = start
    match_cell = _CELL[delimiter].match
    while match := match_cell(text, position):
        quoted_cell, plain_cell, more = match.groups()
        end = match.end()
        if quoted_cell is None:
            cells.append(plain_cell)
        else:
            cells.append(quoted_cell.replace('""', '"'))
            if not more and text[end : end + 1] not in ("", "\r", "\n"):
                raise _BadQuoteError(position, end)
        if not more:
            return cells, end
        position = end
    raise _BadQuoteError(position, None)


def _refuse_swallowed_rows(text: str, start: int, delimiter: str, columns: _Columns) -> None:
    """Take a quoted cell with what looks like rows inside for one whose quote was never closed.

    ``"…`` in one row and ``…"`` in a later one are a valid cell to RFC 4180, and the rows between
    would vanish into its text.

    Raises:
        _BadQuoteError: At the quote of such a cell.
    """
    position, column = start, 0
    while True:
        match = _match(_CELL[delimiter], text, position)
        first, *others = LINE_END.split(match[1] or "")
        starts = [(column, first)] if others else []
        for column_of_line, line in (*starts, *((0, other) for other in others)):
            cells = [""] * column_of_line + line.split(delimiter)
            is_cut = delimiter in line and len(cells) > columns.audio
            if is_cut and looks_like_recording(cells[columns.audio]):
                raise _BadQuoteError(position, None)
        if not match[3]:
            return
        position, column = match.end(), column + 1


def _describe_bad_quote(text: str, bad: _BadQuoteError) -> str:
    if bad.closed is None or _count_breaks(text, bad.opened, bad.closed):
        written = _match(_PHYSICAL_LINE, text, bad.opened)[0]
        return (
            f"кавычка открыта и не закрыта: {quoted(written)}; "
            'закройте ее, а кавычки внутри текста удвойте ("")'
        )
    written = _match(_PHYSICAL_LINE, text, bad.opened)[0]
    return (
        f"после закрывающей кавычки стоит текст: {quoted(written)}; "
        'в кавычки берется весь текст, а кавычки внутри него удваиваются ("")'
    )


def _csv_row(cells: list[str], line: int, delimiter: str, columns: _Columns, faults: Faults) -> Row:
    width = columns.width
    if len(cells) > width and any(cells[width:]):
        while not cells[-1]:
            cells.pop()
        values = counted(len(cells), "значение", "значения", "значений")
        how = f"текст с {_DELIMITERS[delimiter].instrumental} берется в кавычки"
        faults.add(line, f"{values} в строке, а колонок {width}; {how}")
        return Row.faulty(line)
    if len(cells) == 1 and columns.audio == 0:
        other = next((d for d in _DELIMITERS if d != delimiter and d in cells[0]), None)
        if other is not None:
            faults.add(
                line,
                f"1 значение в строке, а колонок {width}: разделитель здесь "
                f"{_DELIMITERS[other].name}, а в заголовке {_DELIMITERS[delimiter].name}",
            )
            return Row.faulty(line)
    if len(cells) < width:
        cells += [""] * (width - len(cells))
    audio: str | None = cells[columns.audio]
    if not audio or audio.isspace():
        faults.add(line, "колонка audio пуста, а нужен путь к записи")
        audio = None
    channel = None
    if columns.channel is not None:
        channel = parse_channel(cells[columns.channel], line, faults)
    extra = {name: cells[i] for i, name in columns.extra} if columns.extra else {}
    return Row(line, audio, cells[columns.text], channel, extra)
