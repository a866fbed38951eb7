"""Edit counts of words and characters: how far a hypothesis is from its reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from rapidfuzz.distance import Levenshtein

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

EDIT_SPLIT: Final = "rapidfuzz"
"""The tie rule that splits errors into kinds; part of every report's signature."""

LONG_TEXT: Final = 2_000
"""Characters from which a hint pays for itself: without one the time grows with length²."""


@dataclass(frozen=True, slots=True)
class EditCounts:
    """Edits of a shortest script from a reference of ``length`` tokens; they add up."""

    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0
    length: int = 0

    @property
    def errors(self) -> int:
        """Substitutions, deletions and insertions together."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float | None:
        """Errors over the length, from 0 and possibly above 1; None when the reference is empty."""
        return self.errors / self.length if self.length else None

    def __add__(self, other: EditCounts) -> EditCounts:
        return EditCounts(
            self.substitutions + other.substitutions,
            self.deletions + other.deletions,
            self.insertions + other.insertions,
            self.length + other.length,
        )


@dataclass(frozen=True, slots=True)
class ErrorCounts:
    """Errors against a reference of ``length`` tokens, without their kinds."""

    errors: int = 0
    length: int = 0

    @property
    def rate(self) -> float | None:
        """Errors over the length, from 0 and possibly above 1; None when the reference is empty."""
        return self.errors / self.length if self.length else None


@dataclass(frozen=True, slots=True)
class Score:
    """Word and character errors of one pair of texts."""

    words: EditCounts = EditCounts()
    chars: ErrorCounts = ErrorCounts()


def count_edits(reference: Sequence[Hashable], hypothesis: Sequence[Hashable]) -> EditCounts:
    """Count the edits of a shortest script that turns ``reference`` into ``hypothesis``.

    Levenshtein (1966) with unit costs. ``errors`` is unique; its split is not («а б» -> «б в» is
    two substitutions, or a deletion and an insertion): the script is the one RapidFuzz returns,
    so that our split equals jiwer's.

    Args:
        reference: N reference tokens, already normalised.
        hypothesis: M tokens of the recognised text, normalised the same way.

    Returns:
        Counts with ``length == N``.

    Raises:
        TypeError: If a token cannot be hashed, e.g. a list of lists was passed.

    Example:
        >>> count_edits("мама мыла раму".split(), "мама раму".split())
        EditCounts(substitutions=0, deletions=1, insertions=0, length=3)
        >>> count_edits("", "шум").rate is None  # silence, hallucinated text
        True
    """
    # RapidFuzz compares tokens by hash alone, and hash(-1) == hash(-2): our numbers never clash.
    numbers: dict[Hashable, int] = {}
    number = numbers.setdefault
    operations = _operations(
        [number(token, len(numbers)) for token in reference],
        [number(token, len(numbers)) for token in hypothesis],
    )
    return _count(operations, len(reference), len(hypothesis))


def score_texts(reference: str, hypothesis: str) -> Score:
    """Score one pair of texts by words and by characters, spaces included.

    Args:
        reference: The reference after `stt_ru.normalize.normalize`: words with one space between.
        hypothesis: The recognised text after the same.

    Example:
        >>> score_texts("не льзя", "нельзя")
        Score(words=EditCounts(substitutions=1, deletions=1, insertions=0, length=2), \
chars=ErrorCounts(errors=1, length=7))
    """
    reference_words = reference.split()
    if reference == hypothesis:
        return Score(EditCounts(length=len(reference_words)), ErrorCounts(0, len(reference)))
    hypothesis_words = hypothesis.split()
    # A hint tells RapidFuzz how wide a band of the matrix to try first; it widens the band while
    # the distance does not fit, so that the operations and the distance stay the same.
    word_hint = char_hint = None
    is_long = len(reference) > LONG_TEXT and len(hypothesis) > LONG_TEXT
    if is_long:
        word_hint = len(reference_words) // 8
    operations = _operations(reference_words, hypothesis_words, word_hint)
    if is_long:
        char_hint = _character_bound(operations, reference_words, hypothesis_words)
    char_errors = Levenshtein.distance(reference, hypothesis, score_hint=char_hint)
    return Score(
        _count(operations, len(reference_words), len(hypothesis_words)),
        ErrorCounts(char_errors, len(reference)),
    )


def total_score(scores: Iterable[Score]) -> Score:
    """Sum of the counts of many pairs, to ask the corpus' rates of; an empty one for no scores."""
    substitutions = deletions = insertions = words = char_errors = chars = 0
    for score in scores:
        substitutions += score.words.substitutions
        deletions += score.words.deletions
        insertions += score.words.insertions
        words += score.words.length
        char_errors += score.chars.errors
        chars += score.chars.length
    return Score(
        EditCounts(substitutions, deletions, insertions, words), ErrorCounts(char_errors, chars)
    )


_Operation: TypeAlias = tuple[str, int, int]  # kind, position in the reference, in the hypothesis


def _operations(
    reference: Sequence[Hashable], hypothesis: Sequence[Hashable], hint: int | None = None
) -> list[_Operation]:
    operations = Levenshtein.editops(reference, hypothesis, score_hint=hint)
    return cast("list[_Operation]", operations.as_list())  # the stubs say Editop, and it is a tuple


def _count(operations: list[_Operation], n_reference: int, n_hypothesis: int) -> EditCounts:
    substitutions = [tag for tag, _, _ in operations].count("replace")
    # deletions + insertions = the other operations; insertions - deletions = M - N.
    others = len(operations) - substitutions
    insertions = (others + n_hypothesis - n_reference) // 2
    return EditCounts(substitutions, others - insertions, insertions, n_reference)


def _character_bound(
    operations: list[_Operation], reference: list[str], hypothesis: list[str]
) -> int:
    """Upper bound on the character distance: that of the word alignment, words with a space."""
    bound = 0
    for tag, i, j in operations:
        if tag == "replace":
            bound += Levenshtein.distance(reference[i], hypothesis[j])
        else:
            bound += len(reference[i] if tag == "delete" else hypothesis[j]) + 1
    return bound
