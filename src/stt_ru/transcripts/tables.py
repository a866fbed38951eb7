"""Texts in named columns: CSV and JSON Lines, with one of the two texts or with both."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from stt_ru.errors import UsageError
from stt_ru.files.csv_text import DELIMITERS, BadQuoteError, Records, loose_cells, too_many
from stt_ru.files.reading import LINE_END
from stt_ru.files.wording import counted, listed, quoted, shown
from stt_ru.transcripts.texts import StoredText, TextFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

REFERENCE_NAMES: Final = ("text", "reference", "ref", "ref_text", "transcript", "sentence")
HYPOTHESIS_NAMES: Final = ("pred_text", "hypothesis", "hyp", "hyp_text", "prediction", "pred")
ID_NAMES: Final = ("id", "utt_id", "utterance_id", "audio", "audio_filepath", "path", "file")
"""Columns looked for, in this order, when the user names none; case does not matter."""


_MOST_SKIPPED: Final = 5  # lines named one by one

Side = Literal["reference", "hypothesis"]
_OTHER: Final[dict[Side, Side]] = {"reference": "hypothesis", "hypothesis": "reference"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNames:
    """The user's names of columns; None for the usual ones."""

    reference: str | None = None
    hypothesis: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with named columns.

    Attributes:
        path: As the user gave it.
        names: All columns, in order of first sight.
        rows: Line and fields of each.
    """

    path: str
    names: Sequence[str]
    rows: Sequence[tuple[int, Mapping[str, Any]]]

    def column(self, wanted: str | None, usual: Sequence[str]) -> str | None:
        """The column the user named, or the first of the usual ones that is there.

        Raises:
            UsageError: If the named one is not there.
        """
        folded = {name.strip().casefold(): name for name in reversed(self.names)}
        if wanted is not None:
            name = wanted if wanted in self.names else folded.get(wanted.casefold())
            if name is None:
                raise UsageError(
                    f"{self.path}: нет колонки {quoted(wanted)}; есть {listed(self.names)}"
                )
            return name
        return next((folded[name] for name in usual if name in folded), None)

    def has_both(self, names: ColumnNames) -> bool:
        """Whether reference and hypothesis stand side by side here."""
        try:
            reference = self.column(names.reference, REFERENCE_NAMES)
            hypothesis = self.column(names.hypothesis, HYPOTHESIS_NAMES)
        except UsageError:
            return False
        return None not in (reference, hypothesis)

    def texts(self, side: Side, names: ColumnNames, *, beside: bool = False) -> TextFile:
        """The texts of one side.

        Args:
            side: References or hypotheses.
            names: Columns the user named.
            beside: Whether the other side stands in the same rows: a row is then taken when it has
                both, and rows need no id.

        Raises:
            UsageError: If there is no such column, or a value is no text.
        """
        column = self._column_of(side, names, beside=beside)
        id_column = self.column(names.id, ID_NAMES)
        needed = [column]
        if beside:
            needed.append(self._column_of(_OTHER[side], names, beside=True))
        if names.id is not None and id_column is not None:
            needed.append(id_column)
        skipped: list[str] = []
        found: list[StoredText] = []
        for line, row in self.rows:
            missing = [name for name in needed if name not in row]
            if missing:
                skipped.append(
                    f"{self.path}:{line}: строка пропущена, в ней нет "
                    f"{listed(missing)}: есть {listed(list(row))}"
                )
                continue
            found.append(
                StoredText(
                    line=line,
                    text=_text(
                        row[column], self.path, line, column, may_be_null=side == "hypothesis"
                    ),
                    name=_name(row, id_column, line, self.path),
                    channel=_channel(row),
                    duration_s=_seconds(row.get("duration")),
                    extra={
                        name: value
                        for name, value in row.items()
                        if name not in (*needed, id_column, "channel", "duration")
                    },
                )
            )
        self._check_ids(found, id_column)
        notices = _limited(skipped, self.path)
        return TextFile(path=self.path, side=side, texts=found, notices=notices)

    def _column_of(self, side: Side, names: ColumnNames, *, beside: bool) -> str:
        """Where the texts of a side stand; a column of references alone may hold hypotheses."""
        if side == "reference":
            column = self.column(names.reference, REFERENCE_NAMES)
            option, what = "--ref-column", "эталоном"
        else:
            also = () if beside else REFERENCE_NAMES
            column = self.column(names.hypothesis, (*HYPOTHESIS_NAMES, *also))
            option, what = "--hyp-column", "текстом модели"
        if column is None:
            raise UsageError(
                f"{self.path}: не видно колонки с {what}: есть {listed(self.names)}; "
                f"укажите её: {option} ИМЯ"
            )
        return column

    def _check_ids(self, texts: Sequence[StoredText], id_column: str | None) -> None:
        """Refuse a table in which some rows have an id and some have none."""
        unnamed = next((text for text in texts if text.name is None), None)
        if unnamed is not None and any(text.name is not None for text in texts):
            raise UsageError(
                f"{self.path}:{unnamed.line}: нет значения в колонке {quoted(id_column or '')}"
            )


def _limited(skipped: Sequence[str], path: str) -> list[str]:
    """What to say of skipped rows: the first ones, and how many more there are."""
    more = len(skipped) - _MOST_SKIPPED
    notices = list(skipped[:_MOST_SKIPPED])
    if more > 0:
        rows = counted(more, "строка", "строки", "строк")
        notices.append(f"{path}: пропущено так же: {rows}")
    return notices


def _text(value: object, path: str, line: int, column: str, *, may_be_null: bool) -> str | None:
    if isinstance(value, str):
        return value
    if value is None and may_be_null:
        return None
    written = shown(json.dumps(value, ensure_ascii=False))
    raise UsageError(f"{path}:{line}: {column}: «{written}», а нужна строка")


def _name(row: Mapping[str, Any], column: str | None, line: int, path: str) -> str | None:
    value = None if column is None else row.get(column)
    if value is None or value == "":
        return None
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    written = shown(json.dumps(value, ensure_ascii=False))
    raise UsageError(f"{path}:{line}: {column}: «{written}», а id – строка или целое число")


def _channel(row: Mapping[str, Any]) -> int | None:
    value = row.get("channel")
    if isinstance(value, str) and value.isascii() and value.strip().isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _seconds(value: object) -> float | None:
    try:
        seconds = float(value)  # type: ignore[arg-type]  # whatever is no number says so itself
    except (TypeError, ValueError):
        return None
    return seconds if 0 <= seconds < float("inf") else None


def read_jsonl(text: str, path: str) -> Table:
    """JSON objects, one a line.

    Raises:
        UsageError: If a line is not a record.
    """
    rows: list[tuple[int, Mapping[str, Any]]] = []
    names: dict[str, None] = {}
    for number, line in enumerate(LINE_END.split(text), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"{path}:{number}: {quoted(line)}: не JSON; в каждой строке нужен один объект"
            ) from error
        if not isinstance(row, dict):
            raise UsageError(f"{path}:{number}: {quoted(line)}: нужен объект {{…}}")
        rows.append((number, row))
        names.update(dict.fromkeys(row))
    return Table(path, list(names), rows)


def read_csv(text: str, path: str, wanted: Iterable[str | None]) -> Table:
    """CSV with a header; the delimiter is the one by which it has the most columns known here.

    Args:
        text: The file's content.
        path: What to call it in messages.
        wanted: Columns the user named.

    Raises:
        UsageError: If it is not well formed.
    """
    known = {*REFERENCE_NAMES, *HYPOTHESIS_NAMES, *ID_NAMES}
    known |= {name.casefold() for name in wanted if name}

    def rank(delimiter: str) -> tuple[int, int]:
        header = loose_cells(text, 0, delimiter)
        return sum(name.strip().casefold() in known for name in header), len(header)

    delimiter = max(DELIMITERS, key=rank)
    records = Records(text, delimiter)
    rows: list[tuple[int, Mapping[str, Any]]] = []
    names: list[str] = []
    try:
        for cells in records:
            if not any(cell.strip() for cell in cells):
                continue
            if not names:
                names = [cell.strip() for cell in cells]
                if len(set(names)) < len(names):
                    raise UsageError(f"{path}:{records.line}: имена колонок повторяются")
                continue
            if fault := too_many(cells, len(names), delimiter):
                raise UsageError(f"{path}:{records.line}: {fault}")
            cells += [""] * (len(names) - len(cells))
            rows.append((records.line, dict(zip(names, cells, strict=False))))
    except BadQuoteError as bad:
        line = records.resume_after(bad)
        raise UsageError(f"{path}:{line}: {bad.describe(text)}") from bad
    if not names:
        raise UsageError(f"{path}: файл пуст: первой строкой нужны имена колонок")
    return Table(path, names, rows)
