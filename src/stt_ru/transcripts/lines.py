"""Texts in plain lines: nothing but text, Kaldi's ``id text``, sclite's ``text (id)``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from stt_ru.errors import UsageError
from stt_ru.files.reading import LINE_END
from stt_ru.files.wording import quoted
from stt_ru.transcripts.texts import StoredText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

COMMENT: Final = ";;"  # sclite's

_TRN = re.compile(r"(.*)\(([^()\s]+)\)\s*")
_ALTERNATIVES = re.compile(r"(?<!\S)\{(?!\S)")  # sclite's «{ a / b }»: the brace is a word


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Lines as editors count them, from 1; a line end at the very end begins none."""
    lines = LINE_END.split(text)
    if not lines[-1]:
        lines.pop()
    return enumerate(lines, start=1)


def content_lines(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Those of numbered lines that are neither blank nor a comment of sclite's."""
    return ((n, line) for n, line in lines if line.strip() and not line.startswith(COMMENT))


def read_lines(text: str) -> list[StoredText]:
    """One text per line; an empty line is an empty text."""
    return [StoredText(line=number, text=line.strip()) for number, line in lines_of(text)]


def read_kaldi(text: str) -> list[StoredText]:
    """``id text`` a line; an id alone has an empty text, blank lines are nothing."""
    found = []
    for number, line in lines_of(text):
        name, *rest = line.split(maxsplit=1) or [""]
        if name:
            found.append(StoredText(line=number, name=name, text="".join(rest).strip()))
    return found


def looks_like_kaldi(text: str) -> bool:
    r"""Whether every line begins with what only an id can be: Latin, with a digit, never twice.

    Example:
        >>> looks_like_kaldi("spk1-001 да\nspk1-002 нет"), looks_like_kaldi("2013 год")
        (True, False)
    """
    names = [line.split(maxsplit=1)[0] for _, line in lines_of(text) if line.strip()]
    is_id = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z_/-])[!-~]+").fullmatch
    return bool(names) and len(set(names)) == len(names) and all(is_id(name) for name in names)


def read_trn(text: str, path: str, *, variants: bool = False) -> list[StoredText]:
    """Sclite's ``text (id)`` a line; lines that begin with ``;;`` are comments.

    Args:
        text: The file's content.
        path: Its name, for messages.
        variants: Whether alternatives are read.

    Raises:
        UsageError: If a line has no id, or is written with alternatives.
    """
    found = []
    for number, line in content_lines(lines_of(text)):
        match = _TRN.fullmatch(line)
        if match is None:
            raise UsageError(
                f"{path}:{number}: {quoted(line)}: в конце строки trn нужен id в скобках, "
                "например «да нет (spk1-001)»"
            )
        written = as_variants(match[1], path, number, variants=variants)
        found.append(StoredText(line=number, name=match[2], text=written.strip()))
    return found


def as_variants(text: str, path: str, line: int, *, variants: bool) -> str:
    """The text with sclite's «{ a / b / @ }» written as our «{ a | b | }».

    Raises:
        UsageError: If alternatives stand in it and are not to be read: plain scoring would take
            «{ a / b }» for words.
    """
    if not _ALTERNATIVES.search(text):
        return text
    if not variants:
        raise UsageError(
            f"{path}:{line}: варианты «{{ a / b }}» здесь не читаются: оставьте в тексте один; "
            "в эталонах их читает --variants"
        )
    depth = 0
    signs = []
    for sign in text.split():
        depth += (sign == "{") - (sign == "}")
        signs.append({"/": "|", "@": ""}.get(sign, sign) if depth > 0 else sign)
    return " ".join(signs)
