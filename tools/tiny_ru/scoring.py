"""Word and character errors of normalised texts."""

from __future__ import annotations

from rapidfuzz.distance import Levenshtein


def word_errors(reference: str, hypothesis: str) -> tuple[int, int]:
    """Errors and number of reference words."""
    words = reference.split()
    return Levenshtein.distance(words, hypothesis.split()), len(words)


def character_errors(reference: str, hypothesis: str) -> tuple[int, int]:
    """Errors and number of reference characters, including spaces."""
    return Levenshtein.distance(reference, hypothesis), len(reference)
