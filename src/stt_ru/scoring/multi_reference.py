"""Which branch of a marked reference was said, and what the errors against it are.

The alignment of a text with all branches at once: a table of Wagner and Fischer (1974) whose rows
part at the alternatives of a place and meet after it. Its cost is word errors first, characters of
the differing words second. Texts without marks never come here.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from stt_ru.scoring.alignment import align
from stt_ru.scoring.counts import Score, score_texts, total_score
from stt_ru.text.marked_references import ANYTHING, Alternative, Marked, branch_text
from stt_ru.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from stt_ru.scoring.alignment import Pair

_UNREACHED: Final = 1 << 60
_MOST_KEPT = 10_000_000  # distances between words that are kept at a time


def score_reference(reference: str | Marked, hypothesis: str) -> tuple[Score, str | None]:
    """The errors against the branch that was said, and that branch as written.

    Args:
        reference: What `stt_ru.text.marked_references.read_reference` made of the text.
        hypothesis: The recognised text, normalised.

    Returns:
        The score, and the branch: None for a reference without marks.
    """
    if isinstance(reference, str):
        return score_texts(reference, hypothesis), None
    chosen = choose_branch(reference, hypothesis)
    return score_branch(chosen, hypothesis), chosen


def choose_branch(reference: Marked, hypothesis: str) -> str:
    """The branch with the fewest errors, as written.

    The fewest word errors; of such branches the one with the fewest characters of error in its
    alignment, where a word for another costs the Levenshtein distance of the two, and a word left
    out or added its length and a space; of such the one that is written first. Words that «<*>»
    stands for cost nothing.

    Args:
        reference: With marks.
        hypothesis: The recognised text, normalised.

    Example:
        >>> from stt_ru.text.marked_references import read_reference
        >>> choose_branch(read_reference("{тысяча|1000} рублей {ну}"), "1000 рублей")
        '1000 рублей'
    """
    places = reference.places
    if reference.branches == 1:
        return branch_text(place[0] for place in places)
    costs = _Costs(hypothesis.split(), places)
    rest = _costs_to_the_end(places, costs)
    best = rest[0][0]
    steps = _Steps(costs, limit=int(best))
    row = steps.inserted
    branch = []
    for place, after in zip(places, rest[1:], strict=True):
        for one in place:
            reached = steps.through(row, one.words)
            is_best = reached + after == best
            if is_best.any():
                branch.append(one)
                row = np.where(is_best, reached, _UNREACHED)
                break
    assert len(branch) == len(places), "a cheapest way goes through every place"
    return branch_text(branch)


def score_branch(branch: str, hypothesis: str) -> Score:
    """Errors against one branch: of the stretches between «<*>», each against its words.

    Args:
        branch: As `choose_branch` gives it.
        hypothesis: The recognised text, normalised.

    Example:
        >>> score_branch("да <*>", "да ну и так далее").words
        EditCounts(substitutions=0, deletions=0, insertions=0, length=1)
    """
    return total_score(
        score_texts(" ".join(reference), " ".join(hypothesis_words))
        for reference, hypothesis_words in _stretches(branch, hypothesis)
        if reference is not None
    )


def align_branch(branch: str, hypothesis: str) -> list[Pair]:
    """Pairs of words in their order, by the script that `score_branch` counts.

    Words that «<*>» stands for are paired with it.

    Args:
        branch: As `choose_branch` gives it.
        hypothesis: The recognised text, normalised.

    Example:
        >>> align_branch("да <*>", "да ну")
        [('да', 'да'), ('<*>', 'ну')]
    """
    pairs: list[Pair] = []
    for reference, hypothesis_words in _stretches(branch, hypothesis):
        if reference is None:
            pairs += [(ANYTHING, word) for word in hypothesis_words]
        else:
            pairs += align(reference, hypothesis_words)
    return pairs


def align_texts(reference: str, chosen: str | None, hypothesis: str) -> list[Pair]:
    """Pairs of words of a row as they were compared.

    Args:
        reference: As written.
        chosen: The branch of it; None when it has no marks.
        hypothesis: The recognised text as written.
    """
    hypothesis_words = normalize(hypothesis)
    if chosen is not None:
        return align_branch(chosen, hypothesis_words)
    return align(normalize(reference).split(), hypothesis_words.split())


def _stretches(branch: str, hypothesis: str) -> Iterator[tuple[list[str] | None, list[str]]]:
    """Stretches of the branch with the words that stand for them; None is «<*>».

    The cheapest division, as in `choose_branch`; of equal ones that in which «<*>» comes first.
    """
    words = Alternative.of(branch).words
    hypothesis_words = hypothesis.split()
    if ANYTHING not in words:
        yield normalize(branch).split(), hypothesis_words
        return
    stretches: list[list[str] | None] = [[]]
    for word in words:
        if word == ANYTHING:
            stretches += [None, []]
        else:
            last = stretches[-1]
            assert last is not None
            last.append(word)
    places = [
        (Alternative("", (ANYTHING,) if stretch is None else tuple(stretch)),)
        for stretch in stretches
    ]
    costs = _Costs(hypothesis_words, places)
    rest = _costs_to_the_end(places, costs)
    steps = _Steps(costs, limit=int(rest[0][0]))
    start = 0
    bounds = pairwise(rest)
    for stretch, (place,), (before, after) in zip(stretches, places, bounds, strict=True):
        reached = steps.through(steps.start(start), place.words)
        end = int(np.argmax(reached + after == before[start]))
        if after is rest[-1]:  # words added after the last place are the last stretch's
            end = len(hypothesis_words)
        yield stretch, hypothesis_words[start:end]
        start = end


class _Costs:
    """What a way through the table costs: word errors times ``unit``, and characters of error."""

    def __init__(self, hypothesis: Sequence[str], places: Sequence[Sequence[Alternative]]) -> None:
        self.hypothesis = hypothesis
        words = [word for place in places for one in place for word in one.words]
        self.unit = 1 + sum(len(word) + 1 for word in (*hypothesis, *words))  # above all characters
        # No best way has more word errors than one branch, whatever «<*>» may save.
        first = [word for place in places for word in place[0].words if word != ANYTHING]
        self.limit = (Levenshtein.distance(first, hypothesis) + 1) * self.unit
        self.numbers = np.array(_numbers(hypothesis), dtype=np.intp)
        """Which of the distinct words each is."""
        self._distinct = list(dict.fromkeys(hypothesis))
        self._kept: dict[str, NDArray[np.int64]] = {}

    def substituted(self, word: str) -> NDArray[np.int64]:
        """Cost of the word for each of the distinct words."""
        costs = self._kept.get(word)
        if costs is None:
            if (len(self._kept) + 1) * len(self._distinct) > _MOST_KEPT:
                self._kept.clear()
            costs = self._kept[word] = self._distances(word)
        return costs

    def _distances(self, word: str) -> NDArray[np.int64]:
        if not self._distinct:
            return np.zeros(0, dtype=np.int64)
        found: NDArray[np.int64] = process.cdist(
            [word], self._distinct, scorer=Levenshtein.distance, dtype=np.int64
        )[0]
        found[found > 0] += self.unit
        return found


def _numbers(words: Iterable[str]) -> list[int]:
    numbers: dict[str, int] = {}
    return [numbers.setdefault(word, len(numbers)) for word in words]


def _costs_to_the_end(
    places: Sequence[Sequence[Alternative]], costs: _Costs
) -> list[NDArray[np.int64]]:
    """For each boundary of the places, and the end: the least cost from each position in the text.

    The table from the end to the beginning: that of both texts reversed.
    """
    steps = _Steps(costs, limit=costs.limit, is_reversed=True)
    rows = [steps.inserted]
    for place in reversed(places):
        ways = [steps.through(rows[-1], one.words[::-1]) for one in place]
        rows.append(ways[0] if len(ways) == 1 else np.minimum.reduce(ways))
    return [row[::-1] for row in reversed(rows)]


class _Steps:
    """Rows of the table of one hypothesis: element j is the least cost of reaching its word j.

    Cells that cost more than ``limit`` are on no best way: `_UNREACHED` may stand there.
    """

    def __init__(self, costs: _Costs, *, limit: int, is_reversed: bool = False) -> None:
        self._costs = costs
        self._limit = limit
        step = -1 if is_reversed else 1
        words = costs.hypothesis[::step]
        self._numbers = np.ascontiguousarray(costs.numbers[::step])
        each = [0, *(costs.unit + len(word) + 1 for word in words)]
        self.inserted: NDArray[np.int64] = np.cumsum(np.array(each, dtype=np.int64))
        """Cost of the first j words when all of them are added: the row before any place."""

    def start(self, position: int) -> NDArray[np.int64]:
        """The row of a table that begins at a position."""
        row: NDArray[np.int64] = self.inserted - self.inserted[position]
        row[:position] = _UNREACHED
        return row

    def through(self, row: NDArray[np.int64], words: Sequence[str]) -> NDArray[np.int64]:
        """The row after these reference words."""
        if not words:
            return row
        inserted, limit = self.inserted, self._limit
        whole = np.full_like(row, _UNREACHED)
        live = np.flatnonzero(row <= limit)
        if not len(live):
            return whole
        first, end = int(live[0]), int(live[-1]) + 1  # the cells that are kept of each row
        cells = row[first:end]
        for word in words:
            if word == ANYTHING:
                least = np.minimum.accumulate(cells)
                end = len(row)
                cells = np.full(end - first, least[-1])
                cells[: len(least)] = least
                continue
            below = np.empty(min(end + 1, len(row)) - first, dtype=np.int64)
            below[: len(cells)] = cells + (self._costs.unit + len(word) + 1)
            below[len(cells) :] = _UNREACHED
            width = len(below) - 1
            replaced = self._costs.substituted(word)[self._numbers[first : first + width]]
            np.minimum(below[1:], cells[:width] + replaced, out=below[1:])
            # Any number of added words: the least of all to the left, each plus what lies between.
            least = np.minimum.accumulate(below - inserted[first : first + width + 1])
            end = int(np.searchsorted(inserted, limit - least[-1], side="right"))
            if end <= first:
                return whole
            cells = np.full(end - first, least[-1])
            cells[: len(least)] = least[: len(cells)]
            cells += inserted[first:end]
            skipped = int(np.argmax(cells <= limit))
            first, cells = first + skipped, cells[skipped:]
        whole[first:end] = cells
        return whole
