"""What plays the recordings of a page: relative addresses, or the recordings themselves."""

from __future__ import annotations

import base64
import mimetypes
import os
import re
import secrets
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from stt_ru.audio import open_audio
from stt_ru.errors import AudioError, MissingExtraError, ReportError
from stt_ru.files.reading import describe_os_error
from stt_ru.files.wording import listed, quoted
from stt_ru.manifest.recordings import Recordings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PIECE: Final = 3 << 18  # bytes read at a time; base64 takes them by threes


class Players:
    """The recordings of a page; each is found, and read where they are embedded, once.

    Args:
        folder: The folder they are named from; None when there are none.
        target: Where the page will be.
        embed_audio: Put them into the page: only files that decode as sound.
        only_inside: Put in only what lies under ``folder``, as for results that were read from a
            file: whoever wrote it may have named any recording of this machine.
    """

    def __init__(
        self, folder: Path | None, target: Path, *, embed_audio: bool, only_inside: bool = False
    ) -> None:
        self._folder = folder
        self._recordings = Recordings("" if folder is None else str(folder))
        self._beside = target.absolute().parent
        self._embed_audio = embed_audio
        self._only_inside = only_inside
        self._mark = secrets.token_hex(8)  # no text of a report has it
        self._embedded: list[Path] = []
        self._sources: dict[str, str | None] = {}
        self._missing: list[str] = []
        self._unread: list[str] = []

    def source(self, audio: str) -> str | None:
        """What the player of a recording plays; None for no player."""
        if audio not in self._sources:
            self._sources[audio] = self._source(audio)
        return self._sources[audio]

    def warnings(self) -> Iterator[str]:
        """Which of the recordings asked for have no player, and why."""
        if self._missing:
            yield (
                f"записей не найдено: {len(self._missing)} из {len(self._sources)} "
                f"({listed(self._missing)}), плеера у них нет; каталог записей называет "
                "--audio-dir команды stt-ru report"
            )
        yield from self._unread

    def _source(self, audio: str) -> str | None:
        if self._folder is None:
            return None
        found = self._recordings.find(audio)
        if found is None:
            self._missing.append(audio)
            return None
        path = found.path
        if self._embed_audio:
            return self._embed(audio, path)
        try:
            relative = os.path.relpath(path, self._beside)
        except ValueError:  # another disk of Windows
            return path.absolute().as_uri()
        return quote(relative.replace(os.sep, "/"), errors="surrogateescape")

    def _embed(self, audio: str, path: Path) -> str | None:
        """What stands for the recording until `fill` puts it there; None with a reason why not."""
        reason = self._why_not(path)
        if reason is not None:
            self._unread.append(
                f"запись {quoted(audio)} не положена в страницу, плеера у неё нет: {reason}"
            )
            return None
        kind = mimetypes.guess_type(path.name)[0] or ""
        if not kind.startswith(("audio/", "video/")):
            kind = "audio/wav"
        self._embedded.append(path)
        return f"data:{kind};base64,{self._mark}-{len(self._embedded) - 1}."

    def _why_not(self, path: Path) -> str | None:
        assert self._folder is not None
        if self._only_inside and not path.resolve().is_relative_to(self._folder.resolve()):
            return f"она лежит вне каталога записей {self._folder}, а отчёт мог назвать любой файл"
        try:
            with open_audio(path) as reader:
                next(iter(reader.blocks(1.0)), None)
        except (AudioError, MissingExtraError) as error:
            return str(error)
        except OSError as error:
            return describe_os_error(error)
        return None

    def fill(self, page: str) -> Iterator[str]:
        """The page with the recordings in it, in pieces: none is held whole in memory.

        Raises:
            ReportError: If a recording cannot be read any more.
        """
        start = 0
        for found in re.finditer(rf"{self._mark}-(\d+)\.", page):
            yield page[start : found.start()]
            yield from _base64(self._embedded[int(found[1])])
            start = found.end()
        yield page[start:]


def _base64(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as stream:
            while piece := stream.read(_PIECE):
                yield base64.b64encode(piece).decode("ascii")
    except OSError as error:
        raise ReportError(f"запись {path}: {describe_os_error(error)}") from error
