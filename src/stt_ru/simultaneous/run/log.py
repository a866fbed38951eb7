"""``instances.log``, ours or SimulEval's: one JSON line per instance, to be scored again."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, cast, get_args

from stt_ru.errors import UsageError
from stt_ru.files.reading import describe_os_error
from stt_ru.simultaneous.core.record import InstanceRecord, LatencyUnit
from stt_ru.simultaneous.core.segments import DataType

if TYPE_CHECKING:
    from pathlib import Path

LOG_NAME = "instances.log"


def log_line(record: InstanceRecord) -> str:
    """The instance as one line of JSON, with its line break; SimulEval's fields come first."""
    row: dict[str, Any] = {
        "index": record.index,
        "prediction": record.prediction,
        "delays": list(record.delays),
        "elapsed": list(record.elapsed),
        "prediction_length": record.prediction_length,
        "reference": record.reference,
        "source": [record.source] if record.source_type == "speech" else record.source,
        "source_length": record.source_length,
        "source_type": record.source_type,
        "target_type": record.target_type,
        "latency_unit": record.latency_unit,
        "finished": record.is_finished,
        "error": record.error,
    }
    if record.durations is not None:
        row["durations"] = list(record.durations)
        row["audio"] = record.audio
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def read_log(path: Path, *, latency_unit: LatencyUnit) -> dict[int, InstanceRecord]:
    """Instances of a log by their index, the last line of one index counting.

    A last line without its line break was being written when the process was killed, and is left
    out: its instance counts as not done.

    Args:
        path: Our ``instances.log``, or that of SimulEval 1.1.
        latency_unit: What has a delay, for logs that do not say (SimulEval's).

    Raises:
        UsageError: If it cannot be read, or a line of it is no instance, or its delays are of
            another unit than asked for.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"журнал {path}: {describe_os_error(error)}") from error
    complete, _, torn = data.rpartition(b"\n")
    lines = complete.split(b"\n") if complete else []
    if torn and _is_json(torn):
        lines.append(torn)  # whole, only without its line break: written by hand or another tool
    records: dict[int, InstanceRecord] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{place}: это не строка JSON: {error}") from error
        record = _record(row, place, latency_unit)
        if record.latency_unit != latency_unit:
            raise UsageError(
                f"{place}: задержки записаны по единицам {record.latency_unit}; добавьте "
                f"--eval-latency-unit {record.latency_unit}"
            )
        records.pop(record.index, None)
        records[record.index] = record
    return dict(sorted(records.items()))


def drop_torn_line(path: Path) -> None:
    """Cut off a last line that has no line break, so that new lines can follow."""
    with path.open("r+b") as stream:
        data = stream.read()
        end = data.rfind(b"\n") + 1
        if data[end:] and _is_json(data[end:]):
            stream.write(b"\n")
        else:
            stream.truncate(end)


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _record(row: Any, place: str, unit: LatencyUnit) -> InstanceRecord:
    if not isinstance(row, dict):
        raise UsageError(f"{place}: нужен объект JSON с полями index, prediction, delays")
    source = row.get("source")
    is_speech = isinstance(source, list)  # SimulEval: the path, then lines about the file
    if is_speech:
        source = source[0] if source else ""
    try:
        index = row["index"]
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            raise ValueError(f"index = {index!r}")
        reference = row.get("reference")
        durations = row.get("durations")
        return InstanceRecord(
            index=index,
            source_type=_one_of(DataType, row.get("source_type") or _source_type(is_speech)),
            target_type=_one_of(DataType, row.get("target_type") or "text"),
            source="" if source is None else str(source),
            source_length=_number(row.get("source_length") or 0),
            reference=None if reference is None else str(reference).rstrip("\r\n"),
            prediction=str(row.get("prediction") or ""),
            delays=_numbers(row.get("delays") or ()),
            elapsed=_numbers(row.get("elapsed") or ()),
            latency_unit=_one_of(LatencyUnit, row.get("latency_unit") or unit),
            durations=None if durations is None else _numbers(durations),
            audio=row.get("audio"),
            is_finished=bool(row.get("finished", True)),
            error=row.get("error"),
        )
    except KeyError as error:
        raise UsageError(f"{place}: нет поля {error}") from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"{place}: неверное значение: {error}") from error


def _source_type(is_speech: bool) -> str:
    return "speech" if is_speech else "text"


def _one_of(choices: Any, value: Any) -> Any:
    if value not in get_args(choices):
        raise ValueError(f"{value!r}, а бывает {', '.join(get_args(choices))}")
    return value


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(_number(value) for value in values)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} – не число")
    return cast("float", value)
