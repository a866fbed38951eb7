"""CSV as people and Excel write it: RFC 4180, delimiter guessed from the header, editor lines.

The csv module is not used: it reports no line for an unclosed quote and lets it swallow rows,
limits a cell to 128 KB by a process-wide setting, and does not tell where a record began.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from stt_ru.files.reading import LINE_END
from stt_ru.files.wording import counted, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Delimiter(NamedTuple):
    """What a delimiter is called in Russian."""

    name: str
    instrumental: str  # «текст с запятой»


DELIMITERS: Final = {
    ",": Delimiter("запятая", "запятой"),
    ";": Delimiter("точка с запятой", "точкой с запятой"),
    "\t": Delimiter("табуляция", "табуляцией"),
}

_LINE_BREAK: Final = re.compile(r"[\r\n]")
_PHYSICAL_LINE: Final = re.compile(r"[^\r\n]*")
# A quoted or plain cell, then the delimiter if one follows. Possessive: half of a doubled quote
# must not close a cell that is never closed.
_CELL: Final = {
    delimiter: re.compile(rf'(?:"((?:[^"]++|"")*+)"|(?!")([^\r\n{delimiter}]*+))({delimiter})?')
    for delimiter in DELIMITERS
}
_EXCEL_HINT: Final = re.compile(r'\s*"?sep=.?"?[,;|\t]*\s*', re.IGNORECASE)
_BLANK: Final = ' \t\u00a0\ufeff",;'


class BadQuoteError(Exception):
    """A quoted cell that does not end as RFC 4180 requires.

    Attributes:
        opened: Position of its opening quote.
        closed: Position after its closing quote; None if there is none.
    """

    def __init__(self, opened: int, closed: int | None) -> None:
        self.opened = opened
        self.closed = closed

    def describe(self, text: str) -> str:
        """What is wrong with the text and how to fix it, in Russian."""
        written = quoted(line_at(text, self.opened))
        if self.closed is None or count_breaks(text, self.opened, self.closed):
            return (
                f"кавычка открыта и не закрыта: {written}; "
                'закройте её, а кавычки внутри текста удвойте ("")'
            )
        return (
            f"после закрывающей кавычки стоит текст: {written}; "
            'в кавычки берётся весь текст, а кавычки внутри него удваиваются ("")'
        )


class Records:
    """Iterates over the records of a CSV text, yielding the cells of each.

    A quote inside an unquoted cell is an ordinary character.

    Args:
        text: The whole text.
        delimiter: One of `DELIMITERS`.
        position: Where the first record begins.
        line: Its line number.

    Attributes:
        start: Where the last record read begins.
        line: The line it begins on.
        end: Where it ends, before its line break.
        end_line: The line it ends on.
    """

    def __init__(self, text: str, delimiter: str, position: int = 0, line: int = 1) -> None:
        self._text = text
        self._delimiter = delimiter
        self._next = position
        self._quote = text.find('"', position)
        self.start = self.end = position
        self.line = line
        self.end_line = line - 1

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        """Cells of the next record.

        Raises:
            BadQuoteError: If a quoted cell is not closed, or text follows its closing quote;
                `resume_after` continues after it.
        """
        text, start, line = self._text, self._next, self.end_line + 1
        if start >= len(text):
            raise StopIteration
        self.start, self.line = start, line
        end = line_end(text, start)
        if self._quote == -1 or self._quote >= end:
            self.end, self.end_line = end, line
            self._next = after_line_end(text, end)
            return text[start:end].split(self._delimiter)
        cells, end = parse_record(text, start, self._delimiter)
        self._end_at(end, line + count_breaks(text, start, end))
        return cells

    def resume_after(self, bad: BadQuoteError) -> int:
        """Continue with the line after the one with a bad quote.

        Returns:
            The line number of the quote.
        """
        line = self.line + count_breaks(self._text, self.start, bad.opened)
        self._end_at(line_end(self._text, bad.opened), line)
        return line

    def _end_at(self, end: int, line: int) -> None:
        self.end, self.end_line = end, line
        self._next = after_line_end(self._text, end)
        self._quote = self._text.find('"', end)


def parse_record(text: str, start: int, delimiter: str) -> tuple[list[str], int]:
    """Cells of the record at ``start``, and where it ends, before its line break.

    Raises:
        BadQuoteError: If a quoted cell is not closed, or text follows its closing quote.
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
                raise BadQuoteError(position, end)
        if not more:
            return cells, end
        position = end
    raise BadQuoteError(position, None)


def quoted_cells(text: str, start: int, delimiter: str) -> Iterator[tuple[int, str]]:
    """Where each cell of the record at ``start`` begins, and the text inside its quotes as written.

    For an unquoted cell the text is empty.
    """
    position = start
    while match := _CELL[delimiter].match(text, position):
        yield position, match[1] or ""
        if not match[3]:
            return
        position = match.end()


def skip_to_header(text: str) -> tuple[int, int]:
    """Position and number of the first line with a value, skipping Excel's «sep=;»."""
    position, line, is_first = 0, 1, True
    while position < len(text):
        written = line_at(text, position)
        if written.strip(_BLANK):
            if not (is_first and _EXCEL_HINT.fullmatch(written)):
                break
            is_first = False
        position = after_line_end(text, position + len(written))
        line += 1
    return min(position, len(text)), line


def loose_cells(text: str, start: int, delimiter: str) -> list[str]:
    """Cells of the record at ``start`` even if its quotes are wrong: to detect the kind of text.

    Quotes are treated as by the csv module when it is not strict.
    """
    cells: list[str] = []
    position = start
    while match := _CELL[delimiter].match(text, position):
        quoted_cell, cell, more = match.groups()
        position = match.end()
        if quoted_cell is not None:
            cell = quoted_cell.replace('""', '"')
            if not more and (rest := _CELL[delimiter].match(text, position)) is not None:
                cell, more, position = cell + rest[2], rest[3], rest.end()
        cells.append(cell)
        if not more:
            return cells
    return [*cells, text[position + 1 :].replace('""', '"')]


def too_many(cells: Sequence[str], width: int, delimiter: str) -> str:
    """What is wrong with a record that has values beyond the last column; empty if nothing is."""
    if len(cells) <= width or not any(cells[width:]):
        return ""
    last = max(number for number, cell in enumerate(cells, start=1) if cell)
    values = counted(last, "значение", "значения", "значений")
    how = f"текст с {DELIMITERS[delimiter].instrumental} берётся в кавычки"
    return f"{values} в строке, а колонок {width}; {how}"


def line_at(text: str, position: int) -> str:
    """The text from the position to the end of its line."""
    match = _PHYSICAL_LINE.match(text, position)
    assert match is not None  # it matches the empty string too
    return match[0]


def line_end(text: str, position: int) -> int:
    """Where the line ends, before its line break."""
    match = _LINE_BREAK.search(text, position)
    return match.start() if match else len(text)


def after_line_end(text: str, position: int) -> int:
    """Where the next line begins, given the position of a line break."""
    return position + (2 if text.startswith("\r\n", position) else 1)


def count_breaks(text: str, start: int, end: int) -> int:
    """Number of line breaks between two positions."""
    return len(LINE_END.findall(text, start, end))


def csv_line(values: Sequence[object]) -> str:
    """One record in the form that Excel and this module read, with its line break."""
    line = io.StringIO()
    # Cells with a character of the line end are quoted: a lone «\r» is a line end to others.
    csv.writer(line, lineterminator="\r\n").writerow(values)
    return line.getvalue()[:-2] + "\n"
