import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stt_ru.streaming.timing.forced_alignment import TimingError, align_words, spell
from tests.streaming.fakes import PATIENT


def slow_score(log_probs: NDArray[np.float32], tokens: list[int], blank: int) -> float:
    """The slow twin: tries every path and takes the best one that reads the tokens."""
    best = -math.inf
    for path in itertools.product(range(log_probs.shape[1]), repeat=len(log_probs)):
        read = [t for n, t in enumerate(path) if (not n or t != path[n - 1]) and t != blank]
        if read == tokens:
            best = max(best, sum(float(log_probs[n, t]) for n, t in enumerate(path)))
    return best


@PATIENT
@given(
    st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=2), min_size=1, max_size=2),
    st.integers(1, 6),
    st.integers(0, 2**31),
)
def test_the_path_found_is_the_best_of_all(words: list[list[int]], frames: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    log_probs = np.log(generator.dirichlet([1, 1, 1], frames)).astype(np.float32)
    tokens = [token for word in words for token in word]
    expected = slow_score(log_probs, tokens, 2)
    if expected == -math.inf:
        with pytest.raises(TimingError):
            align_words(log_probs, words, 2)
        return
    spans = align_words(log_probs, words, 2)
    # The best score among paths with the words at these frames is the best score of all.
    best = -math.inf
    for path in itertools.product(range(3), repeat=frames):
        groups = itertools.groupby(enumerate(path), key=lambda place: place[1])
        runs = [(token, [n for n, _ in group]) for token, group in groups]
        spoken = [(t, group) for t, group in runs if t != 2]
        if [t for t, _ in spoken] != tokens:
            continue
        found, position = [], 0
        for word in words:
            of_word = spoken[position : position + len(word)]
            found.append((of_word[0][1][0], of_word[-1][1][-1]))
            position += len(word)
        if found == spans:
            best = max(best, sum(float(log_probs[n, t]) for n, t in enumerate(path)))
    assert best == pytest.approx(expected, abs=1e-4)


def test_a_narrow_window_finds_the_same_path() -> None:
    generator = np.random.default_rng(5)
    words = [list(map(int, generator.integers(1, 20, 4))) for _ in range(80)]
    path = []
    for word in words:
        for token in word:
            path += [token, 33] + [33] * int(generator.integers(0, 3))
    log_probs = np.full((len(path), 34), math.log(0.01), np.float32)
    log_probs[np.arange(len(path)), path] = math.log(0.7)
    assert align_words(log_probs, words, 33, states=64) == align_words(log_probs, words, 33)


@pytest.mark.parametrize(
    ("word", "tokens", "is_first", "expected"),
    [
        pytest.param("да", {"д": 0, "а": 1, " ": 2}, False, [2, 0, 1], id="letters"),
        pytest.param("да", {"д": 0, "а": 1, " ": 2}, True, [0, 1], id="the first word"),
        pytest.param("да", {"д": 0, "а": 1}, False, [0, 1], id="no space"),
        pytest.param("дай", {" да": 3, "й": 4, " д": 5, "а": 6}, False, [3, 4], id="pieces"),
        pytest.param("да", {" да": 3, "д": 0, "а": 1}, True, [3], id="pieces, first"),
        pytest.param("ok", {"д": 0}, False, None, id="unknown"),
    ],
)
def test_spelling(
    word: str, tokens: dict[str, int], is_first: bool, expected: list[int] | None
) -> None:
    assert spell(word, tokens, is_first=is_first) == expected
