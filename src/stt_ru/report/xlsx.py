"""The report as an Excel workbook: one sheet per question, texts as texts, rates as numbers."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from stt_ru.analysis.error_analysis import find_confusions
from stt_ru.analysis.punctuation import MARKS
from stt_ru.analysis.significance import macro_average
from stt_ru.analysis.slices import slice_groups
from stt_ru.errors import MissingExtraError, ReportError
from stt_ru.report.fields import BY_NAME, TABLE_COLUMNS, extra_names, row_values
from stt_ru.report.table import SPELLING_TITLES

if TYPE_CHECKING:
    from stt_ru.analysis.error_analysis import Confusions
    from stt_ru.analysis.significance import Interval
    from stt_ru.report.findings import Findings
    from stt_ru.results import ModelReport

MOST_ROWS: Final = 1_048_576
"""Rows of a sheet, its head among them: a limit of Excel."""

MOST_CHARACTERS: Final = 32_767
"""Of a cell: a limit of Excel."""

_CUT: Final = "… [обрезано: предел ячейки Excel]"
_SURE_INTEGERS: Final = 10**15  # Excel keeps 15 digits
_PIECE: Final = 1 << 20  # bytes
_WIDE: Final = 60  # width of a column of texts, characters


class Column(NamedTuple):
    """A column of a sheet: long texts are wide and wrapped, rates are shown as percents."""

    title: str
    kind: Literal["plain", "text", "rate"] = "plain"


_plain = Column
_long = partial(Column, kind="text")
_rate = partial(Column, kind="rate")

Rows = Iterable[Sequence[object]]


def xlsx_report(findings: Findings) -> Iterator[bytes]:
    """The workbook in pieces; its rows are never all in memory.

    Args:
        findings: What to show.

    Raises:
        MissingExtraError: If XlsxWriter is not installed.
        ReportError: If a table has more rows than a sheet of Excel can have.
    """
    try:
        import xlsxwriter
        from xlsxwriter.exceptions import XlsxWriterException
    except ImportError as error:
        raise MissingExtraError("отчёт .xlsx", "xlsx") from error
    with tempfile.TemporaryFile() as stream:
        workbook = xlsxwriter.Workbook(stream, {"constant_memory": True})
        workbook.set_properties(
            {
                "title": _text(f"Распознавание речи: {findings.manifest}")[:255],
                # XlsxWriter writes the time as UTC.
                "created": findings.created_at.astimezone(UTC).replace(tzinfo=None),
            }
        )
        try:
            for title, columns, rows in _sheets(findings):
                _Sheet(workbook, title, columns).write(rows)
            workbook.close()
        except XlsxWriterException as error:
            raise ReportError(f"отчёт .xlsx: {error}") from error
        stream.seek(0)
        while piece := stream.read(_PIECE):
            yield piece


class _Sheet:
    """One table of the workbook, written from above."""

    def __init__(self, workbook: Any, title: str, columns: Sequence[Column]) -> None:
        self._title = title
        self._sheet = workbook.add_worksheet(title)
        bold = workbook.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        formats = {
            "plain": workbook.add_format({"valign": "top"}),
            "text": workbook.add_format({"text_wrap": True, "valign": "top"}),
            "rate": workbook.add_format({"num_format": "0.0%", "valign": "top"}),
        }
        self._formats = [formats[column.kind] for column in columns]
        for number, column in enumerate(columns):
            width = _WIDE if column.kind == "text" else max(10, min(len(column.title) + 3, 24))
            self._sheet.set_column(number, number, 24 if column.title == "модель" else width)
        self._sheet.freeze_panes(1, 0)
        for number, column in enumerate(columns):
            self._sheet.write_string(0, number, _text(column.title), bold)

    def write(self, rows: Iterable[Sequence[object]]) -> None:
        last = 0
        for last, row in enumerate(rows, start=1):
            if last >= MOST_ROWS:
                raise ReportError(
                    f"отчёт .xlsx: на листе «{self._title}» больше {MOST_ROWS} строк, столько "
                    "Excel не открывает; сохраните отчёт в .csv"
                )
            for number, value in enumerate(row):
                self._write_cell(last, number, value)
        if last:
            self._sheet.autofilter(0, 0, last, len(self._formats) - 1)

    def _write_cell(self, row: int, number: int, value: object) -> None:
        if value is None:
            return
        if isinstance(value, bool):
            value = "да" if value else ""
        if isinstance(value, (int, float)) and math.isfinite(value) and abs(value) < _SURE_INTEGERS:
            self._sheet.write_number(row, number, value, self._formats[number])
        else:  # never a formula or a link, whatever it begins with
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            self._sheet.write_string(row, number, _text(text), self._formats[number])


def _text(text: str) -> str:
    """A text that a cell can hold."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if len(text) > MOST_CHARACTERS:
        return text[: MOST_CHARACTERS - len(_CUT)] + _CUT
    return text


def _sheets(findings: Findings) -> Iterator[tuple[str, Sequence[Column], Rows]]:
    """Title, columns and rows of each sheet that has rows."""
    group_by = findings.group_by
    lines = [*findings.conclusions, *findings.cautions]
    loaded = [one for one in findings.aligned if one.report.error is None]
    found = [(one.report, find_confusions(one)) for one in loaded]
    sheets: list[tuple[str, Sequence[Column], Rows]] = [
        ("Модели", _MODELS, _models(findings)),
        (
            "Выводы",
            [_long("вывод")],
            ([line] for line in lines),
        ),
        ("Сравнения", _COMPARISONS, _comparisons(findings)),
        (
            "Срезы",
            _SLICES,
            (row for one in loaded for row in _slices(one.report, group_by)),
        ),
        ("Ошибки", _CONFUSIONS, (row for one in found for row in _confusions(*one))),
        ("Слова", _WORDS, (row for one in found for row in _words(*one))),
        ("Написание", _spelling_columns(findings), _spellings(findings)),
        ("Знаки", _MARKS, _marks(findings)),
        (
            "Записи",
            [
                _plain("модель"),
                *map(_row_column, _row_columns(findings.reports)),
                *map(_plain, extra_names(findings.reports)),
            ],
            _rows(findings.reports),
        ),
    ]
    for title, columns, rows in sheets:
        rest = iter(rows)
        if first := list(islice(rest, 1)):
            yield title, columns, chain(first, rest)


_MODELS: Final = (
    _plain("модель"), _rate("WER"), _rate("WER от"), _rate("WER до"), _rate("CER"), _rate("CER от"),
    _rate("CER до"), _rate("macro WER"), _rate("macro CER"), _plain("скорость"), _plain("записей"),
    _plain("не распознано"), _plain("слов"), _plain("замен"), _plain("удалений"),
    _plain("вставок"), _long("почему нет"), _long("подпись"),
)  # fmt: skip


def _models(findings: Findings) -> Iterator[Sequence[object]]:
    for report, exactness in zip(findings.reports, findings.statistics.uncertainties, strict=True):
        if report.error is not None:
            empty = [None] * 9
            yield (report.label, *empty, report.files, report.failed, *empty[:4], report.error)
            continue
        words = report.score.words
        yield (
            report.label,
            report.wer,
            *_bounds(exactness.wer if exactness else None),
            report.cer,
            *_bounds(exactness.cer if exactness else None),
            macro_average(row.wer for row in report.results),
            macro_average(row.cer for row in report.results),
            report.speed,
            report.files,
            report.failed,
            words.length,
            words.substitutions,
            words.deletions,
            words.insertions,
            None,
            None if report.signature is None else str(report.signature),
        )


def _bounds(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval.low, interval.high)


_COMPARISONS: Final = (
    _plain("модель A"), _plain("модель B"), _plain("строк"), _plain("записей или групп"),
    _rate("WER A"), _rate("WER B"), _rate("разница"), _rate("от"), _rate("до"), _rate("наоборот"),
    _plain("MAPSSWE p"), _plain("можно верить"),
)  # fmt: skip


def _comparisons(findings: Findings) -> Iterator[Sequence[object]]:
    for pair in findings.statistics.comparisons:
        yield (
            pair.label_a,
            pair.label_b,
            pair.rows,
            pair.blocks,
            pair.wer_a,
            pair.wer_b,
            pair.difference,
            *_bounds(pair.interval),
            pair.reversed_share,
            pair.mapsswe_p,
            "да" if pair.is_significant else "нет",
        )


_SLICES: Final = (
    _plain("модель"), _plain("срез"), _plain("значение"), _rate("WER"), _rate("от"), _rate("до"),
    _plain("строк"), _plain("слов"),
)  # fmt: skip


def _slices(report: ModelReport, group_by: str | None) -> Iterator[Sequence[object]]:
    for group in slice_groups(report, group_by=group_by):
        for one in group.slices:
            yield (
                report.label,
                group.title,
                one.value,
                one.words.rate,
                *_bounds(one.interval),
                one.rows,
                one.words.length,
            )


_CONFUSIONS: Final = (
    _plain("модель"), _plain("вид"), _plain("эталон"), _plain("текст модели"), _plain("раз"),
    _plain("пример: запись"), _long("пример: эталон"), _long("пример: текст модели"),
)  # fmt: skip


def _confusions(report: ModelReport, found: Confusions) -> Iterator[Sequence[object]]:
    for kind, items in (
        ("замена", found.substitutions),
        ("удаление", found.deletions),
        ("вставка", found.insertions),
    ):
        for one in items:
            example = report.results[one.rows[0]]
            yield (
                report.label,
                kind,
                one.reference,
                one.hypothesis,
                one.count,
                example.audio,
                example.reference,
                example.hypothesis,
            )


_WORDS: Final = (_plain("модель"), _plain("слово"), _plain("ошибок"), _plain("раз в эталонах"))


def _words(report: ModelReport, found: Confusions) -> Iterator[Sequence[object]]:
    for one in found.words:
        yield report.label, one.word, one.errors, one.occurrences


def _spelling_columns(findings: Findings) -> list[Column]:
    names = next((list(one.counts) for one in findings.spellings if one is not None), [])
    return [_plain("модель"), *(_rate(f"WER {SPELLING_TITLES[name]}") for name in names)]


def _spellings(findings: Findings) -> Iterator[Sequence[object]]:
    for report, found in zip(findings.reports, findings.spellings, strict=True):
        if found is not None:
            yield (report.label, *(counts.rate for counts in found.counts.values()))


_MARKS: Final = (
    _plain("модель"), _plain("знак"), _rate("F1"), _plain("верно"), _plain("лишних"),
    _plain("пропущено"), _rate("не тот регистр"),
)  # fmt: skip


def _marks(findings: Findings) -> Iterator[Sequence[object]]:
    for report, found in zip(findings.reports, findings.writings, strict=True):
        if found is None:
            continue
        for mark, counts in found.marks.items():
            yield (
                report.label,
                MARKS[mark],
                counts.f1,
                counts.right,
                counts.extra,
                counts.missing,
                None,
            )
        if found.case_words:
            yield (report.label, "регистр", None, None, None, None, found.case_rate)


def _row_column(name: str) -> Column:
    field = BY_NAME[name]
    return Column(field.title, field.look)


def _row_columns(reports: Iterable[ModelReport]) -> list[str]:
    columns = list(TABLE_COLUMNS)
    columns.insert(columns.index("error"), "from_cache")
    return [*columns, "chosen"] if any(report.has_branches for report in reports) else columns


def _rows(reports: Sequence[ModelReport]) -> Iterator[Sequence[object]]:
    columns, extra = _row_columns(reports), extra_names(reports)
    for report in reports:
        for result in report.results:
            values = row_values(result, columns)
            yield (report.label, *values, *(result.extra.get(name) for name in extra))
