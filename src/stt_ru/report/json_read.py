"""Reports read back: what `json_report` wrote, as the results it was written from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from stt_ru.errors import UsageError
from stt_ru.files.reading import describe_os_error, read_regular
from stt_ru.files.wording import shown
from stt_ru.provenance import Signature
from stt_ru.report.envelope import open_envelope, written
from stt_ru.report.fields import FIELDS, Field, Kind
from stt_ru.report.model_report import NotebookReport
from stt_ru.results import FileResult, Segment
from stt_ru.scoring.counts import EditCounts, ErrorCounts, Score
from stt_ru.text.marked_references import Marked, VariantsError, read_reference

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_NUMBER: Final = (int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReport:
    """A report file's content.

    Attributes:
        manifest: Its path as the user gave it when the report was made.
        created_at: With a time zone; None when the file does not say.
        warnings: Of the manifest and the request; none in files of before they were stored.
        models: In the order of the table.
    """

    manifest: str
    created_at: datetime | None
    warnings: Sequence[str]
    models: tuple[NotebookReport, ...]


def read_report(path: str | Path) -> StoredReport:
    """Read a report file of this or an earlier schema version.

    Raises:
        UsageError: If it cannot be read, or is no report; says where and what is wrong.
    """
    try:
        text = read_regular(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: это не отчёт stt-ru: файл не в UTF-8") from error
    except OSError as error:
        raise UsageError(f"{path}: {describe_os_error(error)}") from error
    return parse_report(text, name=str(path))


def parse_report(text: str, *, name: str) -> StoredReport:
    """The report in a JSON text.

    Rates are not read but follow from the counts; counts are taken as they stand, so that a report
    of an older normaliser keeps the figures it was published with.

    Args:
        text: A whole report.
        name: What to call it in messages.

    Raises:
        UsageError: If the text is no report.
    """
    document = open_envelope(text, name=name, kinds=("evaluate", "score"))
    fields = _Fields(document, name)
    created_at = fields.take("created_at", str, None)
    models = fields.take("models", list)
    return StoredReport(
        manifest=fields.take("manifest", str, ""),
        created_at=None if created_at is None else _time(created_at, name),
        warnings=_warnings(fields),
        models=tuple(
            _model(_Fields(model, f"{name}: модель {number}"))
            for number, model in enumerate(models, start=1)
        ),
    )


class _Fields:
    """The fields of one JSON object, taken with their types checked."""

    def __init__(self, values: object, place: str) -> None:
        if not isinstance(values, dict):
            raise UsageError(f"{place}: {written(values)}, а нужен объект")
        self._values: dict[str, Any] = values
        self.place = place

    def take(
        self,
        name: str,
        kind: type | tuple[type, ...],
        *default: Any,
        least: float | None = None,
    ) -> Any:
        """The value of a field.

        Args:
            name: The field.
            kind: What it must be; null only when the default is None.
            default: The value of a field that is not there; without one it must be there.
            least: Smaller numbers are refused.
        """
        if name not in self._values:
            if default:
                return default[0]
            raise UsageError(f"{self.place}: нет поля {name}")
        value = self._values[name]
        if value is None and default == (None,):
            return None
        is_right = isinstance(value, kind) and not isinstance(value, bool)
        if not is_right or (least is not None and not value >= least):
            raise UsageError(f"{self.place}: {name}: {written(value)}, а нужно {_kind(kind)}")
        return value

    def flag(self, name: str) -> bool:
        """A truth value; False when the field is not there."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise UsageError(f"{self.place}: {name}: {written(value)}, а нужно true или false")
        return value

    def count(self, name: str) -> int:
        value = self.take(name, int, least=0)
        assert isinstance(value, int)
        return value


def _kind(kind: type | tuple[type, ...]) -> str:
    words: dict[object, str] = {
        str: "строка",
        int: "целое число от 0",
        _NUMBER: "число от 0",
        list: "список",
        dict: "объект",
    }
    return words[kind]


def _time(text: str, name: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{name}: created_at: {written(text)}, а нужно время ISO 8601") from error


def _model(fields: _Fields) -> NotebookReport:
    model = fields.take("model", str)
    fields.place += f" ({shown(model)})"
    error = fields.take("error", str, None)
    results = fields.take("results", list)
    rows = fields.take("files", int, least=0)
    if rows != len(results) and error is None:
        raise UsageError(f"{fields.place}: строк {rows}, а результатов {len(results)}")
    return NotebookReport(
        model=model,
        label=fields.take("label", str, model),
        rows=rows,
        results=[
            _result(_Fields(result, f"{fields.place}, строка {number}"))
            for number, result in enumerate(results, start=1)
        ],
        audio_s=fields.take("audio_seconds", _NUMBER, 0.0, least=0),
        wall_s=fields.take("wall_seconds", _NUMBER, 0.0, least=0),
        error=error,
        warnings=_warnings(fields),
        signature=_signature(fields),
    )


def _warnings(fields: _Fields) -> list[str]:
    warnings: list[str] = fields.take("warnings", list, [])
    if not all(isinstance(warning, str) for warning in warnings):
        raise UsageError(f"{fields.place}: warnings: нужен список строк")
    return warnings


def _signature(fields: _Fields) -> Signature | None:
    text = fields.take("signature", str, None)
    if text is None:
        return None
    try:
        return Signature.parse(text)
    except ValueError as error:
        raise UsageError(
            f"{fields.place}: signature: {written(text)}: подпись не разбирается"
        ) from error


_TYPES: Final[dict[Kind, type | tuple[type, ...]]] = {"text": str, "count": int, "number": _NUMBER}


def _value(fields: _Fields, field: Field) -> Any:
    """The value of a row's field; what may be missing has the default of `FileResult`."""
    match field.kind:
        case "flag":
            return fields.flag(field.name)
        case "segments":
            return _segments(fields)
        case "columns":
            return fields.take(field.name, dict, {})
    least = 0 if field.kind in ("count", "number") else None
    default = () if field.null == "never" else (None,)
    return fields.take(field.name, _TYPES[field.kind], *default, least=least)


def _result(fields: _Fields) -> FileResult:
    fields.place += f" ({shown(fields.take('audio', str))})"
    values = {field.name: _value(fields, field) for field in FIELDS if not field.is_of_score}
    if (values["error"] is None) == (values["hypothesis"] is None):
        raise UsageError(f"{fields.place}: нужно одно из двух: hypothesis или error")
    if values["chosen"] is not None:
        _check_branch(fields, values["chosen"])
    return FileResult(score=_score(fields) if values["error"] is None else None, **values)


def _segments(fields: _Fields) -> list[Segment]:
    segments = []
    for number, values in enumerate(fields.take("segments", list, []), start=1):
        segment = _Fields(values, f"{fields.place}, отрезок {number}")
        start_s = segment.take("start", _NUMBER, least=0)
        end_s = segment.take("end", _NUMBER, least=0)
        text, channel = segment.take("text", str), segment.count("channel")
        word_starts = segment.take("word_starts", list, [])
        try:
            segments.append(Segment(start_s, end_s, text, channel, word_starts))
        except UsageError as error:
            raise UsageError(f"{segment.place}: {error}") from error
    return segments


def _check_branch(fields: _Fields, chosen: str) -> None:
    _marked(fields, "reference")
    branch = _marked(fields, "chosen")
    if isinstance(branch, Marked) and branch.branches > 1:
        raise UsageError(f"{fields.place}: chosen: {written(chosen)}: ветвь не одна")


def _marked(fields: _Fields, name: str) -> str | Marked:
    try:
        return read_reference(fields.take(name, str))
    except VariantsError as error:
        raise UsageError(f"{fields.place}: {name}: {error}") from error


def _score(fields: _Fields) -> Score:
    words = EditCounts(
        fields.count("substitutions"),
        fields.count("deletions"),
        fields.count("insertions"),
        fields.count("words"),
    )
    if words.substitutions + words.deletions > words.length:
        raise UsageError(f"{fields.place}: замен и удалений больше, чем слов в эталоне")
    return Score(words, ErrorCounts(fields.count("char_errors"), fields.count("chars")))
