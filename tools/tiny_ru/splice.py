"""Splitting real recordings between words and recombining the pieces.

Words are located by forced alignment with an existing embedded model (the shipped one); a recording
is cut only where the level between two words falls well below that of the speech. Pieces of one
voice, one or several words long, then form sentences it never spoke.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import onnxruntime as ort
from features import log_mel
from features import normalize as normalize_frames
from grammar import normalize
from model import ALPHABET, BLANK, ROW_FRAMES
from numpy.typing import NDArray

from stt_ru.streaming.timing.forced_alignment import align_words, spell

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable
    from pathlib import Path

    from recordings import Recording

Waveform = NDArray[np.float32]

RATE = 16_000
ROW = ROW_FRAMES * RATE // 100  # samples per row of scores, 40 ms
LEVEL = RATE // 100  # samples per level measurement, 10 ms
DIP_DB = 14.0  # a recording may be cut where it is this far below its loud parts
FADE = RATE // 125  # 8 ms at each cut
SHORTEST_LETTER = RATE // 30  # 33 ms: a piece with less per letter must be misaligned


@dataclass(frozen=True, slots=True)
class Spoken:
    """A recording and the places where it can be cut.

    Attributes:
        audio: Samples at 16 kHz.
        words: The normalised words.
        bounds: First sample of each word, and the end of the last word: one more than words.
        clean: Whether the recording can be cut at each bound.
    """

    audio: Waveform
    words: tuple[str, ...]
    bounds: tuple[int, ...]
    clean: tuple[bool, ...]

    def piece(self, first: int, last: int) -> Waveform:
        """Words ``first`` to ``last - 1``, faded in and out."""
        audio = self.audio[self.bounds[first] : self.bounds[last]].copy()
        fade = np.linspace(0, 1, min(FADE, audio.size), dtype=np.float32)
        audio[: fade.size] *= fade
        audio[audio.size - fade.size :] *= fade[::-1]
        return audio


class Piece(NamedTuple):
    """Some words of a recording between two clean bounds."""

    spoken: Spoken
    first: int
    last: int

    @property
    def words(self) -> tuple[str, ...]:
        """What is said in it."""
        return self.spoken.words[self.first : self.last]

    @property
    def is_plausible(self) -> bool:
        """Whether there is time enough to say it."""
        length = self.spoken.bounds[self.last] - self.spoken.bounds[self.first]
        return length >= SHORTEST_LETTER * sum(map(len, self.words))

    @property
    def audio(self) -> Waveform:
        """Its sound, faded in and out."""
        return self.spoken.piece(self.first, self.last)


class Aligner:
    """Finds the bounds of words with an embedded model.

    Args:
        folder: Of the model.
    """

    def __init__(self, folder: Path) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = ort.InferenceSession(
            folder / "model.onnx", options, providers=["CPUExecutionProvider"]
        )
        self.tokens = {letter.replace("▁", " "): i for i, letter in enumerate(ALPHABET)}

    def align(self, recording: Recording) -> Spoken:
        """Cut a recording into its words."""
        audio = recording.audio()
        words = tuple(normalize(recording.text).split())
        features = normalize_frames(log_mel(audio)).T[None]
        feed = {"audio_signal": features, "length": np.array([features.shape[2]], np.int64)}
        (log_probs,) = self.session.run(None, feed)
        spelled = [spell(word, self.tokens, is_first=not i) for i, word in enumerate(words)]
        spans = align_words(log_probs[0], spelled, BLANK, space=self.tokens[" "])
        levels = _levels_db(audio)
        loud = float(np.quantile(levels, 0.8))
        bounds, clean = [0], [True]
        for word, ((_, last), (first, _)) in zip(words, itertools.pairwise(spans), strict=False):
            start = last * ROW // LEVEL
            stop = min(max((first + 1) * ROW // LEVEL, start + 4), levels.size)
            place = start + int(levels[start:stop].argmin())
            bounds.append(place * LEVEL + LEVEL // 2)
            # A one-letter word is not separated from the next word.
            clean.append(len(word) > 1 and bool(levels[place] < loud - DIP_DB))
        return Spoken(audio, words, (*bounds, audio.size), (*clean, True))


def _levels_db(audio: Waveform) -> NDArray[np.float64]:
    """Levels every 10 ms, over 20 ms windows, dB."""
    energy = np.add.reduceat(audio.astype(np.float64) ** 2, np.arange(0, audio.size, LEVEL))
    both = energy + np.append(energy[1:], energy[-1])
    return 10 * np.log10(both / (2 * LEVEL) + 1e-10)


class Pieces:
    """All pieces of up to ``longest`` words of one voice.

    Args:
        recordings: Recordings of the training part.
        aligner: Locates their words.
        rng: Source of randomness.
        longest: The most words in a piece.
    """

    def __init__(
        self,
        recordings: Iterable[Recording],
        aligner: Aligner,
        rng: random.Random,
        longest: int = 6,
    ) -> None:
        self.rng = rng
        self.longest = longest
        self.spoken = [aligner.align(recording) for recording in recordings]
        self.by_words: dict[tuple[str, ...], list[Piece]] = defaultdict(list)
        for spoken in self.spoken:
            cuts = [i for i, clean in enumerate(spoken.clean) if clean]
            for first in cuts:
                for last in cuts:
                    if first < last <= first + longest:
                        piece = Piece(spoken, first, last)
                        if piece.is_plausible:
                            self.by_words[piece.words].append(piece)
        self._all = list(self.by_words.values())

    def any_piece(self) -> Piece:
        """A random piece; every distinct wording is equally likely."""
        return self.rng.choice(self.rng.choice(self._all))

    def sentence(self, text: str) -> list[Piece] | None:
        """Pieces that make up a text, few but found greedily; None if a word is missing.

        Args:
            text: Normalised words.
        """
        words = tuple(text.split())
        pieces: list[Piece] = []
        start = 0
        while start < len(words):
            for length in range(min(self.longest, len(words) - start), 0, -1):
                known = self.by_words.get(words[start : start + length])
                # Not always the longest, or whole recordings would be reproduced.
                if known and (length == 1 or self.rng.random() < 0.7):
                    pieces.append(self.rng.choice(known))
                    start += length
                    break
            else:
                return None
        return pieces

    def stretch(self, longest_s: float) -> Piece:
        """A random run of words of one recording between clean bounds, ``longest_s`` at most."""
        while True:
            spoken = self.rng.choice(self.spoken)
            cuts = [i for i, clean in enumerate(spoken.clean) if clean]
            first = self.rng.choice(cuts[:-1])
            pieces = [Piece(spoken, first, last) for last in cuts if last > first]
            limit = spoken.bounds[first] + longest_s * RATE
            fits = [p for p in pieces if p.is_plausible and spoken.bounds[p.last] <= limit]
            if fits:
                return self.rng.choice(fits)
