"""What plays the recordings of a page: relative addresses, or the recordings themselves."""

from __future__ import annotations

import base64
import mimetypes
import os
from typing import TYPE_CHECKING
from urllib.parse import quote

from stt_ru.files.reading import describe_os_error
from stt_ru.files.wording import listed, quoted
from stt_ru.manifest.recordings import Recordings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Players:
    """The recordings of a page; each is found, and read where they are embedded, once.

    Args:
        folder: The folder they are named from; None when there are none.
        target: Where the page will be.
        embed_audio: Put them into the page.
    """

    def __init__(self, folder: Path | None, target: Path, *, embed_audio: bool) -> None:
        self._folder = folder
        self._recordings = Recordings("" if folder is None else str(folder))
        self._beside = target.absolute().parent
        self._embed_audio = embed_audio
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
            try:
                content = path.read_bytes()
            except OSError as error:
                self._unread.append(
                    f"запись {quoted(audio)} не положена в страницу, плеера у неё нет: "
                    f"{describe_os_error(error)}"
                )
                return None
            kind = mimetypes.guess_type(path.name)[0] or "audio/wav"
            return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
        try:
            relative = os.path.relpath(path, self._beside)
        except ValueError:  # another disk of Windows
            return path.absolute().as_uri()
        return quote(relative.replace(os.sep, "/"), errors="surrogateescape")
