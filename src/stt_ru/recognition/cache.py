"""Nothing recognised twice: transcripts kept by what was heard and how."""

from __future__ import annotations

import contextlib
import hashlib
import json
import stat
import threading
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stt_ru.errors import SttRuError
from stt_ru.files.writing import reason, write_whole
from stt_ru.recognition.recognizer import LoadedRecognizer, Recognizer, Transcript
from stt_ru.results import Segment

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION: Final = "3"
"""Of the files' layout; another one is another key."""

_NO_MATTER: Final = frozenset({"workers"})  # settings that do not move the text
_PACKAGES: Final = ("stt-ru", "onnx-asr", "onnxruntime", "soxr", "soundfile")
_BLOCK: Final = 1 << 20  # bytes hashed at a time
_LEFT_S: Final = 3_600  # a file that has been half written for so long will stay so


class CachedRecognizer:
    """A recogniser that remembers: what it heard once it does not hear again.

    A transcript is known by the bytes of the recording, the recogniser's name and settings (the
    weights' digest among them), and the versions of the packages that decode and recognise. It is a
    file of its own, written whole or not at all: several runs may share the folder, and a killed
    one spoils nothing. Failures are not kept.

    Args:
        recognizer: With ``settings``: without them nobody knows what its text depends on, and
            nothing is kept.
        folder: Where the files are.

    Attributes:
        name: The recogniser's, as ``label``, ``concurrency`` and, where it has them, ``settings``.
        hits: Recordings answered from the folder.
        asked: Recordings asked for.

    Raises:
        UsageError: If what it is given is not a recogniser.
    """

    def __init__(self, recognizer: Recognizer, folder: Path) -> None:
        self._inner = LoadedRecognizer.of(recognizer)
        self._folder = folder
        info = self._inner.info
        self.name = info.name
        self.label = info.label
        self.concurrency = info.concurrency
        self.knows_channels = info.knows_channels
        if info.settings is not None:
            self.settings = info.settings
        _sweep(folder)
        self._lock = threading.Lock()
        self._broken: list[str] = []
        self.hits = self.asked = 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """The recogniser's, and what came from the cache."""
        found = list(self._inner.warnings())
        if self._inner.info.settings is None:
            found.append(
                f"--cache: у распознавателя {self.name} нет settings, и по чему узнать его тексты, "
                "неизвестно: кэш не используется"
            )
        if self.hits:
            rest = "скорость посчитана по остальным"
            if self.hits == self.asked:
                rest = "скорость не измерена"
            found.append(f"из кэша взято записей: {self.hits} из {self.asked}; {rest}")
        return (*found, *self._broken)

    def transcribe(self, path: str | Path) -> Transcript:
        """The transcript of the folder, or a new one, which is then kept."""
        with self._lock:
            self.asked += 1
        recognizer, settings = self._inner.recognizer, self._inner.info.settings
        if settings is None:
            return recognizer.transcribe(path)
        file = Path(path)
        try:
            stamp, content = _stamp(file), _digest(file)
        except OSError:  # the recogniser says best what is wrong with it
            return recognizer.transcribe(path)
        key = self._key(content, settings)
        place = self._place(key)
        stored = self._read(place, key, str(path))
        if stored is not None:
            with self._lock:
                self.hits += 1
            return stored
        transcript = recognizer.transcribe(path)
        with contextlib.suppress(OSError):  # gone meanwhile: heard, but not kept
            if _stamp(file) == stamp:
                self._write(place, key, transcript)
        return transcript

    def _key(self, content: str, settings: Mapping[str, str]) -> dict[str, str]:
        matter = sorted(settings.keys() - _NO_MATTER)
        return {
            "cache": VERSION,
            "audio": content,
            "model": self.name,
            **{f"setting:{name}": settings[name] for name in matter},
            **{package: version(package) for package in _PACKAGES},
        }

    def _place(self, key: Mapping[str, str]) -> Path:
        name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        return self._folder / f"{name[:40]}.json"

    def _read(self, place: Path, key: Mapping[str, str], source: str) -> Transcript | None:
        try:
            if not stat.S_ISREG(place.stat().st_mode):  # a FIFO would be read for ever
                raise ValueError("not a file")
            document = json.loads(place.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError):
            document = None
        transcript = _transcript(document, key)
        if transcript is None:
            with self._lock:
                self._broken.append(f"файл кэша {place} испорчен, запись распознана заново")
            return None
        return replace(transcript, model=self.name, source=source)

    def _write(self, place: Path, key: Mapping[str, str], transcript: Transcript) -> None:
        document: dict[str, Any] = {
            "key": key,
            "segments": [
                [s.start, s.end, s.text, s.channel, list(s.word_starts)]
                for s in transcript.segments
            ],
            "duration": transcript.duration,
            "channels": transcript.channels,
            "channel_map": list(transcript.channel_map),
            "warnings": list(transcript.warnings),
        }
        document["checksum"] = _checksum(document)
        try:
            write_whole(place, [json.dumps(document)])
        except OSError as error:
            with self._lock:
                text = f"кэш {self._folder} не пополняется: {reason(error)}"
                if text not in self._broken:
                    self._broken.append(text)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _transcript(document: Any, key: Mapping[str, str]) -> Transcript | None:
    """The transcript of a cache file; None when it is not what was written under this key."""
    try:
        if document["key"] != key or document.pop("checksum") != _checksum(document):
            return None
        return Transcript(
            segments=tuple(
                Segment(float(start), float(end), str(text), int(channel), starts)
                for start, end, text, channel, starts in document["segments"]
            ),
            duration=None if document["duration"] is None else float(document["duration"]),
            channels=int(document["channels"]),
            channel_map=tuple(int(channel) for channel in document["channel_map"]),
            warnings=tuple(str(warning) for warning in document["warnings"]),
            from_cache=True,
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, SttRuError):
        return None


def _checksum(document: Mapping[str, Any]) -> str:
    """By what a file is known to hold what was written, to the last figure."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _sweep(folder: Path) -> None:
    """Remove what killed runs left half written."""
    for left in folder.glob(".*.json.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _LEFT_S:
                left.unlink()


def _stamp(path: Path) -> tuple[int, int]:
    """By what a change of a file shows without reading it: its size and when it was written."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns
