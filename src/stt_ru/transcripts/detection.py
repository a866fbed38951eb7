"""What kind of file of texts this is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stt_ru.errors import UsageError
from stt_ru.files.csv_text import DELIMITERS, loose_cells
from stt_ru.files.reading import CSV_SUFFIXES, JSONL_SUFFIXES, read_text
from stt_ru.transcripts.lines import lines_of, looks_like_kaldi
from stt_ru.transcripts.tables import HYPOTHESIS_NAMES, ID_NAMES, REFERENCE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stt_ru.defaults import TranscriptFormat

_BY_SUFFIX: Final[dict[str, TranscriptFormat]] = {
    ".trn": "trn",
    ".stm": "stm",
    ".ctm": "ctm",
    **dict.fromkeys(CSV_SUFFIXES, "csv"),
    **dict.fromkeys(JSONL_SUFFIXES, "jsonl"),
}

_NAME: Final = re.compile(r"[a-z_][a-z0-9_.-]*")
_LONGEST_HEADER: Final = 10_000  # characters; the csv module refuses cells of 131072


def read_file(path: str | Path) -> str:
    """The file's text.

    Raises:
        UsageError: If it cannot be read, is a folder, or is not UTF-8.
    """
    name = str(path)
    if Path(name).is_dir():
        raise UsageError(f"{name}: это папка, а нужен файл с текстами")
    return read_text(name)


def detect(
    path: str | Path, text: str, wanted: Iterable[str | None] = ()
) -> tuple[TranscriptFormat, str | None]:
    """The format of a file by its suffix and content.

    Where the suffix says nothing, as in a pipe, only what no plain text is like is taken for JSON
    or for a table: an object, a header of known columns.

    Args:
        path: The file.
        text: Its content.
        wanted: Columns the user named.

    Returns:
        The format, and what was taken for granted, a sentence in Russian, or None.
    """
    suffix = Path(path).suffix.lower()
    if known := _BY_SUFFIX.get(suffix):
        return known, None
    first = _json_object(next((line for _, line in lines_of(text) if line.strip()), ""))
    if suffix == ".json":  # a report, or the JSON Lines that NeMo calls .json
        return ("report" if first is None or "models" in first else "jsonl"), None
    if "models" in (_json_object(text) or {}):
        return "report", None
    if first is not None:
        return "jsonl", None
    if looks_like_kaldi(text):
        return "kaldi", f"{path}: прочитан как «id текст» (Kaldi); если это не id: --format lines"
    if _is_table(text, {name.casefold() for name in wanted if name}):
        return "csv", f"{path}: прочитан как таблица с заголовком; если это не он: --format lines"
    return "lines", None


def _json_object(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_table(text: str, wanted: set[str]) -> bool:
    """Whether the first line names columns, a text among them.

    Two known names are no line of speech. One is enough beside tabs, when all lines have as many.
    """
    lines = [line for _, line in lines_of(text) if line.strip()]
    if not lines or len(lines[0]) > _LONGEST_HEADER:
        return False
    texts = {*REFERENCE_NAMES, *HYPOTHESIS_NAMES, *wanted}
    for delimiter in DELIMITERS:
        names = [cell.strip().casefold() for cell in loose_cells(lines[0], 0, delimiter)]
        if len(names) < 2 or not all(names) or texts.isdisjoint(names):
            continue
        known = (texts | set(ID_NAMES)).intersection(names)
        if len(known) > 1 and all(name in wanted or _NAME.fullmatch(name) for name in names):
            return True
        if delimiter == "\t" and len({line.count("\t") for line in lines}) == 1 < len(lines):
            return True
    return False
