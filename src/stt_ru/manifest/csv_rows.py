"""CSV manifests: which column is what, and what is wrong with each row."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from stt_ru.files.csv_text import (
    DELIMITERS,
    BadQuoteError,
    Records,
    line_at,
    parse_record,
    quoted_cells,
    skip_to_header,
    too_many,
)
from stt_ru.files.reading import LINE_END
from stt_ru.files.wording import quoted
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


_HEADER = "первой строкой нужны имена колонок, например «audio,text»"


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
    start, line = skip_to_header(text)
    if start == len(text):
        faults.add(None, f"манифест пуст: {_HEADER}")
        return
    delimiter = _find_delimiter(text, start)
    records = Records(text, delimiter, start, line)
    try:
        header = next(records)
    except BadQuoteError:
        faults.add(line, f"кавычка в заголовке не закрыта: {_HEADER}")
        return
    columns = _columns(header)
    if isinstance(columns, str):
        faults.add(line, _foreign_delimiter(text, start) or columns)
        return
    yield from _csv_rows(text, records, delimiter, columns, faults)


def _find_delimiter(text: str, start: int) -> str:
    """The delimiter by which the header has `audio` and `text`, or else the most columns."""

    def rank(delimiter: str) -> tuple[bool, int]:
        try:
            header, _ = parse_record(text, start, delimiter)
        except BadQuoteError:
            return (False, 0)
        names = {name.casefold() for name in _column_names(header)}
        return (names >= {AUDIO, TEXT}, len(header))

    return max(DELIMITERS, key=rank)


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
    header = line_at(text, start)
    taken = ", ".join(delimiter.name for delimiter in DELIMITERS.values())
    for delimiter in "|:/ ":
        names = {name.strip('"').casefold() for name in _column_names(header.split(delimiter))}
        if names >= {AUDIO, TEXT}:
            which = "пробел" if delimiter == " " else f"«{delimiter}»"
            return f"разделитель {which} не принимается; принимаются: {taken}"
    return ""


def _csv_rows(
    text: str, records: Records, delimiter: str, columns: _Columns, faults: Faults
) -> Iterator[Row]:
    is_uncertain = False
    while True:
        try:
            cells = next(records, None)
            if cells is None:
                return
            if records.end_line > records.line:
                _refuse_swallowed_rows(text, records.start, delimiter, columns)
        except BadQuoteError as bad:
            faults.add(records.resume_after(bad), bad.describe(text))
            is_uncertain = True
            continue
        if is_uncertain:  # perhaps still the broken text, until a line is a row for certain
            if len(cells) <= columns.audio or not looks_like_recording(cells[columns.audio]):
                continue
            is_uncertain = False
        if "".join(cells).strip():  # neither a blank line nor bare delimiters
            yield _csv_row(cells, records.line, delimiter, columns, faults)


def _refuse_swallowed_rows(text: str, start: int, delimiter: str, columns: _Columns) -> None:
    """Take a quoted cell with what looks like rows inside for one whose quote was never closed.

    ``"…`` in one row and ``…"`` in a later one are a valid cell to RFC 4180, and the rows between
    would vanish into its text.

    Raises:
        BadQuoteError: At the quote of such a cell.
    """
    for column, (position, written) in enumerate(quoted_cells(text, start, delimiter)):
        first, *others = LINE_END.split(written)
        starts = [(column, first)] if others else []
        for column_of_line, line in (*starts, *((0, other) for other in others)):
            cells = [""] * column_of_line + line.split(delimiter)
            is_cut = delimiter in line and len(cells) > columns.audio
            if is_cut and looks_like_recording(cells[columns.audio]):
                raise BadQuoteError(position, None)


def _csv_row(cells: list[str], line: int, delimiter: str, columns: _Columns, faults: Faults) -> Row:
    width = columns.width
    if fault := too_many(cells, width, delimiter):
        faults.add(line, fault)
        return Row.faulty(line)
    if len(cells) == 1 and columns.audio == 0:
        other = next((d for d in DELIMITERS if d != delimiter and d in cells[0]), None)
        if other is not None:
            faults.add(
                line,
                f"1 значение в строке, а колонок {width}: разделитель здесь "
                f"{DELIMITERS[other].name}, а в заголовке {DELIMITERS[delimiter].name}",
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
