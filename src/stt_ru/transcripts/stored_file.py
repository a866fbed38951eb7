"""One file of stored texts, opened: what kind it is of, and what texts it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stt_ru.errors import UsageError
from stt_ru.report.json_read import StoredReport, parse_report
from stt_ru.transcripts.detection import detect, read_file
from stt_ru.transcripts.lines import read_kaldi, read_lines, read_trn
from stt_ru.transcripts.nist import Segment, TimedWord, read_ctm, read_stm
from stt_ru.transcripts.tables import ColumnNames, Table, read_csv, read_jsonl
from stt_ru.transcripts.texts import TextFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stt_ru.transcripts.tables import Side


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file of texts.

    Attributes:
        path: As the user gave it.
        format: One of `FORMATS`.
        text: Its content.
        table: The content of CSV and JSON Lines.
        report: The content of a report.
        notices: What was taken for granted, sentences in Russian.
    """

    path: str
    format: str
    text: str
    table: Table | None = None
    report: StoredReport | None = None
    notices: Sequence[str] = ()

    def holds_both(self, columns: ColumnNames) -> bool:
        """Whether references and hypotheses stand side by side here."""
        if self.report is not None:
            return True
        return self.table is not None and self.table.has_both(columns)

    def texts(self, side: Side, columns: ColumnNames, *, variants: bool = False) -> TextFile:
        """Its texts, when they have no times.

        Raises:
            UsageError: If they cannot be read, or it is a report.
        """
        if self.report is not None:
            raise UsageError(
                f"{self.path}: отчёт хранит и эталоны, и тексты моделей: "
                "вместе с ним указываются только другие отчёты или таблицы с обоими текстами"
            )
        if self.table is not None:
            return self.table.texts(side, columns)
        if self.format == "trn":
            texts = read_trn(self.text, self.path, variants=variants)
        else:
            texts = read_kaldi(self.text) if self.format == "kaldi" else read_lines(self.text)
        return TextFile(path=self.path, side=side, texts=texts)

    def timed(self, *, variants: bool = False) -> list[Segment] | list[TimedWord] | None:
        """Its segments or words, when they have times; None when they have not.

        Raises:
            UsageError: If they cannot be read.
        """
        if self.format == "stm":
            return read_stm(self.text, self.path, variants=variants)
        return read_ctm(self.text, self.path) if self.format == "ctm" else None


def open_file(path: str, file_format: str | None, columns: ColumnNames) -> StoredFile:
    """Read a file of texts.

    Args:
        path: As the user gave it.
        file_format: One of `FORMATS`; None for by suffix and content.
        columns: Names of columns in CSV and JSON Lines.

    Raises:
        UsageError: If it cannot be read.
    """
    text = read_file(path)
    notice = None
    wanted = (columns.reference, columns.hypothesis, columns.id)
    if file_format is None:
        file_format, notice = detect(path, text, wanted)
    table = None
    if file_format == "jsonl":
        table = read_jsonl(text, path)
    elif file_format == "csv":
        table = read_csv(text, path, wanted)
    return StoredFile(
        path=path,
        format=file_format,
        text=text,
        table=table,
        report=parse_report(text, name=path) if file_format == "report" else None,
        notices=[notice] if notice else [],
    )
