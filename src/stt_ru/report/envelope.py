"""What every JSON file of results has around them: its kind, its version, when and from what."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from stt_ru.errors import UsageError
from stt_ru.files.wording import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import datetime

SCHEMA_VERSION: Final = 2
"""1 had neither ``kind`` (but for ``stream``) nor ``version``."""

Kind: TypeAlias = Literal["evaluate", "score", "stream", "simul"]
"""The command whose results they are."""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


def envelope(
    kind: Kind, *, manifest: str, created_at: datetime, warnings: Sequence[str]
) -> dict[str, Any]:
    """The fields that stand first in every file.

    Args:
        kind: The command whose results they are.
        manifest: Its path as the user gave it, or what stands for it.
        created_at: With a time zone.
        warnings: Of the manifest and the request, not of a model; Russian sentences.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "version": version("stt-ru"),
        "created_at": created_at.isoformat(timespec="seconds"),
        "manifest": manifest,
        "warnings": list(warnings),
    }


dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def json_pieces(
    head: dict[str, Any], models: Iterable[tuple[dict[str, Any], Iterable[dict[str, Any]]]]
) -> Iterator[str]:
    """A file in pieces, one line per row, so that a hundred thousand rows are never one string.

    Args:
        head: The envelope, and what else stands before the models.
        models: The fields of each and its rows, which become ``results``.
    """
    yield dump(head)[:-1] + ', "models": ['
    for number, (fields, rows) in enumerate(models):
        yield (",\n" if number else "\n") + dump(fields)[:-1] + ', "results": ['
        separator = "\n"
        for row in rows:
            yield separator + dump(row)
            separator = ",\n"
        yield "]}" if separator == "\n" else "\n]}"
    yield "\n]}\n"


def open_envelope(text: str, *, name: str, kinds: Collection[Kind]) -> dict[str, Any]:
    """The document in a JSON text, if it is one of our reports and of one of these kinds.

    Args:
        text: A whole file.
        name: What to call it in messages.
        kinds: Those that the reader understands.

    Raises:
        UsageError: If it is not JSON, not a report, newer than this program, or of another kind.
    """
    document = _parsed(text, name)
    if not isinstance(document, dict) or not ("models" in document or "kind" in document):
        raise UsageError(f"{name}: это не отчёт stt-ru: в нём нет списка models")
    schema = document.get("schema_version", 1)
    if isinstance(schema, bool) or not isinstance(schema, int) or schema < 1:
        raise UsageError(f"{name}: schema_version {written(schema)}: нужно целое число от 1")
    if schema > SCHEMA_VERSION:
        raise UsageError(
            f"{name}: отчёт сделан более новой версией stt-ru (схема {schema}, эта версия читает "
            f"до {SCHEMA_VERSION}); обновите stt-ru"
        )
    kind = document.get("kind", "evaluate" if schema == 1 else None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise UsageError(f"{name}: kind {written(kind)}, а есть: {', '.join(KINDS)}")
    if kind not in kinds:
        wanted = " или ".join(f"stt-ru {one}" for one in KINDS if one in kinds)
        raise UsageError(f"{name}: это отчёт stt-ru {kind}, а нужен отчёт {wanted}")
    return document


def _parsed(text: str, name: str) -> object:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise UsageError(f"{name}: это не отчёт stt-ru: слишком глубокая вложенность") from error
    except json.JSONDecodeError as error:
        if _is_json_lines(text):
            raise UsageError(
                f"{name}: это не отчёт stt-ru, а JSON Lines; отчёт из текстов делает stt-ru score "
                "ФАЙЛ -o ОТЧЁТ.json"
            ) from error
        raise UsageError(
            f"{name}:{error.lineno}: отчёт повреждён, это не JSON "
            f"(символ {error.colno}); сделайте отчёт заново или возьмите целую копию"
        ) from error
    except ValueError as error:  # Python's limit on the digits of an integer
        raise UsageError(f"{name}: отчёт повреждён: целое число слишком длинно") from error


def _is_json_lines(text: str) -> bool:
    """Whether a whole object that is not a report stands first, and more follows it."""
    try:
        first, _ = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "models" not in first


def written(value: object) -> str:
    """A value of a file as messages quote it."""
    return f"«{shown(json.dumps(value, ensure_ascii=False))}»"
