"""Forced alignment: the most probable CTC path through a recording that reads a given text.

The Viterbi algorithm (1967) over CTC states (Graves et al. 2006), in numpy. Pure: log-probabilities
and tokens in, frames of words out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stt_ru.errors import SttRuError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

STATES: Final = 1536
"""Width of the window of text states: about 40 s of speech on either side of the best state."""

_CHECKPOINT: Final = 256  # frames; the moves between two checkpoints are recomputed
_NEVER: Final = np.float32(-1e30)
_WILDCARD: Final = -1.0
"""Natural log: the penalty per frame of an unspellable word, relative to the best letter."""


class TimingError(SttRuError):
    """The words cannot be timed: the text does not fit the audio."""


def spell(word: str, tokens: Mapping[str, int], *, is_first: bool = False) -> list[int] | None:
    """The shortest token sequence for a word and the space before it; None if there is none.

    Args:
        word: A normalised word.
        tokens: The model's tokens and their indices.
        is_first: Whether it is the first word of the text: the space is then optional.

    Example:
        >>> spell("да", {"д": 0, "а": 1, " ": 2})
        [2, 0, 1]
        >>> spell("да", {" да": 7, "д": 0, "а": 1, " ": 2})
        [7]
        >>> spell("да5", {"д": 0, "а": 1}) is None
        True
    """
    text = " " + word
    # A model whose tokens have no space does not mark word boundaries.
    start = 0 if any(token.startswith(" ") for token in tokens) else 1
    longest = max(map(len, tokens), default=0)
    best: dict[int, list[int]] = {start: []}
    if is_first:
        best[1] = []
    for end in range(start + 1, len(text) + 1):
        for length in range(1, min(longest, end - start) + 1):
            number = tokens.get(text[end - length : end])
            before = best.get(end - length)
            if number is None or before is None:
                continue
            if end not in best or len(before) + 1 < len(best[end]):
                best[end] = [*before, number]
    return best.get(len(text))


def align_words(
    log_probs: NDArray[np.float32],
    words: Sequence[Sequence[int] | None],
    blank: int,
    *,
    space: int | None = None,
    states: int = STATES,
) -> list[tuple[int, int]]:
    """First and last frame of each word on the most probable path that reads all of them.

    Exact as long as the 2·L + 1 states of a text of L tokens do not exceed ``states``; for longer
    texts the search is limited to a window of that many states around the best one.

    Args:
        log_probs: Shape (frames, tokens), natural logarithms.
        words: Tokens of each word, including the space before it; None for a word that cannot be
            spelled, which may sound like anything.
        blank: Index of the blank.
        space: Index of the token that is only a space, if there is one.
        states: Width of the window.

    Raises:
        TimingError: If there are fewer frames than the text needs.
    """
    text = _States(log_probs, words, blank, space)
    n_frames = len(log_probs)
    if n_frames < text.shortest:
        raise TimingError(
            f"текст не помещается в запись: ему нужно не меньше {text.shortest} кадров модели, "
            f"а в записи их {n_frames}; похоже, это текст другой записи"
        )
    path = _best_path(text, n_frames, min(states, len(text.labels)))
    spans: list[tuple[int, int]] = []
    visited = text.word_of[path]
    frames_of = np.flatnonzero(visited >= 0)
    numbers = visited[frames_of]
    firsts = np.searchsorted(numbers, np.arange(len(words)), side="left")
    lasts = np.searchsorted(numbers, np.arange(len(words)), side="right") - 1
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        if last < first:
            raise TimingError("текст не помещается в запись: для слова не нашлось места")
        spans.append((int(frames_of[first]), int(frames_of[last])))
    return spans


class _States:
    """The CTC states of a text: its tokens in order, with blanks between and around them."""

    def __init__(
        self,
        log_probs: NDArray[np.float32],
        words: Sequence[Sequence[int] | None],
        blank: int,
        space: int | None,
    ) -> None:
        wildcard = log_probs.shape[1]  # an extra column: anything but a blank, with a penalty
        speech = np.delete(log_probs, blank, axis=1)
        anything = speech.max(axis=1, keepdims=True) + np.float32(_WILDCARD)
        self.emissions = np.concatenate([log_probs, anything], axis=1)
        sequence: list[int] = []
        word_of: list[int] = []
        for number, tokens in enumerate(words):
            letters = [wildcard] if tokens is None else list(tokens)
            for token in letters:
                sequence.append(token)
                word_of.append(-1 if token == space else number)  # a space is not part of a word
        labels = np.full(2 * len(sequence) + 1, blank, np.int64)
        labels[1::2] = sequence
        self.labels = labels
        self.word_of = np.full(len(labels), -1, np.int64)
        self.word_of[1::2] = word_of
        # The blank between two different tokens is optional.
        self.may_skip = np.zeros(len(labels), bool)
        self.may_skip[3::2] = labels[3::2] != labels[1:-2:2]
        repeats = int(np.count_nonzero(labels[3::2] == labels[1:-2:2]))
        self.shortest = len(sequence) + repeats


def _best_path(text: _States, n_frames: int, width: int) -> NDArray[np.int64]:
    """The state of each frame on the best path; block by block, to bound memory."""
    starts = list(range(0, n_frames, _CHECKPOINT))
    saved: list[tuple[int, NDArray[np.float32]]] = []
    scores = np.full(width, _NEVER)
    first = 0
    for start in starts:
        saved.append((first, scores))
        first, scores, _ = _follow(text, first, scores, start, min(start + _CHECKPOINT, n_frames))
    n_states = len(text.labels)
    ends = [state for state in (n_states - 1, n_states - 2) if state >= first]
    reached = [state for state in ends if scores[state - first] > _NEVER / 2]
    if not reached:
        raise TimingError("текст не помещается в запись: до его конца путь не доходит")
    state = max(reached, key=lambda state: float(scores[state - first]))
    path = np.empty(n_frames, np.int64)
    for start, (first, scores) in zip(reversed(starts), reversed(saved), strict=True):
        end = min(start + _CHECKPOINT, n_frames)
        _, _, moves = _follow(text, first, scores, start, end)
        for frame in range(end - 1, start - 1, -1):
            path[frame] = state
            frame_first, row = moves[frame - start]
            state -= int(row[state - frame_first])
    return path


def _follow(
    text: _States, first: int, scores: NDArray[np.float32], start: int, end: int
) -> tuple[int, NDArray[np.float32], list[tuple[int, NDArray[np.uint8]]]]:
    """Scores of a window of states after frames ``start`` to ``end``, and the moves taken.

    Returns:
        The first state of the window, its scores, and for each frame the first state of its window
        and how many states back each state was entered from.
    """
    n_states, width = len(text.labels), len(scores)
    n_frames = len(text.emissions)
    moves: list[tuple[int, NDArray[np.uint8]]] = []
    for frame in range(start, end):
        if frame == 0:
            scores = np.full(width, _NEVER)
            scores[:2] = text.emissions[0, text.labels[:2]]
            moves.append((0, np.zeros(width, np.uint8)))
            continue
        if frame % 8 == 0 and width < n_states:
            # Centred on the best state, never moving back, and able to reach the end in time.
            best = first + int(scores.argmax())
            needed = n_states - 2 - 2 * (n_frames - frame)
            moved = min(max(first, best - width // 2, needed), n_states - width)
            shift = moved - first
            if shift:
                beyond = np.full(min(shift, width), _NEVER)
                scores = np.concatenate([scores[shift:], beyond])
                first = moved
        window = slice(first, first + width)
        one = np.concatenate([[_NEVER], scores[:-1]])
        two = np.where(
            text.may_skip[window], np.concatenate([[_NEVER, _NEVER], scores[:-2]])[:width], _NEVER
        )
        entered = np.maximum(scores, one)
        move = (one > scores).astype(np.uint8)
        skips = two > entered
        move[skips] = 2
        scores = np.where(skips, two, entered) + text.emissions[frame, text.labels[window]]
        scores = np.maximum(scores, _NEVER).astype(np.float32)
        moves.append((first, move))
    return first, scores, moves
