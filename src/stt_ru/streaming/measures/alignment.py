"""Alignment of every partial transcription with the reference, by one incremental table.

The rows of the table are hypothesis words and the columns reference words; a cell is the minimum
cost of turning the first n reference words into the first m hypothesis words. A cell does not
depend on what comes later: a partial that grows adds rows, a revised one drops some rows and adds
others, and a growing reference costs nothing. The alignment of a partial is the path that ends at
(number of reference words spoken by then, number of words in the partial).

Costs are lexicographic: fewest word errors, then fewest character errors, so that similar words are
paired. Character errors are the edit distances of replaced pairs and the lengths of inserted and
deleted words. Among equal paths, the one matching the earliest reference word is preferred, so that
missing words are missing at the end. The counts in reports come from
`stt_ru.scoring.counts.count_edits`, which finds the same number of word errors.

Paths are linked backwards and share their beginnings, so all of them together take memory linear in
the number of words that ever changed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from stt_ru.scoring.alignment import common_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stt_ru.streaming.timing.transcription import Token

Costs = NDArray[np.int64]
T = TypeVar("T")

WORD_ERROR: Final = 1 << 32
"""Cost of a word error; exceeds the character errors of any recording."""

BEHIND_WORDS: Final = 256
"""Columns kept behind the best one. A hypothesis further out of step than that, about two minutes
of speech, may be aligned suboptimally."""

AHEAD_WORDS: Final = 256
"""Columns computed beyond the last word spoken, so that rows need not grow with every new word."""

_NOWHERE: Final = np.int64(1 << 61)

_REVISABLE: Final = 512  # latest rows that keep their costs; older ones are rarely revised
_KEPT_EVERY: Final = 64  # one older row in this many keeps its costs, to recompute the others from
_BLOCK: Final = 256  # reference words compared with a hypothesis word at once
_MOST_BLOCKS: Final = 4096  # blocks cached: 8 MB

_MATCH: Final = 0  # or a replacement
_INSERTION: Final = 1
_DELETION: Final = 2


class AlignedPair(NamedTuple):
    """A step of an alignment.

    Attributes:
        reference: Position of the reference word; None for an insertion.
        hypothesis: Position of the hypothesis word; None for a deletion.
        word: The hypothesis word; None for a deletion.
        is_correct: Whether the two words are equal.
    """

    reference: int | None
    hypothesis: int | None
    word: str | None
    is_correct: bool


class Step:
    """A step of a path, linked to all the steps before it.

    Attributes:
        before: The previous step; None at the beginning of the path.
        pair: The pair of words aligned.
        depth: Number of steps up to and including this one.
    """

    __slots__ = ("before", "depth", "pair")

    def __init__(self, before: Step | None, pair: AlignedPair) -> None:
        self.before = before
        self.pair = pair
        self.depth: int = 1 if before is None else before.depth + 1


class LateList(Sequence[T]):
    """A list that is built each time it is accessed."""

    __slots__ = ()

    @abstractmethod
    def _list(self) -> list[T]: ...

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        return self._list()[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self._list())


class Alignment(LateList[AlignedPair]):
    """The pairs of a path in order.

    Args:
        last: The last step of the path; None for an empty path.
        reference: The timed reference words, indexed by the positions in the pairs.
    """

    __slots__ = ("_last", "reference")

    def __init__(self, last: Step | None, reference: Sequence[Token] = ()) -> None:
        self._last = last
        self.reference = reference

    @property
    def last(self) -> Step | None:
        """The last step of the path; None for an empty path."""
        return self._last

    def __len__(self) -> int:
        return 0 if self._last is None else self._last.depth

    def __reversed__(self) -> Iterator[AlignedPair]:
        step = self._last
        while step is not None:
            yield step.pair
            step = step.before

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return self._list() == list(other)

    __hash__ = None  # type: ignore[assignment]  # a sequence that compares by its elements

    def __repr__(self) -> str:
        return f"Alignment({self._list()!r})"

    def __reduce__(self) -> tuple[object, tuple[list[AlignedPair], Sequence[Token]]]:
        # Links nested as deep as the text is long cannot be pickled.
        return alignment_of, (self._list(), self.reference)

    def _list(self) -> list[AlignedPair]:
        # Not cached: one list for each of thousands of partials would take quadratic memory.
        return list(reversed(list(reversed(self))))


def alignment_of(pairs: Sequence[AlignedPair], reference: Sequence[Token] = ()) -> Alignment:
    """An alignment of the given pairs."""
    last: Step | None = None
    for pair in pairs:
        last = Step(last, pair)
    return Alignment(last, reference)


def changed_steps(
    old: Step | None, new: Step | None
) -> tuple[list[AlignedPair], list[AlignedPair]]:
    """What two paths of the same table do not share: the old path's pairs, the new path's pairs.

    Both are in reverse order. The cost is proportional to the difference.
    """
    left: list[AlignedPair] = []
    entered: list[AlignedPair] = []
    while old is not new:
        old_depth = 0 if old is None else old.depth
        new_depth = 0 if new is None else new.depth
        if old is not None and old_depth >= new_depth:
            left.append(old.pair)
            old = old.before
        if new is not None and new_depth >= old_depth:
            entered.append(new.pair)
            new = new.before
    return left, entered


class _Row:
    """The cells of one hypothesis word, for reference positions from ``first`` on."""

    __slots__ = ("costs", "end", "first", "moves", "steps", "word")

    def __init__(self, word: str, first: int, costs: Costs, moves: bytes) -> None:
        self.word = word
        self.first = first
        self.end = first + len(costs)  # one past the last reference position
        self.costs: Costs | None = costs  # None once dropped
        self.moves = moves
        self.steps: dict[int, Step] = {}  # cells through which a path has passed


class AlignmentTable:
    """The table of one recording: call `set_hypothesis`, then `align` with the reference so far.

    A row costs O(BEHIND_WORDS + AHEAD_WORDS + the model's lag in words), in numpy. Changing the
    last k words of a hypothesis costs k rows.

    Args:
        reference: The reference words.
        behind: See ``BEHIND_WORDS``.
        ahead: See ``AHEAD_WORDS``.
    """

    def __init__(
        self, reference: Sequence[str], *, behind: int = BEHIND_WORDS, ahead: int = AHEAD_WORDS
    ) -> None:
        self._reference = list(reference)
        self._behind = max(1, behind)
        self._ahead = max(1, ahead)
        self._deletions = np.array([WORD_ERROR + len(word) for word in reference], np.int64)
        self._all_deleted = np.concatenate([[0], np.cumsum(self._deletions)]).astype(np.int64)
        self._replacements: dict[tuple[str, int], Costs] = {}  # by word and block of the reference
        self._words: list[str] = []
        self._rows: list[_Row] = []
        self._top = _Row("", 0, self._all_deleted, bytes([_DELETION]) * (len(reference) + 1))

    @property
    def hypothesis(self) -> Sequence[str]:
        """The words of the hypothesis."""
        return self._words

    def set_hypothesis(self, words: Sequence[str], *, same: int | None = None) -> None:
        """Replace the hypothesis; the rows of its unchanged beginning are kept.

        Args:
            words: The new words.
            same: Number of leading words known to be unchanged; None to find it.
        """
        keep = common_prefix(self._words, words) if same is None else same
        self._words = list(words)
        self._cut(keep)

    def replace_tail(self, same: int, tail: Sequence[str]) -> None:
        """Replace all hypothesis words after the first ``same`` ones with ``tail``.

        The cost is proportional to the change.
        """
        del self._words[same:]
        self._words += tail
        self._cut(same)

    def align(self, said: int, *, half_said: bool = False) -> Alignment:
        """The cheapest alignment of the hypothesis with the reference words spoken so far.

        Args:
            said: How many reference words have been spoken.
            half_said: Whether the next word is being spoken; it is included if that is cheaper.
        """
        last = self._row_to(said + half_said)
        n = said
        if half_said and self._cost(last, said + 1) < self._cost(last, said):
            n += 1
        return Alignment(self._path(n))

    def cost(self, said: int) -> tuple[int, int]:
        """Word and character errors of the cheapest alignment with ``said`` reference words."""
        cost = self._cost(self._row_to(said), said)
        return cost // WORD_ERROR, cost % WORD_ERROR

    def _cut(self, keep: int) -> None:
        del self._rows[keep:]
        while self._rows and self._rows[-1].costs is None:  # recomputed when needed
            self._rows.pop()

    def _cost(self, row: _Row, position: int) -> int:
        assert row.costs is not None, "the last row keeps its costs"
        return int(row.costs[position - row.first])

    def _row_to(self, needed: int) -> _Row:
        """The last row, with cells up to the reference position ``needed``."""
        if self._rows and self._rows[-1].end <= needed:
            # The model has been silent for a long time: recompute its last rows, longer.
            self._cut(max(0, len(self._rows) - self._behind))
        while len(self._rows) < len(self._words):
            self._append_row(needed)
        return self._rows[-1] if self._rows else self._top

    def _append_row(self, needed: int) -> None:
        above = self._rows[-1] if self._rows else self._top
        word = self._words[len(self._rows)]
        n = len(self._reference)
        assert above.costs is not None, "the last row keeps its costs"
        best = above.first + int(np.argmin(above.costs)) if self._rows else 0
        first = max(above.first, best - self._behind)
        end = min(n, max(best + 1, needed) + self._ahead) + 1
        if self._rows and above.end > end:
            end = above.end
        width = end - first
        insertion = WORD_ERROR + len(word)
        # From above and from the upper left; cells that were not computed lead nowhere.
        up = np.full(width, _NOWHERE)
        taken = above.costs[first - above.first : end - above.first]
        up[: len(taken)] = taken
        diagonal = np.empty(width, np.int64)
        diagonal[1:] = up[:-1]
        diagonal[0] = above.costs[first - 1 - above.first] if first > above.first else _NOWHERE
        up += insertion
        if first:
            diagonal += self._replacement(word, first - 1, end - 1)
        else:
            diagonal[1:] += self._replacement(word, 0, end - 1)
        # A cell may be reached by deletions from any cell to its left: after subtracting the cost
        # of deleting everything up to each cell, that is a running minimum.
        deleted = self._all_deleted[first:end]
        entered = np.minimum(up, diagonal)
        costs = np.minimum.accumulate(entered - deleted) + deleted
        # Paths are traced from the end and prefer deletions, then insertions: errors go last.
        moves = np.where(costs == up, _INSERTION, _MATCH).astype(np.uint8)
        moves[1:][costs[1:] == costs[:-1] + self._deletions[first : end - 1]] = _DELETION
        self._rows.append(_Row(word, first, costs, moves.tobytes()))
        old = len(self._rows) - _REVISABLE
        if old >= 0 and old % _KEPT_EVERY:
            self._rows[old].costs = None

    def _replacement(self, word: str, first: int, end: int) -> Costs:
        """Costs of replacing each reference word from ``first`` to ``end`` by the word."""
        blocks = range(first // _BLOCK, max(first, end - 1) // _BLOCK + 1)
        costs = [self._block(word, block) for block in blocks]
        joined = costs[0] if len(costs) == 1 else np.concatenate(costs)
        return joined[first - blocks[0] * _BLOCK : end - blocks[0] * _BLOCK]

    def _block(self, word: str, block: int) -> Costs:
        costs = self._replacements.get((word, block))
        if costs is None:
            if len(self._replacements) >= _MOST_BLOCKS:
                self._replacements.clear()
            words = self._reference[block * _BLOCK : (block + 1) * _BLOCK]
            if not words:
                return np.zeros(0, np.int64)
            costs = cdist([word], words, scorer=Levenshtein.distance, dtype=np.int64)[0]
            costs[costs > 0] += WORD_ERROR
            self._replacements[word, block] = costs
        return costs

    def _path(self, position: int) -> Step | None:
        """The path to the cell of the last row at a reference position."""
        new: list[tuple[_Row, int, AlignedPair]] = []
        number = len(self._rows)
        step: Step | None = None
        while number or position:
            row = self._rows[number - 1] if number else self._top
            step = row.steps.get(position)
            if step is not None:
                break
            move = row.moves[position - row.first]
            if move == _DELETION:
                new.append((row, position, AlignedPair(position - 1, None, None, False)))
                position -= 1
                continue
            if move == _INSERTION:
                pair = AlignedPair(None, number - 1, row.word, False)
            else:
                is_correct = self._reference[position - 1] == row.word
                pair = AlignedPair(position - 1, number - 1, row.word, is_correct)
            new.append((row, position, pair))
            number -= 1
            position -= move == _MATCH
        for row, place, pair in reversed(new):
            step = row.steps[place] = Step(step, pair)
        return step
