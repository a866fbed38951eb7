"""A recording read in blocks at the rate asked for, or whole; samples in memory as one."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import soxr

from stt_ru.audio.opening import open_regular_file, open_source
from stt_ru.audio.repairs import Repairs
from stt_ru.audio.source import SAMPLE_RATE
from stt_ru.errors import AudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stt_ru.audio.source import Frames, Waveform

MAX_CHANNELS = 64  # of microphone arrays; beyond it a header is damaged
MIN_SAMPLE_RATE = 4_000
MAX_SAMPLE_RATE = 768_000  # the highest that recorders offer; beyond it a header is damaged


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio:
    """A whole recording in memory.

    Attributes:
        waveform: Samples at ``sample_rate``, C-contiguous.
        warnings: What was repaired, sentences for the user.
    """

    waveform: Waveform
    sample_rate: int
    warnings: tuple[str, ...] = ()

    @property
    def channels(self) -> int:
        """Channels of the waveform: 1 when the recording was read with ``mono=True``."""
        return int(self.waveform.shape[0])

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return int(self.waveform.shape[1]) / self.sample_rate


def open_audio(
    path: str | Path, *, sample_rate: int = SAMPLE_RATE, mono: bool = False
) -> AudioReader:
    """Open a recording for reading in blocks; see ``AudioReader``."""
    return AudioReader(path, sample_rate=sample_rate, mono=mono)


def load_audio(path: str | Path, *, sample_rate: int = SAMPLE_RATE, mono: bool = False) -> Audio:
    """Read a whole recording into memory.

    Raises:
        AudioError: If it cannot be read, or holds no sound.
        MissingExtraError: If it needs PyAV, and PyAV is not installed.
    """
    with open_audio(path, sample_rate=sample_rate, mono=mono) as reader:
        waveform = np.concatenate(list(reader.blocks(60.0)), axis=1)
        return Audio(waveform=waveform, sample_rate=sample_rate, warnings=reader.warnings)


def waveform_of(
    samples: NDArray[np.floating], sampling_rate: int, *, sample_rate: int = SAMPLE_RATE
) -> Waveform:
    """One channel in memory as a recording of it would be read, shape (1, n).

    Args:
        samples: In [-1, 1], shape (n,); what is beyond is clipped.
        sampling_rate: Theirs, Hz.
        sample_rate: The rate asked for, Hz.

    Raises:
        AudioError: If they are not sound: empty, not finite, integers, of several channels; or the
            rate is invalid.
    """
    kind = np.asarray(samples)
    if kind.ndim != 1 or not np.issubdtype(kind.dtype, np.floating):
        raise AudioError(
            f"нужен массив одного канала с плавающей точкой, а не {kind.dtype} {kind.shape}"
        )
    if not len(kind):
        raise AudioError("в массиве нет ни одного отсчёта звука")
    if not isinstance(sampling_rate, Real):
        raise AudioError(f"частота дискретизации {sampling_rate!r}, а нужно число герц")
    if not MIN_SAMPLE_RATE <= sampling_rate <= MAX_SAMPLE_RATE:
        raise AudioError(
            f"частота дискретизации {sampling_rate} Гц, а бывает от {MIN_SAMPLE_RATE} до "
            f"{MAX_SAMPLE_RATE}"
        )
    frames = kind.astype(np.float32, copy=False)[:, np.newaxis]
    if not np.isfinite(frames).all():
        raise AudioError("в массиве есть не числа или бесконечности")
    frames = Repairs().repair(frames, keeps_level=True)
    if sampling_rate != sample_rate:
        frames = soxr.resample(frames, sampling_rate, sample_rate, quality="HQ")
    return _waveform(frames)


class AudioReader:
    """A recording open for one pass from its beginning to its end.

    Attributes:
        path: Where it is.
        channels: Channels of the file, whatever ``mono`` says.
        sample_rate: Rate of what ``blocks`` yields, Hz.
        native_sample_rate: Rate of the file, Hz.

    Raises:
        AudioError: On opening, if the file cannot be read as sound.
        MissingExtraError: If it needs PyAV, and PyAV is not installed.
    """

    def __init__(
        self, path: str | Path, *, sample_rate: int = SAMPLE_RATE, mono: bool = False
    ) -> None:
        self.path = Path(path)
        self.sample_rate = sample_rate
        self._mono = mono
        with ExitStack() as on_failure:
            file = on_failure.enter_context(open_regular_file(self.path))
            self._source = open_source(file, self.path.suffix)
            on_failure.callback(self._source.close)
            self.channels = self._source.channels
            self.native_sample_rate = self._source.sample_rate
            if not MIN_SAMPLE_RATE <= self.native_sample_rate <= MAX_SAMPLE_RATE:
                raise AudioError(
                    f"частота дискретизации по заголовку {self.native_sample_rate} Гц, а бывает от "
                    f"{MIN_SAMPLE_RATE} до {MAX_SAMPLE_RATE}: заголовок испорчен"
                )
            if self.channels > MAX_CHANNELS:
                raise AudioError(
                    f"каналов по заголовку {self.channels}, а бывает до {MAX_CHANNELS}: "
                    "заголовок испорчен"
                )
            self._open_files = on_failure.pop_all()
        self._frames = 0
        self._is_started = False
        self._repairs = Repairs()
        self._source_warnings: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        """Seconds decoded so far: frames of the file over its rate. Final after the last block."""
        return self._frames / self.native_sample_rate

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was repaired, sentences for the user. Complete after the last block."""
        return (*self._source_warnings, *self._repairs.sentences(self._frames * self.channels))

    def blocks(self, block_s: float) -> Iterator[Waveform]:
        """Yield consecutive blocks of the recording, resampled.

        What they join to does not depend on ``block_s``, to the bit, and channels that are equal
        sample for sample in the file are equal in them.

        Args:
            block_s: Length of a block in seconds, at least one sample. The last may be shorter.

        Yields:
            C-contiguous arrays of shape ``(n_channels, n)``, n > 0; one channel, the mean of all,
            with ``mono=True``. About ``duration_s * sample_rate`` samples in all, at least one.

        Raises:
            AudioError: If the recording is damaged beyond repair or holds no sample. Blocks that
                were yielded before are what could be decoded.
        """
        if not block_s > 0:
            raise ValueError(f"block_s = {block_s}, it must be positive")
        if self._is_started:
            raise RuntimeError("a recording is read once; open it again")
        self._is_started = True
        return _rebuffer(self._resampled(), max(1, round(block_s * self.sample_rate)))

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._open_files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _resampled(self) -> Iterator[Waveform]:
        """Yield the recording at the rate asked for, in pieces of any length."""
        n_channels = 1 if self._mono else self.channels
        resampler = None
        if self.sample_rate != self.native_sample_rate:
            resampler = soxr.ResampleStream(
                self.native_sample_rate, self.sample_rate, n_channels, quality="HQ"
            )
        first: Frames | None = None
        n_out = 0
        for frames in self._repaired():
            if first is None:
                first = frames[:1].copy()
            if resampler is not None:
                frames = resampler.resample_chunk(frames)
            n_out += len(frames)
            yield _waveform(frames)
        if first is None:
            raise AudioError(self._empty_sentence())
        if resampler is not None:
            rest = resampler.resample_chunk(np.empty((0, n_channels), np.float32), last=True)
            # A few samples at a high rate can be none at a low one.
            yield _waveform(rest if n_out + len(rest) else first)

    def _repaired(self) -> Iterator[Frames]:
        """Yield finite frames in [-1, 1], not empty, mixed to one channel if asked."""
        while len(frames := self._source.read()):
            self._frames += len(frames)
            frames = self._repairs.repair(frames, keeps_level=self._source.keeps_level)
            yield frames.mean(axis=1, keepdims=True) if self._mono else frames
        self._source_warnings = tuple(self._source.warnings(self.duration_s))

    def _empty_sentence(self) -> str:
        reasons = "; ".join(self._source_warnings)
        return "в файле нет ни одного отсчёта звука" + (f": {reasons}" if reasons else "")


def _waveform(frames: Frames) -> Waveform:
    # The filter of a resampler overshoots at full scale, lossy decoders do it too.
    return np.clip(frames.T, -1.0, 1.0)


def _rebuffer(pieces: Iterator[Waveform], block_samples: int) -> Iterator[Waveform]:
    """Cut consecutive pieces of any length into blocks of one length; the last may be shorter."""
    pending: list[Waveform] = []
    n_pending = 0
    for piece in pieces:
        pending.append(piece)
        n_pending += piece.shape[1]
        if n_pending < block_samples:
            continue
        joined = np.concatenate(pending, axis=1)
        n_ready = n_pending - n_pending % block_samples
        for start in range(0, n_ready, block_samples):
            yield np.ascontiguousarray(joined[:, start : start + block_samples])
        pending = [joined[:, n_ready:].copy()]
        n_pending -= n_ready
    if n_pending:
        yield np.ascontiguousarray(np.concatenate(pending, axis=1))
