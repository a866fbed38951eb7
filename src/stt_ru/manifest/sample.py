"""A manifest row as data; what evaluation takes, and what Python users write themselves."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stt_ru.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_FROM_AUDIO: Final = Path()  # told apart by identity: the caller named no path


@dataclass(frozen=True, slots=True)
class Sample:
    """One manifest row: a recording and the reference for it or for one of its channels.

    Attributes:
        audio: The recording as the manifest names it.
        text: The reference as written; without a letter or digit only where that was allowed.
        channel: Channel the text belongs to, from 0; None for the whole recording.
        extra: The manifest's other columns: strings from CSV, JSON values from JSON Lines.
        path: The file, found relative to the manifest; ``Path(audio)`` unless given. Links are not
            resolved: samples of one recording have equal ``path.resolve()``.

    Raises:
        UsageError: If ``audio`` or ``text`` is not a string or ``channel`` not a number from 0.

    Example:
        >>> Sample("calls/a.wav", "алло", 0).path.name
        'a.wav'
    """

    audio: str
    text: str
    channel: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    path: Path = _FROM_AUDIO

    def __post_init__(self) -> None:
        audio: object = self.audio
        if isinstance(audio, os.PathLike):  # natural in Python; reports need a string
            audio = os.fspath(audio)
        if not isinstance(audio, str) or not audio:
            raise UsageError(f"audio: нужна непустая строка или Path, а не {audio!r}")
        object.__setattr__(self, "audio", audio)
        if self.path is _FROM_AUDIO:
            object.__setattr__(self, "path", Path(self.audio))
        elif not isinstance(self.path, Path):
            object.__setattr__(self, "path", Path(self.path))
        text: object = self.text
        if not isinstance(text, str):
            raise UsageError(f"{self.audio}: text: нужна строка, а не {text!r}")
        channel: object = self.channel
        if channel is not None and (
            not isinstance(channel, int) or isinstance(channel, bool) or channel < 0
        ):
            raise UsageError(
                f"{self.audio}: channel: нужно целое число от 0 или None, а не {channel!r}"
            )
