"""Recordings from disk: what is decoded, at which rate, and what is wrong with it.

The only module that opens audio files. libsndfile (soundfile) decodes what it can, PyAV (extra
``media``) the rest; soxr brings every rate to the one asked for. Memory is flat: a recording of any
length is read in pieces of about a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
import soundfile as sf
import soxr
from numpy.typing import NDArray

from stt_ru.errors import AudioError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

Waveform: TypeAlias = NDArray[np.float32]
"""Samples, shape ``(n_channels, n_samples)``, in [-1, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio:
    """A whole recording in memory."""

    waveform: Waveform
    sample_rate: int
    warnings: tuple[str, ...] = ()

    @property
    def channels(self) -> int:
        """How many channels the waveform has."""
        return int(self.waveform.shape[0])

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return int(self.waveform.shape[1]) / self.sample_rate


class AudioReader:
    """A recording that is open for reading once, from its beginning to its end."""

    def __init__(self, path: str | Path, *, sample_rate: int = 16_000, mono: bool = False) -> None:
        self.path = Path(path)
        self.sample_rate = sample_rate
        self._mono = mono
        try:
            self._file = sf.SoundFile(str(self.path))
        except (OSError, sf.LibsndfileError) as error:
            raise AudioError(f"файл не читается: {error}") from error
        self.channels: int = self._file.channels
        self.native_sample_rate: int = self._file.samplerate
        self.warnings: tuple[str, ...] = ()
        self._frames = 0

    @property
    def duration_s(self) -> float:
        """Seconds decoded so far."""
        return self._frames / self.native_sample_rate

    def blocks(self, block_s: float) -> Iterator[Waveform]:
        """Yield consecutive blocks of ``block_s`` seconds; the last may be shorter."""
        block_samples = max(1, round(block_s * self.sample_rate))
        pending: list[Waveform] = []
        n_pending = 0
        for piece in self._resampled():
            pending.append(piece)
            n_pending += piece.shape[1]
            if n_pending >= block_samples:
                joined = np.concatenate(pending, axis=1)
                n_whole = n_pending // block_samples * block_samples
                for start in range(0, n_whole, block_samples):
                    yield np.ascontiguousarray(joined[:, start : start + block_samples])
                pending = [joined[:, n_whole:]]
                n_pending -= n_whole
        if n_pending:
            yield np.ascontiguousarray(np.concatenate(pending, axis=1))
        if not self._frames:
            raise AudioError("в файле нет ни одного отсчёта")

    def _resampled(self) -> Iterator[Waveform]:
        width = 1 if self._mono else self.channels
        stream = None
        if self.sample_rate != self.native_sample_rate:
            stream = soxr.ResampleStream(
                self.native_sample_rate, self.sample_rate, width, quality="HQ"
            )
        while True:
            frames = self._file.read(self.native_sample_rate, dtype="float32", always_2d=True)
            self._frames += len(frames)
            last = len(frames) == 0
            if self._mono:
                frames = frames.mean(axis=1, keepdims=True)
            if stream is not None:
                frames = stream.resample_chunk(frames, last=last)
            yield np.clip(frames.T, -1.0, 1.0)
            if last:
                return

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_audio(path: str | Path, *, sample_rate: int = 16_000, mono: bool = False) -> AudioReader:
    """Open a recording for reading in blocks."""
    return AudioReader(path, sample_rate=sample_rate, mono=mono)


def load_audio(path: str | Path, *, sample_rate: int = 16_000, mono: bool = False) -> Audio:
    """Read a whole recording."""
    with open_audio(path, sample_rate=sample_rate, mono=mono) as reader:
        waveform = np.concatenate(list(reader.blocks(60.0)), axis=1)
        return Audio(waveform=waveform, sample_rate=sample_rate, warnings=reader.warnings)
