"""What kind of file of texts this is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, Literal

from stt_ru.errors import UsageError
from stt_ru.manifest.files import CSV_SUFFIXES, JSONL_SUFFIXES, read_text
from stt_ru.stored.plain import looks_like_kaldi

Format = Literal["lines", "kaldi", "trn", "stm", "ctm", "csv", "jsonl", "report"]

FORMATS: Final[tuple[Format, ...]] = (
    "lines", "kaldi", "trn", "stm", "ctm", "csv", "jsonl", "report"
)  # fmt: skip

_BY_SUFFIX: Final[dict[str, Format]] = {
    ".trn": "trn",
    ".stm": "stm",
    ".ctm": "ctm",
    **dict.fromkeys(CSV_SUFFIXES, "csv"),
    **dict.fromkeys(JSONL_SUFFIXES, "jsonl"),
}


def read_file(path: str | Path) -> str:
    """The file's text.

    Raises:
        UsageError: If it cannot be read, is a folder, or is not UTF-8.
    """
    name = str(path)
    if Path(name).is_dir():
        raise UsageError(f"{name}: это папка, а нужен файл с текстами")
    return read_text(name)


def detect(path: str | Path, text: str) -> tuple[Format, str | None]:
    """The format of a file by its suffix and content.

    Returns:
        The format, and what was taken for granted, a sentence in Russian, or None.
    """
    suffix = Path(path).suffix.lower()
    if known := _BY_SUFFIX.get(suffix):
        return known, None
    if suffix == ".json":  # a report, or the JSON Lines that NeMo calls .json
        return ("jsonl" if _is_json_lines(text) else "report"), None
    if looks_like_kaldi(text):
        return "kaldi", f"{path}: прочитан как «id текст» (Kaldi); если это не id: --format lines"
    return "lines", None


def _is_json_lines(text: str) -> bool:
    first = next((line for line in text.splitlines() if line.strip()), "")
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and "models" not in row
