"""Model or spelling? Errors when some spellings count as equal, decided in the alignment.

No text is rewritten: what is equal is a free step through the alignment, taken where that makes the
errors fewest. The denominator stays the words of the reference.
"""

from __future__ import annotations

import itertools
import operator
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from stt_ru.errors import UsageError
from stt_ru.files.reading import LINE_END, read_text
from stt_ru.scoring.counts import ErrorCounts, count_edits
from stt_ru.text.marked_references import ANYTHING, Marked, read_reference, split_at_anything
from stt_ru.text.normalize import has_digits, normalize
from stt_ru.text.numbers import Span, Words, figure_spans, spelt_digits, split_words, word_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

Rule = Literal["numbers", "compounds", "fillers", "glossary"]

FILLERS: Final = frozenset(
    {"э", "ээ", "эээ", "ээээ", "эм", "эмм", "ээм", "м", "мм", "ммм", "гм", "хм", "кхм", "ну"}
)
"""Words that say nothing; «э-э» is two of them."""

LONGEST_JOINED: Final = 3  # words that one compound word may be split into
MOST_CELLS: Final = 25_000_000
"""Reference words times hypothesis words up to which it is kept which words were matched."""
MOST_BRANCHES: Final = 16
"""Branches of a reference up to which each is tried under the rules."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Reference words ``[i, i_end)`` equal hypothesis words ``[j, j_end)`` by a rule."""

    i: int
    i_end: int
    j: int
    j_end: int
    rule: Rule


@dataclass(frozen=True, slots=True)
class Match:
    """A difference of spelling that the alignment took for none."""

    rule: Rule
    reference: str
    hypothesis: str


@dataclass(frozen=True, slots=True)
class Glossary:
    """Equal forms of names: each a row of normalised words, with the number of its line."""

    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    @property
    def longest(self) -> int:
        """Words of the longest form."""
        return max(map(len, self.lines), default=0)


def read_glossary(path: str | Path) -> Glossary:
    """Read a glossary: a line of equal forms with «=» between, «#» begins a comment.

    Raises:
        UsageError: If a line has fewer than two forms, or a form is in two lines.
    """
    lines: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(LINE_END.split(read_text(str(path))), start=1):
        written = line.partition("#")[0]
        if not written.strip():
            continue
        forms = [tuple(normalize(form).split()) for form in written.split("=")]
        if len(forms) < 2 or not all(forms):
            raise UsageError(
                f"{path}:{number}: нужны хотя бы две формы через «=», например «яндекс = yandex»"
            )
        for form in forms:
            if lines.setdefault(form, number) != number:
                raise UsageError(
                    f"{path}:{number}: «{' '.join(form)}» уже есть в строке {lines[form]}"
                )
    return Glossary(lines)


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as equal.

    Attributes:
        numbers: A figure and any spelling of it in words.
        compounds: Words written together and apart, «не льзя».
        fillers: Words left out of both texts, and of the denominator; empty for none.
        glossary: Equal forms of names.
    """

    numbers: bool = False
    compounds: bool = False
    fillers: frozenset[str] = frozenset()
    glossary: Glossary = Glossary()


def count_errors(reference: str, hypothesis: str, rules: Rules) -> ErrorCounts:
    """Fewest word errors when what the rules say is equal.

    Never more than `stt_ru.scoring.counts.count_edits` finds, fillers apart.

    Args:
        reference: As written, not normalised: its signs tell «3,5» from «3 5».
        hypothesis: The recognised text as written.
        rules: What is equal.

    Example:
        >>> count_errors("две тысячи тринадцатого года", "2013 года", Rules(numbers=True))
        ErrorCounts(errors=0, length=4)
    """
    pair = _Pair(_words(reference, rules), _words(hypothesis, rules))
    return ErrorCounts(pair.errors(pair.edges(rules)), len(pair.reference.words))


def count_each(
    reference: str,
    hypothesis: str,
    asked: Sequence[Rules],
    plain: ErrorCounts,
    *,
    chosen: str | None = None,
    compared: tuple[str, str] | None = None,
) -> list[ErrorCounts]:
    """What `count_errors` finds under each of several rules, in a fraction of the time.

    The texts are cut once, what makes words equal is found once, and they are aligned again only
    where that is anything.

    Args:
        reference: As in `count_errors`.
        hypothesis: As in `count_errors`.
        asked: The rules.
        plain: The word errors of the pair without any rule.
        chosen: The branch of a reference with variants that has these errors; under each rule the
            branch with the fewest errors is taken, this one where there are more than
            `MOST_BRANCHES`. None when the reference has no variants.
        compared: The reference, or the branch, and the hypothesis normalised, where that has been
            done.
    """
    may_help = any(rules.fillers or (plain.errors and rules.glossary.lines) for rules in asked)
    if not may_help and (
        plain.errors == 0 or (plain.errors == 1 and compared and not has_digits(" ".join(compared)))
    ):  # numbers need digits, and a compound that is written apart is two errors at least
        return [plain] * len(asked)
    true_text, heard_text = compared or (None, None)
    hypothesis_words = split_words(hypothesis, heard_text)
    if chosen is None:
        return _count_each(split_words(reference, true_text), hypothesis_words, asked, plain.errors)
    branches = [
        _count_each(
            _branch_words(branch), hypothesis_words, asked, None if number else plain.errors
        )
        for number, branch in enumerate(_branches(reference, chosen))
    ]
    return [min(counts, key=lambda one: one.errors) for counts in zip(*branches, strict=True)]


def _count_each(
    reference: Words, hypothesis: Words, asked: Sequence[Rules], plain_errors: int | None
) -> list[ErrorCounts]:
    pairs = {frozenset[str](): _Pair(reference, hypothesis, plain_errors)}
    counts = []
    for rules in asked:
        fillers = rules.fillers
        if fillers and fillers.isdisjoint(reference.words) and fillers.isdisjoint(hypothesis.words):
            fillers = frozenset()
        if fillers not in pairs:
            pairs[fillers] = _Pair(_without(reference, fillers), _without(hypothesis, fillers))
        pair = pairs[fillers]
        counts.append(ErrorCounts(pair.errors(pair.edges(rules)), pair.length))
    return counts


def _branches(reference: str, chosen: str) -> list[str]:
    """The branch that was said, then the others when they are not too many."""
    marked = read_reference(reference)
    if not isinstance(marked, Marked) or marked.branches > MOST_BRANCHES:
        return [chosen]
    return list(dict.fromkeys([chosen, *marked.texts(MOST_BRANCHES)]))


def _branch_words(branch: str) -> Words:
    """The words of a branch, `ANYTHING` among them."""
    words: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    for number, stretch in enumerate(split_at_anything(branch)):
        split = split_words(stretch)
        words += (ANYTHING, *split.words) if number else split.words
        gaps += split.gaps
    return Words(words, gaps)


def find_matches(
    reference: str, hypothesis: str, rules: Rules, *, chosen: str | None = None
) -> list[Match]:
    """What the alignment of `count_errors` took for equal, in its order.

    Empty for a pair of texts beyond `MOST_CELLS`.

    Args:
        reference: As in `count_errors`.
        hypothesis: As in `count_errors`.
        rules: As in `count_errors`.
        chosen: As in `count_each`.
    """
    hypothesis_words = _words(hypothesis, rules)
    if chosen is None:
        return _find_matches(_Pair(_words(reference, rules), hypothesis_words), rules)
    pairs = [
        _Pair(_without(_branch_words(branch), rules.fillers), hypothesis_words)
        for branch in _branches(reference, chosen)
    ]
    return _find_matches(min(pairs, key=lambda pair: pair.errors(pair.edges(rules))), rules)


def _find_matches(pair: _Pair, rules: Rules) -> list[Match]:
    reference, hypothesis, edges = pair.reference, pair.hypothesis, pair.edges(rules)
    if not edges or len(reference.words) * len(hypothesis.words) > MOST_CELLS:
        return []
    table = list(_rows(reference.words, hypothesis.words, edges))
    by_end: dict[tuple[int, int], list[Edge]] = defaultdict(list)
    for known in edges:
        by_end[known.i_end, known.j_end].append(known)
    found: list[Match] = []
    i, j = len(reference.words), len(hypothesis.words)
    while i or j:
        cost = table[i][j]
        if i and reference.words[i - 1] == ANYTHING:
            while table[i - 1][j] != cost:
                j -= 1
            i -= 1
            continue
        if (
            i
            and j
            and reference.words[i - 1] == hypothesis.words[j - 1]
            and table[i - 1][j - 1] == cost
        ):
            i, j = i - 1, j - 1
            continue
        free = (edge for edge in by_end.get((i, j), ()) if table[edge.i][edge.j] == cost)
        edge = next(free, None)
        if edge is not None:
            found.append(
                Match(
                    edge.rule,
                    " ".join(reference.words[edge.i : edge.i_end]),
                    " ".join(hypothesis.words[edge.j : edge.j_end]),
                )
            )
            i, j = edge.i, edge.j
        elif i and j and table[i - 1][j - 1] + 1 == cost:
            i, j = i - 1, j - 1
        elif i and table[i - 1][j] + 1 == cost:
            i -= 1
        else:
            j -= 1
    return found[::-1]


def _words(text: str, rules: Rules) -> Words:
    return _without(split_words(text), rules.fillers)


def _without(text: Words, fillers: frozenset[str]) -> Words:
    if fillers.isdisjoint(text.words):
        return text
    kept = [number for number, word in enumerate(text.words) if word not in fillers]
    return Words(
        tuple(text.words[number] for number in kept),
        (*(text.gaps[number] for number in kept), text.gaps[-1]),
    )


class _Pair:
    """Two texts as words; what makes some of them equal, and the errors then, are found once."""

    def __init__(
        self, reference: Words, hypothesis: Words, plain_errors: int | None = None
    ) -> None:
        self.reference = reference
        self.hypothesis = hypothesis
        self._edges: dict[Hashable, tuple[Edge, ...]] = {}
        self._errors = {} if plain_errors is None else {tuple[Edge, ...](): plain_errors}

    @property
    def length(self) -> int:
        """The denominator: the words of the reference."""
        return len(self.reference.words) - self.reference.words.count(ANYTHING)

    def edges(self, rules: Rules) -> tuple[Edge, ...]:
        """The free steps that the rules allow; none between equal texts."""
        if self.reference.words == self.hypothesis.words:
            return ()
        found: dict[Edge, None] = {}
        if rules.numbers:
            found.update(dict.fromkeys(self._found("numbers", _number_edges)))
        # A word joined or split is two errors at least; one error is never a difference in letters.
        if rules.compounds and self.errors(()) > 1:
            found.update(dict.fromkeys(self._found("compounds", _compound_edges)))
        if rules.glossary.lines:
            by_glossary = partial(_glossary_edges, rules.glossary)
            found.update(dict.fromkeys(self._found(id(rules.glossary), by_glossary)))
        return tuple(found)

    def _found(
        self, key: Hashable, find: Callable[[Words, Words], Iterable[Edge]]
    ) -> tuple[Edge, ...]:
        if key not in self._edges:
            self._edges[key] = tuple(find(self.reference, self.hypothesis))
        return self._edges[key]

    def errors(self, edges: tuple[Edge, ...]) -> int:
        """Fewest errors with these free steps."""
        if edges not in self._errors:
            if edges or ANYTHING in self.reference.words:
                *_, last = _rows(self.reference.words, self.hypothesis.words, edges)
                self._errors[edges] = int(last[-1])
            else:
                self._errors[edges] = count_edits(
                    self.reference.words, self.hypothesis.words
                ).errors
        return self._errors[edges]


def _rows(
    reference: Sequence[Hashable], hypothesis: Sequence[Hashable], edges: Iterable[Edge]
) -> Iterator[NDArray[np.int32]]:
    """Rows of the table of Wagner and Fischer (1974), with the edges as free steps.

    `ANYTHING` in the reference is a step over any words.

    Element j of row i: fewest errors between the first i and the first j words.
    """
    numbers: dict[Hashable, int] = {}
    reference_words = [numbers.setdefault(word, len(numbers)) for word in reference]
    anything = numbers.get(ANYTHING)
    hypothesis_words = np.array(
        [numbers.setdefault(word, len(numbers)) for word in hypothesis], dtype=np.int32
    )
    by_end: dict[int, list[Edge]] = defaultdict(list)
    longest = 1
    for edge in edges:
        by_end[edge.i_end].append(edge)
        longest = max(longest, edge.i_end - edge.i)
    columns = np.arange(len(hypothesis) + 1, dtype=np.int32)
    recent = [columns.copy()]  # the rows an edge may start from
    yield recent[0]
    for i, word in enumerate(reference_words, start=1):
        above = recent[-1]
        if word == anything:
            row = np.minimum.accumulate(above)
        else:
            row = above + np.int32(1)
            np.minimum(row[1:], above[:-1] + (hypothesis_words != word), out=row[1:])
            for edge in by_end.get(i, ()):
                row[edge.j_end] = min(row[edge.j_end], recent[edge.i - i][edge.j])
            # An insertion a word: the least of all cells to the left, each plus its distance.
            row = (np.minimum.accumulate(row - columns) + columns).astype(np.int32, copy=False)
        recent = [*recent[-longest + 1 :], row] if longest > 1 else [row]
        yield row


def _number_edges(reference: Words, hypothesis: Words) -> Iterator[Edge]:
    if not (has_digits(" ".join(reference.words)) or has_digits(" ".join(hypothesis.words))):
        return
    true_figures, heard_figures = figure_spans(reference), figure_spans(hypothesis)
    for left, right in (
        *_joined(true_figures, word_spans(hypothesis) if true_figures else []),
        *_joined(true_figures, heard_figures),
        *_joined(word_spans(reference) if heard_figures else [], heard_figures),
    ):
        if reference.words[left.start : left.end] != hypothesis.words[right.start : right.end]:
            yield Edge(left.start, left.end, right.start, right.end, "numbers")
    for span in true_figures:
        for start, end in _spellings(span, hypothesis):
            yield Edge(span.start, span.end, start, end, "numbers")
    for span in heard_figures:
        for start, end in _spellings(span, reference):
            yield Edge(start, end, span.start, span.end, "numbers")


def _spellings(span: Span, text: Words) -> Iterator[tuple[int, int]]:
    match span.meaning:
        case ("digits", str(digits)):
            yield from spelt_digits(text, digits)


def _joined(left: Sequence[Span], right: Sequence[Span]) -> Iterator[tuple[Span, Span]]:
    """Pairs of one meaning."""
    by_meaning: dict[Hashable, list[Span]] = defaultdict(list)
    for span in right:
        by_meaning[span.meaning].append(span)
    for span in left:
        for other in by_meaning.get(span.meaning, ()):
            yield span, other


def _compound_edges(reference: Words, hypothesis: Words) -> Iterator[Edge]:
    """Words joined, split, or split elsewhere («чтобыу видеть»); never figures."""
    yield from _shifted(reference.words, hypothesis.words)
    yield from (
        Edge(i, i_end, j, j + 1, "compounds")
        for j, i, i_end in _splits(hypothesis.words, reference.words)
    )
    yield from (
        Edge(i, i + 1, j, j_end, "compounds")
        for i, j, j_end in _splits(reference.words, hypothesis.words)
    )


def _splits(whole: Sequence[str], apart: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Words of one text that are several in the other: position, start and end there."""
    if not _has_split(whole, apart):
        return
    positions: dict[str, list[int]] = defaultdict(list)
    for position, word in enumerate(whole):
        positions[word].append(position)
    for start in range(len(apart)):
        joined = apart[start]
        for end in range(start + 2, min(start + LONGEST_JOINED, len(apart)) + 1):
            if joined[-1].isdigit() and apart[end - 1][0].isdigit():
                break  # «1 2» is not 12
            joined += apart[end - 1]
            for position in positions.get(joined, ()):
                yield position, start, end


def _shifted(reference: Sequence[str], hypothesis: Sequence[str]) -> Iterator[Edge]:
    """Neighbouring words with the same letters in both texts, split at different places."""
    neighbours: set[tuple[str, ...]] = set()
    for words in (reference, hypothesis):
        for count in range(2, LONGEST_JOINED + 1):
            neighbours.update(zip(*(words[start:] for start in range(count)), strict=False))
    if len(set(map("".join, neighbours))) == len(neighbours):
        return  # no two ways of writing the same letters
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for start, end, letters in _joins(hypothesis):
        places[letters].append((start, end))
    for i, i_end, letters in _joins(reference):
        for j, j_end in places.get(letters, ()):
            if _cuts(reference[i:i_end]).isdisjoint(_cuts(hypothesis[j:j_end])):
                yield Edge(i, i_end, j, j_end, "compounds")


def _joins(words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Two or three neighbouring words without digits: start, end, joined letters."""
    for start in range(len(words)):
        joined = words[start]
        for end in range(start + 2, min(start + LONGEST_JOINED, len(words)) + 1):
            joined += words[end - 1]
            if joined.isalpha():
                yield start, end, joined


def _cuts(words: Sequence[str]) -> set[int]:
    """Positions at which the joined letters are split into words."""
    return set(itertools.accumulate(map(len, words[:-1])))


def _has_split(whole: Sequence[str], apart: Sequence[str]) -> bool:
    words = set(whole)
    joined: Sequence[str] = apart
    for more in range(1, LONGEST_JOINED):
        joined = list(map(operator.add, joined, apart[more:]))
        if not words.isdisjoint(joined):
            return True
    return False


def _glossary_edges(glossary: Glossary, reference: Words, hypothesis: Words) -> Iterator[Edge]:
    def found(words: Sequence[str]) -> Iterator[tuple[int, int, int]]:
        for start in range(len(words)):
            for end in range(start + 1, min(start + glossary.longest, len(words)) + 1):
                line = glossary.lines.get(tuple(words[start:end]))
                if line is not None:
                    yield line, start, end

    theirs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for line, start, end in found(hypothesis.words):
        theirs[line].append((start, end))
    for line, i, i_end in found(reference.words):
        for j, j_end in theirs.get(line, ()):
            if reference.words[i:i_end] != hypothesis.words[j:j_end]:
                yield Edge(i, i_end, j, j_end, "glossary")
