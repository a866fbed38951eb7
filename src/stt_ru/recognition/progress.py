"""How far the loop over a model's recordings is: counted, and told to whoever listens."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from stt_ru.scoring.counts import EditCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where the loop of one model stands.

    Attributes:
        model: Its label.
        recordings_done: Recognised or failed.
        recordings: All of them.
        audio_s: Seconds of audio recognised.
        wall_s: Wall seconds since the loop began.
        words: Word errors of the rows recognised so far.
        finished: Whether this is the loop's last word.
        bytes_done: Size of the files recognised or failed; the largest come first, so that their
            number tells little of the time that is left.
        bytes_total: Size of all files; 0 when it is not known.
    """

    model: str
    recordings_done: int
    recordings: int
    audio_s: float
    wall_s: float
    words: EditCounts
    finished: bool = False
    bytes_done: int = 0
    bytes_total: int = 0

    @property
    def share(self) -> float:
        """How much of the work is done, from 0 to 1: by size, or by number without sizes."""
        if self.bytes_total:
            return self.bytes_done / self.bytes_total
        return self.recordings_done / self.recordings if self.recordings else 1.0


class ProgressListener(Protocol):
    """Told where the evaluation stands; called in the caller's thread."""

    def loading(self, label: str) -> None:
        """A model is being loaded."""
        ...

    def advanced(self, progress: Progress) -> None:
        """A recording is done, or some time has passed."""
        ...


class SilentListener:
    """A `ProgressListener` that says nothing."""

    def loading(self, label: str) -> None:
        """Say nothing."""

    def advanced(self, progress: Progress) -> None:
        """Say nothing."""


class Tally:
    """Counts what the loop of one model has done since it was made, and tells a listener.

    Args:
        listener: Told by `tell` and `finish`.
        model: The model's label.
        recordings: How many there are.
        bytes_total: Size of their files; 0 when it is not known.
    """

    def __init__(
        self, listener: ProgressListener, model: str, *, recordings: int, bytes_total: int = 0
    ) -> None:
        self._listener = listener
        self._started = time.perf_counter()
        self._model = model
        self._recordings = recordings
        self._bytes_total = bytes_total
        self._recordings_done = 0
        self._audio_s = 0.0
        self._words = EditCounts()
        self._bytes_done = 0

    def add(self, words: EditCounts, audio_s: float, size: int = 0) -> None:
        """A recording is done: its errors, seconds of audio recognised, and bytes."""
        self._recordings_done += 1
        self._audio_s += audio_s
        self._words += words
        self._bytes_done += size

    def tell(self) -> None:
        """Tell the listener where the loop stands."""
        self._listener.advanced(self._progress(finished=False))

    def finish(self) -> float:
        """Tell the listener that this is the end; return the wall seconds it took."""
        last = self._progress(finished=True)
        self._listener.advanced(last)
        return last.wall_s

    def _progress(self, *, finished: bool) -> Progress:
        return Progress(
            model=self._model,
            recordings_done=self._recordings_done,
            recordings=self._recordings,
            audio_s=self._audio_s,
            wall_s=time.perf_counter() - self._started,
            words=self._words,
            finished=finished,
            bytes_done=self._bytes_done,
            bytes_total=self._bytes_total,
        )
