"""Files written whole or not at all; whether they can be is tried beforehand."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from stt_ru.errors import ReportError, UsageError, system_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def check_target(
    target: Path, *, suffixes: tuple[str, ...] = (".json",), what: str = "отчёт"
) -> None:
    """Make sure, by trying, that a report can be written; the file itself is not touched.

    Folders are not created, lest a mistyped path become one.

    Args:
        target: The file.
        suffixes: Suffixes that its name may have.
        what: What to call it in messages, in Russian.

    Raises:
        UsageError: If it cannot be written; says why.
    """
    if target.suffix.lower() not in suffixes:
        raise UsageError(f"{what} {target}: имя файла должно кончаться на {' или '.join(suffixes)}")
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        mode = None
    except OSError as error:
        raise UsageError(f"не удаётся записать {what} {target}: {reason(error)}") from error
    if mode is not None and stat.S_ISDIR(mode):
        raise UsageError(f"{what} {target}: это каталог, а нужно имя файла")
    if mode is not None and not stat.S_ISREG(mode):
        raise UsageError(f"{what} {target}: это не обычный файл")
    place = _real(target)
    if not place.parent.is_dir():
        raise UsageError(f"{what} {target}: нет каталога {place.parent}; создайте его")
    try:
        _try_beside(place)
    except OSError as error:
        raise UsageError(f"не удаётся записать {what} {target}: {reason(error)}") from error


def check_folder(folder: Path, option: str) -> None:
    """Create the folder, and make sure, by trying, that files can be written there.

    Args:
        folder: Its parent must exist.
        option: What to call it in messages.

    Raises:
        UsageError: If they cannot be written; says why.
    """
    try:
        make_folder(folder)
    except OSError as error:
        raise UsageError(f"{option} {folder}: сюда не удаётся записать: {reason(error)}") from error


def make_folder(folder: Path, *, parents: bool = False) -> None:
    """Create the folder if it is missing, and make sure that files can be written in it.

    Raises:
        OSError: If they cannot.
    """
    folder.mkdir(parents=parents, exist_ok=True)
    _try_beside(folder / "trial")


def write_report(target: str | Path, pieces: Iterable[str] | Iterable[bytes]) -> None:
    """Write a file so that a crash at any moment leaves the old one or the new one, never a part.

    Args:
        target: The file.
        pieces: Its content; text is written in UTF-8.

    Raises:
        ReportError: If it cannot be written; the old file is unchanged.
    """
    try:
        write_whole(target, pieces)
    except OSError as error:
        raise ReportError(f"отчёт {target} не записан: {reason(error)}") from error
    except (TypeError, ValueError) as error:  # e.g. an ``extra`` that JSON cannot hold
        raise ReportError(f"отчёт {target} не записан: {error}") from error


def write_whole(target: str | Path, pieces: Iterable[str] | Iterable[bytes]) -> None:
    """Like `write_report`, for callers with their own error message.

    Raises:
        OSError: If it cannot be written.
    """
    with replacing(target) as stream:
        stream.writelines(map(_encoded, pieces))


@contextlib.contextmanager
def replacing(target: str | Path) -> Iterator[BinaryIO]:
    """A stream whose bytes are on disk in place of the file when the block ends.

    After an exception or a kill the old file is unchanged. Permissions are kept, and a link stays
    a link. Threads and processes may replace one file at the same time: the last one wins.

    Raises:
        OSError: If it cannot be written.
    """
    place = _real(Path(target))
    temporary = _temporary(place)
    try:
        descriptor = _create(temporary)
        with open(descriptor, "wb") as stream:  # noqa: PTH123 - a descriptor
            yield stream
            stream.flush()
            os.fsync(descriptor)
        with contextlib.suppress(OSError):  # not there yet, or not ours to change
            temporary.chmod(stat.S_IMODE(place.stat().st_mode))
        temporary.replace(place)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def append_whole(path: Path, text: str) -> None:
    """Append the text to a file in one write: all of it or, if the disk is full, nothing.

    Raises:
        OSError: If it cannot be written.
    """
    data = text.encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        size = os.fstat(descriptor).st_size
        if os.write(descriptor, data) != len(data):
            os.ftruncate(descriptor, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        os.close(descriptor)


def _encoded(piece: str | bytes) -> bytes:
    # A file name that is not valid UTF-8 is kept as a JSON escape.
    return piece if isinstance(piece, bytes) else piece.encode("utf-8", "backslashreplace")


def reason(error: OSError) -> str:
    """Why a file cannot be written, in Russian."""
    return system_reason(error, {"ENOENT": "нет каталога над ним"})


def _real(target: Path) -> Path:
    """Where the bytes go: the target of a link, so that it stays a link."""
    return target.resolve() if target.is_symlink() else target


def _temporary(place: Path) -> Path:
    # No other thread or process uses this name, and no killed one with our PID has left it.
    return place.with_name(f".{place.name[:50]}.{secrets.token_hex(8)}.tmp")


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


def _try_beside(place: Path) -> None:
    trial = _temporary(place)
    os.close(_create(trial))
    trial.unlink()
