"""A track cut into stretches a model can take while it is read, so that memory stays flat.

A segmenter is fed consecutive samples and gives back stretches in order. What it returns does not
depend on how the samples were divided among the calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from stt_ru.audio import SAMPLE_RATE
from stt_ru.defaults import (
    MAX_SPEECH_S,
    MIN_SILENCE_MS,
    MIN_SPEECH_MS,
    SPEECH_PAD_MS,
    VAD_THRESHOLD,
)
from stt_ru.errors import TranscriptionError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

Samples = NDArray[np.float32]

_FRAME = SAMPLE_RATE // 50  # 320 samples, 20 ms: loudness is judged in such steps
_QUIET_SPAN = 5  # frames, 100 ms: a cut is made in the quietest such span


@dataclass(frozen=True, slots=True, kw_only=True)
class VadOptions:
    """How Silero VAD cuts a recording into stretches of speech.

    Attributes:
        threshold: Probability of speech from which a stretch begins, in (0, 1).
        min_speech_ms: Shorter stretches are dropped.
        max_speech_s: Longer stretches are cut where they are quietest.
        min_silence_ms: Stretches with a shorter pause between are one.
        speech_pad_ms: Added on both sides of a stretch.

    Raises:
        UsageError: If a value is out of its range.
    """

    threshold: float = VAD_THRESHOLD
    min_speech_ms: float = MIN_SPEECH_MS
    max_speech_s: float = MAX_SPEECH_S
    min_silence_ms: float = MIN_SILENCE_MS
    speech_pad_ms: float = SPEECH_PAD_MS

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise UsageError(f"порог VAD {self.threshold}: нужно число больше 0 и меньше 1")
        if not 1 <= self.max_speech_s < float("inf"):
            raise UsageError(f"длина отрезка {self.max_speech_s} с: нужно не меньше 1 с")
        for name in ("min_speech_ms", "min_silence_ms", "speech_pad_ms"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise UsageError(f"{name} = {getattr(self, name)}: нужно неотрицательное число мс")


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive samples of one track, to be recognised in one piece.

    Attributes:
        start: Position of the first sample in the track.
        samples: Shape (n,).
    """

    start: int
    samples: Samples

    @property
    def start_s(self) -> float:
        """Seconds from the start of the recording."""
        return self.start / SAMPLE_RATE

    @property
    def end_s(self) -> float:
        """Seconds from the start of the recording."""
        return (self.start + len(self.samples)) / SAMPLE_RATE


class VoiceDetector(Protocol):
    """The part of onnx-asr's VAD that is used: speech as (start, end) in samples, in order."""

    def segment_batch(
        self,
        waveforms: Samples,
        waveforms_len: NDArray[np.int64],
        sample_rate: Literal[8_000, 16_000],
        **kwargs: float,
    ) -> Iterator[Iterator[tuple[int, int]]]:
        """Stretches of speech of each waveform of a batch."""
        ...


class Segmenter(Protocol):
    """Cuts one track; `copy` lets a track that turns out to be two go on as two."""

    def feed(self, samples: Samples) -> list[Stretch]:
        """Take the next samples, shape (n,); return the stretches that are complete."""
        ...

    def finish(self) -> list[Stretch]:
        """Return the stretches that remain at the end of the track."""
        ...

    def copy(self) -> Segmenter:
        """A segmenter in the same state that goes on by itself."""
        ...


class WholeSegmenter:
    """One stretch, the whole track, which may not be longer than ``longest_s``."""

    def __init__(self, longest_s: float, advice: str) -> None:
        self._longest_s = longest_s
        self._advice = advice
        self._buffer = _Buffer()

    def feed(self, samples: Samples) -> list[Stretch]:
        """Keep the samples.

        Raises:
            TranscriptionError: When the track grows longer than it may be.
        """
        self._buffer.append(samples)
        if self._buffer.length > self._longest_s * SAMPLE_RATE:
            raise TranscriptionError(
                f"запись длиннее {self._longest_s:g} с, а без VAD она распознаётся целиком; "
                f"{self._advice}"
            )
        return []

    def finish(self) -> list[Stretch]:
        """Return the whole track."""
        return [Stretch(0, self._buffer.take(self._buffer.length))] if self._buffer.length else []

    def copy(self) -> WholeSegmenter:
        """A segmenter in the same state that goes on by itself."""
        twin = WholeSegmenter(self._longest_s, self._advice)
        twin._buffer = self._buffer.copy()
        return twin


class QuietSegmenter:
    """Stretches of at most ``longest_s`` that cover the whole track, cut where it is quietest."""

    def __init__(self, longest_s: float) -> None:
        self._longest = int(longest_s * SAMPLE_RATE)
        self._buffer = _Buffer()

    def feed(self, samples: Samples) -> list[Stretch]:
        """Keep the samples and cut off what is longer than a stretch may be."""
        self._buffer.append(samples)
        stretches = []
        while self._buffer.length > self._longest:
            cut = quietest_cut(self._buffer.head(self._longest))
            stretches.append(Stretch(self._buffer.start, self._buffer.take(cut)))
        return stretches

    def finish(self) -> list[Stretch]:
        """Return the rest."""
        if not self._buffer.length:
            return []
        start = self._buffer.start
        return [Stretch(start, self._buffer.take(self._buffer.length))]

    def copy(self) -> QuietSegmenter:
        """A segmenter in the same state that goes on by itself."""
        twin = QuietSegmenter(self._longest / SAMPLE_RATE)
        twin._buffer = self._buffer.copy()
        return twin


class VadSegmenter:
    """Stretches of speech as a VAD finds them, no longer than ``options.max_speech_s``.

    The VAD sees windows of ``window_s``. Speech that may go on beyond a window is left to the next
    one, which starts in the silence before it; recordings shorter than a window are seen in one
    piece.
    """

    LEAD_IN = SAMPLE_RATE // 2  # 0.5 s of silence in front of speech, for the VAD to settle

    def __init__(
        self, detector: VoiceDetector, options: VadOptions, window_s: float = 300.0
    ) -> None:
        self._detector = detector
        self._options = options
        self._longest = int(options.max_speech_s * SAMPLE_RATE)
        # Speech that ends nearer than this to a window's end may go on beyond it, or may still grow
        # long enough to be kept; 1 s unless the options ask for more.
        undecided_ms = options.min_speech_ms + options.min_silence_ms + 2 * options.speech_pad_ms
        self._edge = max(SAMPLE_RATE, int(2 * undecided_ms * SAMPLE_RATE / 1000))
        # At most the longest stretch is carried over, so every window must be longer than that.
        self._window = max(int(window_s * SAMPLE_RATE), 2 * (self._longest + self._edge))
        self._buffer = _Buffer()
        self._starts_in_speech = False

    def feed(self, samples: Samples) -> list[Stretch]:
        """Keep the samples; cut a window whenever one is full."""
        self._buffer.append(samples)
        stretches = []
        while self._buffer.length > self._window:
            stretches += self._cut_window()
        return stretches

    def finish(self) -> list[Stretch]:
        """Cut what remains."""
        rest = self._buffer.head(self._buffer.length)
        stretches = [piece for span in self._speech(rest) for piece in self._split(rest, *span)]
        self._buffer.drop(len(rest))
        return stretches

    def copy(self) -> VadSegmenter:
        """A segmenter in the same state that goes on by itself."""
        twin = VadSegmenter(self._detector, self._options, self._window / SAMPLE_RATE)
        twin._buffer = self._buffer.copy()
        twin._starts_in_speech = self._starts_in_speech
        return twin

    def _cut_window(self) -> list[Stretch]:
        window = self._buffer.head(self._window)
        decided = len(window) - self._edge
        stretches: list[Stretch] = []
        carried_from, carried_in_speech, silence_from = decided, False, 0
        for start, end in self._speech(window):
            pieces = self._split(window, start, end)
            if end <= decided:
                stretches += pieces
                silence_from = end
                continue
            *complete, unfinished = pieces
            stretches += complete
            carried_in_speech = bool(complete)
            if complete:  # the next window begins at the cut, in the middle of speech
                carried_from = unfinished.start - self._buffer.start
            else:
                carried_from = start - self.LEAD_IN
            break
        if not carried_in_speech:
            # On its own grid the VAD says of the next window what it would have said without a cut.
            carried_from = max(carried_from // _VAD_STEP, -(-silence_from // _VAD_STEP)) * _VAD_STEP
        self._starts_in_speech = carried_in_speech
        self._buffer.drop(carried_from)
        return stretches

    def _speech(self, window: Samples) -> list[tuple[int, int]]:
        if not len(window):
            return []
        options = self._options
        padded = np.pad(window, (0, max(0, 2 * _VAD_STEP - len(window))))  # the VAD takes no less
        (found,) = self._detector.segment_batch(
            padded[None],
            np.array([len(padded)], dtype=np.int64),
            SAMPLE_RATE,
            threshold=options.threshold,
            min_speech_duration_ms=options.min_speech_ms,
            # Long speech is cut here instead, in a quiet place and not at a fixed second.
            max_speech_duration_s=len(padded) / SAMPLE_RATE + 1,
            min_silence_duration_ms=options.min_silence_ms,
            speech_pad_ms=options.speech_pad_ms,
        )
        speech = [(int(start), min(int(end), len(window))) for start, end in found]
        if self._starts_in_speech and speech and speech[0][0] < self.LEAD_IN:
            speech[0] = (0, speech[0][1])
        return speech

    def _split(self, window: Samples, start: int, end: int) -> list[Stretch]:
        pieces = []
        while end - start > self._longest:
            cut = start + quietest_cut(window[start : start + self._longest])
            pieces.append(Stretch(self._buffer.start + start, window[start:cut].copy()))
            start = cut
        pieces.append(Stretch(self._buffer.start + start, window[start:end].copy()))
        return pieces


_VAD_STEP = 512  # samples Silero takes at a time at 16 kHz


def quietest_cut(samples: Samples) -> int:
    """Position of the middle of the quietest 100 ms in the second half of the samples.

    Args:
        samples: Shape (n,), at least 200 ms.

    Returns:
        A position from ``n // 2`` to ``n``; the latest of equally quiet ones, so that digital
        silence gives the longest stretch.
    """
    half = len(samples) // 2
    n_frames = (len(samples) - half) // _FRAME
    if n_frames <= _QUIET_SPAN:
        return len(samples)
    frames = samples[half : half + n_frames * _FRAME].reshape(n_frames, _FRAME)
    energy = np.einsum("ij,ij->i", frames, frames, dtype=np.float64)
    spans = np.convolve(energy, np.ones(_QUIET_SPAN), mode="valid")
    quietest = len(spans) - 1 - int(np.argmin(spans[::-1]))
    return half + quietest * _FRAME + _QUIET_SPAN * _FRAME // 2


class _Buffer:
    """Consecutive samples, appended at one end and taken at the other."""

    def __init__(self) -> None:
        self.start = 0  # position of the first sample in the track
        self.length = 0
        self._blocks: list[Samples] = []

    def append(self, samples: Samples) -> None:
        if len(samples):
            self._blocks.append(samples)
            self.length += len(samples)

    def head(self, n: int) -> Samples:
        """The first ``n`` samples, left in place."""
        if len(self._blocks) > 1:
            self._blocks = [np.concatenate(self._blocks)]
        return self._blocks[0][:n] if self._blocks else np.zeros(0, np.float32)

    def take(self, n: int) -> Samples:
        """The first ``n`` samples, removed."""
        taken = self.head(n).copy()
        self.drop(n)
        return taken

    def drop(self, n: int) -> None:
        """Remove the first ``n`` samples."""
        rest = self.head(self.length)[n:]
        self._blocks = [rest.copy()] if len(rest) else []
        self.start += n
        self.length -= n

    def copy(self) -> _Buffer:
        twin = _Buffer()
        twin.start, twin.length, twin._blocks = self.start, self.length, list(self._blocks)
        return twin
