"""Report files: refused early when they cannot be written, replaced in one step when they can."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from stt_ru.errors import ReportError, UsageError, system_reason

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_target(
    target: Path, *, suffixes: tuple[str, ...] = (".json",), what: str = "отчёт"
) -> None:
    """Make sure, by trying, that a report can be written there; the file itself is not touched.

    Folders are not created: a mistyped path should not become one.

    Args:
        target: The file.
        suffixes: What its name may end with.
        what: What the user calls it.

    Raises:
        UsageError: Saying why it cannot.
    """
    if target.suffix.lower() not in suffixes:
        raise UsageError(f"{what} {target}: имя файла должно кончаться на {' или '.join(suffixes)}")
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        mode = None
    except OSError as error:
        raise UsageError(f"{what} {target} не записать: {reason(error)}") from error
    if mode is not None and stat.S_ISDIR(mode):
        raise UsageError(f"{what} {target}: это каталог, а нужно имя файла")
    if mode is not None and not stat.S_ISREG(mode):
        raise UsageError(f"{what} {target}: это не обычный файл")
    place = _real(target)
    if not place.parent.is_dir():
        raise UsageError(f"{what} {target}: нет каталога {place.parent}; создайте его")
    try:
        trial = _temporary(place)
        descriptor = os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as error:
        raise UsageError(f"{what} {target} не записать: {reason(error)}") from error
    os.close(descriptor)
    trial.unlink()


def check_folder(folder: Path, option: str) -> None:
    """Make the folder, and make sure by trying that files can be written there.

    Args:
        folder: The one above it must be there.
        option: What the user calls it.

    Raises:
        UsageError: Saying why they cannot.
    """
    try:
        folder.mkdir(exist_ok=True)
        trial = _temporary(folder / "trial")
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise UsageError(f"{option} {folder}: сюда не записать: {reason(error)}") from error


def write_report(target: str | Path, pieces: Iterable[str] | Iterable[bytes]) -> None:
    """Write a file so that a crash at any moment leaves the old one or the new one, never a part.

    Args:
        target: The file.
        pieces: Its content; text is written in UTF-8.

    Raises:
        ReportError: If it cannot be written; the old file is as it was.
    """
    place = _real(Path(target))
    temporary = _temporary(place)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with open(descriptor, "wb") as stream:  # noqa: PTH123 - a descriptor
            stream.writelines(map(_encoded, pieces))
            stream.flush()
            os.fsync(descriptor)
        with contextlib.suppress(OSError):  # not there yet, or not ours to change
            temporary.chmod(stat.S_IMODE(place.stat().st_mode))
        temporary.replace(place)
    except OSError as error:
        raise ReportError(f"отчёт {target} не записан: {reason(error)}") from error
    except (TypeError, ValueError) as error:  # e.g. an ``extra`` that JSON cannot hold
        raise ReportError(f"отчёт {target} не записан: {error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _encoded(piece: str | bytes) -> bytes:
    # A file name that is no valid UTF-8 is kept as a JSON escape.
    return piece if isinstance(piece, bytes) else piece.encode("utf-8", "backslashreplace")


def reason(error: OSError) -> str:
    """Why a file cannot be written, in Russian."""
    return system_reason(error, {"ENOENT": "нет каталога над ним"})


def _real(target: Path) -> Path:
    """Where the bytes go: a link stays a link."""
    return target.resolve() if target.is_symlink() else target


def _temporary(place: Path) -> Path:
    return place.with_name(f".{place.name[:100]}.{os.getpid()}.tmp")
