"""JSON Lines: one object per line, nothing that JSON forbids or that would be lost silently."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from stt_ru.files.reading import LINE_END
from stt_ru.files.wording import quoted, shown
from stt_ru.manifest.rows import (
    AUDIO,
    CHANNEL,
    OWN_NAMES,
    TEXT,
    Faults,
    Row,
    describe_missing_names,
    parse_channel,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST: Final = 100  # levels; the report must be able to write `extra` again

_EXAMPLE = '{"audio": "a.wav", "text": "…"}'
_TOO_DEEP = f"вложенность больше {DEEPEST} уровней"

_JSON_ERRORS: Final = {  # how json's messages begin
    "Expecting value": "здесь нужно значение",
    "Expecting ',' delimiter": "здесь нужна запятая или закрывающая скобка",
    "Expecting ':' delimiter": "здесь нужно двоеточие",
    "Expecting property name": "здесь нужно имя поля в двойных кавычках",
    "Illegal trailing comma": "лишняя запятая перед закрывающей скобкой",
    "Unterminated string": "здесь открыта строка, и она не закрыта",
    "Invalid control character": "управляющий символ внутри строки, а пишут \\n, \\t, \\u001f",
    "Invalid \\": "обратная черта внутри строки удваивается (\\\\); в пути годится и «/»",
    "Extra data": "лишнее после конца объекта: в строке должен быть один объект",
}


class _BadJsonError(ValueError):
    """A line that is not a row; ``str`` says why in Russian."""


def read_jsonl(text: str, faults: Faults) -> Iterator[Row]:
    """Rows of a JSON Lines text."""
    # A line end cannot stand inside a JSON string; U+2028 can, and does not end a line here.
    lines = LINE_END.split(text) if "\r" in text else text.split("\n")
    is_empty = True
    for number, line in enumerate(lines, start=1):
        if not line or line.isspace():
            continue
        if is_empty and line.strip() in {"[", "{", "[{"}:
            faults.add(
                number,
                "похоже на обычный JSON из многих строк, а нужен JSON Lines: "
                f"по одному объекту в строке, {_EXAMPLE}",
            )
            return
        is_empty = False
        try:
            row = _own_names(_decode(line))
        except _BadJsonError as error:
            faults.add(number, str(error))
        else:
            yield _json_row(row, number, faults)
    if is_empty:
        faults.add(None, f"манифест пуст: в каждой строке нужен объект, {_EXAMPLE}")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _BadJsonError(f"поле {quoted(twice)} повторяется в одном объекте")
    return values


def _refuse_constant(constant: str) -> None:
    raise _BadJsonError(f"{constant} нет в JSON: неизвестное значение пишут как null")


def _finite_float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _BadJsonError(f"число {shown(digits)} слишком велико")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_float=_finite_float
)


def _decode(line: str) -> dict[str, Any]:
    """The object of one line.

    Raises:
        _BadJsonError: If it is missing, or the report could not write it back.
    """
    try:
        value = _DECODER.decode(line)
    except _BadJsonError:
        raise
    except json.JSONDecodeError as error:
        known = (russian for start, russian in _JSON_ERRORS.items() if error.msg.startswith(start))
        message = next(known, error.msg)
        rest = line[error.pos :].strip()
        where = f"около {quoted(rest)}" if rest else "в конце строки"
        raise _BadJsonError(f"не JSON: {where} (символ {error.pos + 1}): {message}") from error
    except RecursionError as error:
        raise _BadJsonError(_TOO_DEEP) from error
    except ValueError as error:  # Python's limit on the digits of an integer
        raise _BadJsonError("целое число слишком длинно") from error
    if not isinstance(value, dict):
        raise _BadJsonError(f"в строке {_describe(value)}, а нужен объект {_EXAMPLE}")
    if line.count("[") + line.count("{") > DEEPEST and _depth(value) > DEEPEST:
        raise _BadJsonError(_TOO_DEEP)
    if "\\u" in line and not _is_unicode(value):
        raise _BadJsonError("половина суррогатной пары (\\ud800-\\udfff) без второй: это не символ")
    return value


def _depth(value: object) -> int:
    depth = 0
    containers = [value]
    while containers := [outer for outer in containers if isinstance(outer, (dict, list))]:
        depth += 1
        containers = [
            inner
            for outer in containers
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return depth


def _is_unicode(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _describe(value: object) -> str:
    """The kind of a JSON value, and the value when it is short by nature."""
    if isinstance(value, (dict, list)):
        return "объект" if isinstance(value, dict) else "массив"
    if isinstance(value, str):
        return f"строка {quoted(value)}"
    written = shown(json.dumps(value))
    return f"число {written}" if written not in {"null", "true", "false"} else written


@lru_cache(maxsize=1000)
def _own_name(key: str) -> str:
    folded = key.strip().casefold()
    return folded if folded in OWN_NAMES else key


def _own_names(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its own fields named in lower case.

    Raises:
        _BadJsonError: If one of them is missing or there twice.
    """
    renamed = {_own_name(key): value for key, value in row.items()}
    if len(renamed) < len(row):
        names = [_own_name(key) for key in row]
        twice = next(name for name in names if names.count(name) > 1)
        raise _BadJsonError(
            f"поле «{twice}» повторяется (регистр и пробелы по краям не различаются)"
        )
    missing = [name for name in (AUDIO, TEXT) if name not in renamed]
    if missing:
        raise _BadJsonError(describe_missing_names(missing, list(row), "поля", "полей"))
    return renamed


def _json_row(row: dict[str, Any], line: int, faults: Faults) -> Row:
    audio, text, channel = row.pop(AUDIO), row.pop(TEXT), row.pop(CHANNEL, None)
    if not isinstance(audio, str):
        faults.add(line, f"audio: {_describe(audio)}, а нужна строка, путь к записи")
        audio = None
    elif not audio or audio.isspace():
        faults.add(line, "поле audio пусто, а нужен путь к записи")
        audio = None
    if not isinstance(text, str):
        is_plain = isinstance(text, (int, float)) and not isinstance(text, bool)
        how = ": возьмите его в кавычки" if is_plain else ""
        faults.add(line, f"text: {_describe(text)}, а нужна строка{how}")
        text = None
    return Row(line, audio, text, parse_channel(channel, line, faults), row)
