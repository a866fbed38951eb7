"""When each reference word was spoken, found by forced alignment.

Word boundaries fall on the model's frames: for most models within 0.1 s of what a person hears.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

import numpy as np

from stt_ru.audio import SAMPLE_RATE
from stt_ru.streaming.timing.ctc import CtcModel, ctc_model
from stt_ru.streaming.timing.forced_alignment import align_words, spell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stt_ru.streaming.timing.transcription import Token, Transcription

WINDOW_S: Final = 20.0  # audio given to the model at a time, however long the recording is
CONTEXT_S: Final = 2.0  # extra audio on both sides of a window, whose output is discarded

_SHORTEST_S: Final = 0.1  # the models' preprocessors fail on shorter audio


def fill_word_timings_inplace(
    model: object, waveform: NDArray[np.floating], transcription: Transcription
) -> None:
    """Find by forced alignment when each word was spoken, and write the times into the tokens.

    Words with a character unknown to the model (digits, Latin letters) are placed between their
    neighbours and marked ``is_interpolated``.

    Args:
        model: A CTC model: a `stt_ru.Transcriber`, an onnx-asr adapter, or a `CtcModel`.
        waveform: Single-channel samples in [-1, 1], 16 kHz, of any length.
        transcription: The normalised words of the recording.

    Raises:
        ModelLoadError: If the model is not a CTC model.
        TimingError: If the text does not fit the audio.
    """
    aligner = ctc_model(model)
    tokens = transcription.tokens
    if not tokens:
        return
    audio = np.asarray(waveform, np.float32)
    log_probs = log_probs_of(aligner, audio)
    spelled = [spell(token.value, aligner.tokens, is_first=not n) for n, token in enumerate(tokens)]
    spans = align_words(log_probs, spelled, aligner.blank, space=aligner.tokens.get(" "))
    duration_s = len(audio) / SAMPLE_RATE
    for token, (first, last), letters in zip(tokens, spans, spelled, strict=True):
        token.start_time = min(first * aligner.frame_s, duration_s)
        token.end_time = min((last + 1) * aligner.frame_s, duration_s)
        token.is_interpolated = letters is None
    _interpolate(tokens)


def _interpolate(tokens: Sequence[Token]) -> None:
    """Spread each run of unspellable words between its neighbours, in proportion to letters."""
    runs = itertools.groupby(range(len(tokens)), key=lambda n: tokens[n].is_interpolated)
    for is_unknown, numbers in runs:
        if not is_unknown:
            continue
        run = list(numbers)
        # At an edge of the recording there is no neighbour: the wildcard's own frames are kept.
        start_s = tokens[run[0] - 1].end_time if run[0] else tokens[run[0]].start_time
        after = run[-1] + 1
        end_s = tokens[after].start_time if after < len(tokens) else tokens[run[-1]].end_time
        letters = sum(len(tokens[n].value) for n in run)
        position = 0
        for n in run:
            tokens[n].start_time = start_s + (end_s - start_s) * position / letters
            position += len(tokens[n].value)
            tokens[n].end_time = start_s + (end_s - start_s) * position / letters


def log_probs_of(model: CtcModel, waveform: NDArray[np.float32]) -> NDArray[np.float32]:
    """Log-probabilities of a recording of any length, window by window; shape (frames, tokens)."""
    hop = round(model.frame_s * SAMPLE_RATE)
    window, context = round(WINDOW_S / model.frame_s), round(CONTEXT_S / model.frame_s)
    n_frames = -(-len(waveform) // hop)
    pieces = []
    for first in range(0, max(1, n_frames), window):
        before = min(first, context)
        start, end = (first - before) * hop, (first + window + context) * hop
        piece = waveform[start:end]
        piece = np.pad(piece, (0, max(0, round(_SHORTEST_S * SAMPLE_RATE) - len(piece))))
        found = model.log_probs(piece)[before : before + window]
        pieces.append(found[: max(1, n_frames - first)])
    return np.concatenate(pieces)
