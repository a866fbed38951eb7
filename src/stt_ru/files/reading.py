"""Reading a manifest's text: regular UTF-8 files; anything else is refused and identified."""

from __future__ import annotations

import re
import shlex
import stat
from pathlib import Path
from typing import Final, NamedTuple

from stt_ru.errors import ManifestError, system_reason

CSV_SUFFIXES: Final = (".csv", ".tsv")
JSONL_SUFFIXES: Final = (".jsonl", ".ndjson")

LINE_END: Final = re.compile(r"\r\n?|\n")
"""Where lines end for people and editors: LF, CRLF or CR, but not U+2028 and the like."""

_OS_ERRORS = {
    "EACCES": "нет прав на чтение",
    "EPERM": "нет прав на чтение",
    "EIO": "ошибка чтения диска",
}

_KINDS = (
    (stat.S_ISDIR, "каталог"),
    (stat.S_ISFIFO, "канал (FIFO)"),
    (stat.S_ISSOCK, "сокет"),
    (stat.S_ISCHR, "устройство"),
    (stat.S_ISBLK, "устройство"),
)

# Strings, not patterns: compiled only for a file that is not UTF-8, not at every start.
_FREQUENT_PAIRS = (
    "(?i)(?=ст|но|то|на|ен|ов|ни|ра|во|ко|по|не|ре|ос|пр|та|ли|ро|ал|го|ет|ор|ка|ер|от|ол|ла|ва|те|де"
    "|ес|ел|ин|ит|ом|ль)"
)
_FREQUENT_LETTERS = "[оеаинтсрвлдкмпу]"


def describe_os_error(error: OSError) -> str:
    """Why a file or folder cannot be read, in Russian."""
    return system_reason(error, _OS_ERRORS)


def kind(mode: int) -> str:
    """What a file is if not a regular one, in Russian."""
    return next((word for is_kind, word in _KINDS if is_kind(mode)), "особый файл")


class IrregularFileError(OSError):
    """A FIFO, socket, device or directory in place of a file: reading it may never end."""


def read_regular(path: str | Path) -> bytes:
    """The content of a regular file.

    Raises:
        OSError: If it cannot be read; an `IrregularFileError` if it is not a regular file.
    """
    mode = Path(path).stat().st_mode
    if not stat.S_ISREG(mode):
        raise IrregularFileError(f"это {kind(mode)}, а не файл")
    return Path(path).read_bytes()


def read_text(name: str) -> str:
    """Text of a regular UTF-8 file without its byte order mark; line breaks are kept.

    Raises:
        ManifestError: If it cannot be read or is not UTF-8 text; says what it looks like.
    """
    try:
        data = read_regular(name)
    except OSError as error:
        raise ManifestError([f"{name}: {describe_os_error(error)}"]) from error
    data = data.removeprefix(b"\xef\xbb\xbf")
    foreign = _certain_encoding(data)
    if foreign is not None:
        raise ManifestError([f"{name}: {foreign.description}{_how_to_convert(name, foreign)}"])
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        foreign = _eight_bit_encoding(data)
        if foreign is not None:
            message = f"{name}: {foreign.description}{_how_to_convert(name, foreign)}"
            raise ManifestError([message]) from error
        line = _line_after(data[: error.start].decode())
        byte = f"байт 0x{data[error.start]:02X} не из UTF-8"
        raise ManifestError(
            [f"{name}:{line}: {byte}: файл повреждён или в другой кодировке, а нужна UTF-8"]
        ) from error
    zero = text.find("\0")
    if zero >= 0:
        line = _line_after(text[:zero])
        raise ManifestError([f"{name}:{line}: нулевой байт: файл повреждён или это не текст"])
    return text


def _line_after(before: str) -> int:
    return 1 + len(LINE_END.findall(before))


class _Encoding(NamedTuple):
    description: str
    iconv: str | None
    """Its iconv name; None if the file is not text at all."""


def _certain_encoding(data: bytes) -> _Encoding | None:
    """What the file is instead of UTF-8, judging by its first bytes and its zero bytes."""
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x1f\x8b")):
        return _Encoding(
            "это книга Excel или архив, а не текст: сохраните таблицу как «CSV UTF-8»", None
        )
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return _Encoding("файл в UTF-32, а нужна UTF-8", "UTF-32")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _Encoding("файл в UTF-16, а нужна UTF-8", "UTF-16")
    head = data[:2000]
    zeros_even, zeros_odd = head[::2].count(0), head[1::2].count(0)
    if max(zeros_even, zeros_odd) > len(head) // 8:  # the column names alone give more
        order = "LE" if zeros_odd > zeros_even else "BE"
        return _Encoding("файл не в UTF-8, похоже на UTF-16", f"UTF-16{order}")
    return None


def _eight_bit_encoding(data: bytes) -> _Encoding | None:
    """The Russian single-byte encoding in which the bytes look most like Russian, if any does.

    A wrong one turns letters into other letters, mostly of the other case, so pairs of letters
    tell most, and lower case decides for one-word texts.
    """
    head = data[:100_000]
    n_foreign = sum(byte > 0x7F for byte in head)
    scores = {}
    for name in ("Windows-1251", "KOI8-R", "CP866"):
        text = head.decode(name, errors="replace")
        n_pairs = len(re.findall(_FREQUENT_PAIRS, text))
        n_letters = len(re.findall(_FREQUENT_LETTERS, text))
        scores[name] = 6 * n_pairs + n_letters  # about 2 per letter in Russian, 0.4 by chance
    best = max(scores, key=scores.__getitem__)
    if scores[best] < 0.7 * n_foreign:  # UTF-8 with a corrupt byte scores 0.5 at most
        return None
    return _Encoding(f"файл не в UTF-8, похоже на {best}", best.upper())


def _how_to_convert(name: str, foreign: _Encoding) -> str:
    if foreign.iconv is None:
        return ""
    path = Path(name)
    target = path.with_name(f"{path.stem}-utf8{path.suffix}")
    command = f"iconv -f {foreign.iconv} -t UTF-8 {shlex.quote(name)} > {shlex.quote(str(target))}"
    if path.suffix.lower() in CSV_SUFFIXES:
        return f"; сохраните его в Excel как «CSV UTF-8» или перекодируйте: {command}"
    return f"; перекодируйте: {command}"
