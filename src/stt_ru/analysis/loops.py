"""Hypotheses in which a model repeats itself or writes far more than was said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stt_ru.analysis.aligned_rows import AlignedRow

LOOP_TIMES: Final = 10  # a phrase repeated this often in a row is a looping model, not speech
LOOP_WORDS: Final = 10  # the longest phrase searched for
LOOP_LETTERS: Final = 5  # the longest part of a word searched for
RUNAWAY_TIMES: Final = 5  # a hypothesis this many times as long as its reference is a runaway
RUNAWAY_WORDS: Final = 20  # shorter hypotheses do little harm

_LETTER_LOOP: Final = re.compile(rf"([^\W\d_]{{1,{LOOP_LETTERS}}}?)\1{{{LOOP_TIMES - 1},}}")


def has_run_away(row: AlignedRow) -> bool:
    """Whether the model looped on a row or wrote far more words than its reference has."""
    score = row.result.score
    if score is None:
        return False
    counts = score.words
    length = counts.length - counts.deletions + counts.insertions
    if length >= RUNAWAY_WORDS and length >= RUNAWAY_TIMES * max(counts.length, 1):
        return True
    if (
        score.chars.errors >= LOOP_TIMES - 1
        and has_letter_loop(row.hypothesis)
        and not has_letter_loop(row.reference)
    ):
        return True
    if counts.insertions < LOOP_TIMES - 1:  # a loop in the reference too is speech
        return False
    return has_loop(row.hypothesis.split())


def has_letter_loop(text: str) -> bool:
    """Whether a word of the text repeats up to `LOOP_LETTERS` letters `LOOP_TIMES` times in a row.

    Example:
        >>> has_letter_loop("м" * 444), has_letter_loop("ха" * 10), has_letter_loop("ммм да")
        (True, True, False)
    """
    return any(
        _LETTER_LOOP.search(word) is not None for word in text.split() if len(word) >= LOOP_TIMES
    )


def has_loop(words: Sequence[str]) -> bool:
    """Whether a phrase of up to `LOOP_WORDS` words is repeated `LOOP_TIMES` times in a row.

    Example:
        >>> has_loop(("да да " * 5).split()), has_loop("ну да ну да".split())
        (True, False)
    """
    # A phrase that occurs ten times adds at least nine words that have occurred before.
    if len(words) - len(set(words)) < LOOP_TIMES - 1:
        return False
    for period in range(1, LOOP_WORDS + 1):
        run = 0  # consecutive words equal to the word one period earlier
        for position in range(period, len(words)):
            run = run + 1 if words[position] == words[position - period] else 0
            if run == period * (LOOP_TIMES - 1):
                return True
    return False
