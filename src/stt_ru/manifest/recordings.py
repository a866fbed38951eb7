"""Recordings a manifest names, as files."""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from stt_ru.files.reading import describe_os_error, kind
from stt_ru.files.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

CORE_SUFFIXES: Final = frozenset(
    {".wav", ".wave", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".aif", ".aiff", ".aifc"}
    | {".au", ".snd", ".caf", ".w64", ".rf64", ".sph", ".voc"}
)
"""Suffixes of recordings that libsndfile reads, lower case."""

MEDIA_SUFFIXES: Final = frozenset(
    {".m4a", ".m4b", ".aac", ".amr", ".awb", ".wma", ".ac3", ".ape", ".gsm", ".mka", ".mp2"}
    | {".spx", ".tta", ".weba", ".wv"}
    | {".mp4", ".m4v", ".mkv", ".webm", ".mov", ".avi", ".3gp", ".3g2", ".asf", ".flv", ".mpg"}
    | {".mpeg", ".mts", ".ogv", ".wmv"}
)
"""Suffixes of recordings and videos that need PyAV, the extra ``media``, lower case."""

AUDIO_SUFFIXES: Final = CORE_SUFFIXES | MEDIA_SUFFIXES
"""What is taken for a recording in a folder, lower case."""

_ENDINGS = tuple(AUDIO_SUFFIXES)
_URL = r"[A-Za-z][A-Za-z0-9+.-]+://"
_WINDOWS_DRIVE = r"[A-Za-z]:[\\/]"


def looks_like_recording(cell: str) -> bool:
    """Whether the value could be the name of a recording, by its suffix."""
    return cell.strip(' "\t\u00a0').lower().endswith(_ENDINGS)


class Recording(NamedTuple):
    """A recording that is there."""

    path: Path
    identity: int | str
    """Equal for one file named in two ways: `a.wav`, `./a.wav`, a link."""


class Recordings:
    """Recordings of a manifest by their names in it; each is looked up once."""

    def __init__(self, folder: str) -> None:
        """Names are relative to `folder`; «» is the current one."""
        self._folder = folder
        self._found: dict[str, Recording | None] = {}
        self._listings: dict[str, dict[str, str]] = {}
        self._with_tilde: str | None = None

    def find(self, audio: str) -> Recording | None:
        """The file that `audio` names; None if it is missing or not a regular file."""
        try:
            return self._found[audio]
        except KeyError:
            recording = self._found[audio] = self._look_up(audio)
            return recording

    def _look_up(self, audio: str) -> Recording | None:
        recording = self._stat(audio)
        if recording is None:
            others = map(self._stat, _other_spellings(audio))
            recording = next((other for other in others if other is not None), None)
        if recording is not None and audio.startswith("~"):
            self._with_tilde = audio
        return recording

    def _stat(self, audio: str) -> Recording | None:
        # os, not pathlib: a Path a try would cost more than all else that is done with the row.
        name = os.path.join(self._folder, audio)  # noqa: PTH118
        try:
            status = os.stat(name)  # noqa: PTH116
        except (OSError, ValueError):  # ValueError: NUL or half of a surrogate pair
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        path = Path(name)
        if not status.st_ino:  # a file system without such numbers
            return Recording(path, str(path.resolve()))
        return Recording(path, status.st_dev << 128 | status.st_ino)

    def warnings(self) -> Iterator[str]:
        """What was found but may not be what was meant, a Russian sentence each."""
        if self._with_tilde is not None:
            yield (
                f"путь {quoted(self._with_tilde)} взят буквально: «~» здесь обычный символ, "
                "а не домашний каталог"
            )

    def explain(self, audio: str) -> str:
        """Why `find` found nothing, and what to do."""
        if "\0" in audio:
            return f"в пути {quoted(audio)} нулевой символ"
        if re.match(_URL, audio):
            return f"{quoted(audio)}: ссылки не читаются: скачайте запись и укажите путь к файлу"
        path = Path(self._folder, audio)
        try:
            mode = path.stat().st_mode
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                return f"запись {quoted(audio)}: {describe_os_error(error)}"
            if path.is_symlink():
                return f"запись {quoted(audio)}: символическая ссылка ведёт к файлу, которого нет"
            return f"записи {quoted(audio)} нет{self._hint(audio)}"
        return f"{quoted(audio)}: {kind(mode)}, а нужен файл записи"

    def _hint(self, audio: str) -> str:
        if audio.startswith("~"):
            return ": «~» здесь обычный символ, напишите путь целиком"
        if any(character < " " for character in audio):
            return ": в пути управляющий символ; обратная черта в JSON удваивается (\\\\)"
        if re.match(_WINDOWS_DRIVE, audio) and os.name != "nt":
            return ": это путь Windows с буквой диска; напишите относительный или путь этой системы"
        path = Path(self._folder, audio.replace("\\", "/"))
        alike = self._listing(str(path.parent)).get(_fold(path.name))
        if alike is not None:
            return f": рядом есть {quoted(alike)}, регистр букв должен совпадать"
        if path.is_absolute() and Path(audio).is_absolute():
            return ""
        return f" (искали {path.absolute()}): пути пишутся относительно каталога манифеста"

    def _listing(self, folder: str) -> dict[str, str]:
        if folder not in self._listings:
            try:
                names = [entry.name for entry in Path(folder).iterdir()]
            except OSError:
                names = []
            self._listings[folder] = {_fold(name): name for name in names}
        return self._listings[folder]


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _other_spellings(audio: str) -> Iterator[str]:
    """The name as it may have been meant.

    Windows' separators, spaces around the cell, and «й», «ё» of one code or two: archives made on
    macOS unpack into the latter.
    """
    tried = {audio}
    for slashed in (audio, audio.replace("\\", "/")):
        for trimmed in (slashed, slashed.strip()):
            composed = unicodedata.normalize("NFC", trimmed)
            decomposed = unicodedata.normalize("NFD", trimmed)
            for spelling in (trimmed, composed, decomposed):
                if spelling and spelling not in tried:
                    tried.add(spelling)
                    yield spelling
