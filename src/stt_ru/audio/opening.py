"""Which decoder a file needs, found by its content; and files that are no recordings."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import soundfile as sf

from stt_ru.audio.file_bytes import bytes_at, text_start
from stt_ru.audio.pyav import AvSource
from stt_ru.audio.sndfile import SndfileSource
from stt_ru.errors import AudioError, MissingExtraError, system_reason
from stt_ru.extras import install_command

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path

    from stt_ru.audio.source import Source

_MEDIA_MARKS = (
    (4, b"ftyp", "MP4 (M4A, MOV, 3GP)"),
    (0, b"\x1aE\xdf\xa3", "Matroska (MKV, WebM)"),
    (0, b"0&\xb2u", "ASF (WMA, WMV)"),
    (0, b"#!AMR", "AMR"),
    (0, b"\xff\xf1", "AAC"),
    (0, b"\xff\xf9", "AAC"),
    (0, b"FLV", "FLV"),
    (8, b"AVI ", "AVI"),
    (0, b"wvpk", "WavPack"),
    (0, b"MAC ", "Monkey's Audio"),
)
_MEDIA_SUFFIXES = frozenset(
    {".3g2", ".3gp", ".aac", ".ac3", ".amr", ".ape", ".asf", ".avi", ".awb", ".dsf", ".dts"}
    | {".flv", ".m4a", ".m4b", ".m4v", ".mka", ".mkv", ".mov", ".mp4", ".mpc", ".mpeg", ".mpg"}
    | {".mts", ".spx", ".ts", ".tta", ".vob", ".webm", ".wma", ".wmv", ".wv"}
)


def open_regular_file(path: Path) -> FileIO:
    """Open a file to be read as bytes.

    Raises:
        AudioError: If the file is missing or cannot hold a recording.
    """
    try:
        status = path.stat()
        # Before opening: open() of a FIFO waits for its writer.
        if stat.S_ISDIR(status.st_mode):
            raise AudioError("это папка, а не файл")
        if not stat.S_ISREG(status.st_mode):
            raise AudioError("это канал или устройство, а нужен обычный файл")
        if status.st_size == 0:
            raise AudioError("файл пуст (0 байт)")
        return path.open("rb", buffering=0)
    except FileNotFoundError as error:
        raise AudioError("файла нет") from error
    except PermissionError as error:
        raise AudioError("нет прав на чтение файла") from error
    except OSError as error:
        raise AudioError(f"файл не открывается: {system_reason(error)}") from error
    except ValueError as error:  # a NUL, or half of a surrogate pair
        raise AudioError("файл не открывается: такого имени у файла быть не может") from error


def open_source(file: FileIO, suffix: str) -> Source:
    """The decoder that can read the file, with the recording in it.

    Raises:
        AudioError: If none can.
        MissingExtraError: If it takes PyAV, and PyAV is not installed.
    """
    try:
        return SndfileSource(file)
    except sf.LibsndfileError:
        pass  # PyAV may know better
    head = bytes_at(file, 0, 4096)
    media = next((name for at, mark, name in _MEDIA_MARKS if head.startswith(mark, at)), None)
    if media is None and (text := text_start(head)) is not None:
        raise AudioError(f"это текст, а не звук: «{text}»")
    try:
        import av  # noqa: F401  # optional and heavy; AvSource uses it
    except ImportError as error:
        if media is None and suffix.lower() in _MEDIA_SUFFIXES:
            media = suffix[1:].upper()
        if media is not None:
            raise MissingExtraError(f"формат {media}", "media") from error
        raise AudioError(
            "формат не распознан, или файл испорчен; больше форматов "
            f"читает PyAV: {install_command('media')}"
        ) from error
    return AvSource(file)
