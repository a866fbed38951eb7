from __future__ import annotations

import jiwer
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from stt_ru.scoring import counts as scoring
from stt_ru.scoring.counts import (
    EditCounts,
    ErrorCounts,
    Score,
    count_edits,
    score_texts,
    total_score,
)

# A small alphabet, so that words match often.
words = st.text(alphabet="абв", min_size=1, max_size=3)
texts = st.lists(words, max_size=12).map(" ".join)
nonempty_texts = st.lists(words, min_size=1, max_size=12).map(" ".join)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "counts", "char_errors", "wer", "cer"),
    [
        # Rates checked with jiwer 4.0; «rate» is None where jiwer divides by one.
        ("a b c d", "a x c", (1, 1, 0), 3, 0.5, 3 / 7),
        ("a b", "a b c d e", (0, 0, 3), 6, 1.5, 2.0),
        ("мама мыла раму", "мама раму мыла", (0, 1, 1), 8, 2 / 3, 8 / 14),
        ("ёлка", "елка", (1, 0, 0), 1, 1.0, 0.25),
        ("не льзя", "нельзя", (1, 1, 0), 1, 1.0, 1 / 7),
        ("a b c d", "e f g h i j", (4, 0, 2), 8, 1.5, 8 / 7),
        ("", "", (0, 0, 0), 0, None, None),
        ("", "x y", (0, 0, 2), 3, None, None),
        ("a b", "", (0, 2, 0), 3, 1.0, 1.0),
    ],
)
def test_known_answers(
    reference: str,
    hypothesis: str,
    counts: tuple[int, int, int],
    char_errors: int,
    wer: float | None,
    cer: float | None,
) -> None:
    score = score_texts(reference, hypothesis)
    assert score.words == EditCounts(*counts, length=len(reference.split()))
    assert score.chars == ErrorCounts(char_errors, len(reference))
    assert (score.words.rate, score.chars.rate) == (wer, cer)


def jiwer_counts(reference: str, hypothesis: str) -> tuple[EditCounts, int]:
    by_word = jiwer.process_words(reference, hypothesis)
    by_character = jiwer.process_characters(reference, hypothesis)
    counts = EditCounts(
        by_word.substitutions,
        by_word.deletions,
        by_word.insertions,
        by_word.hits + by_word.substitutions + by_word.deletions,
    )
    errors = by_character.substitutions + by_character.deletions + by_character.insertions
    return counts, errors


@given(nonempty_texts, texts)
@example("а б", "б в")  # two substitutions, or a deletion and an insertion
def test_counts_are_those_of_jiwer(reference: str, hypothesis: str) -> None:
    score = score_texts(reference, hypothesis)
    assert (score.words, score.chars.errors) == jiwer_counts(reference, hypothesis)


@given(
    st.lists(st.sampled_from("абвгдежз"), min_size=40, max_size=90),
    st.lists(st.tuples(st.integers(0, 89), st.sampled_from("+-*")), max_size=40),
)
@settings(max_examples=50)
def test_hints_for_long_texts_change_no_count(
    reference: list[str], edits: list[tuple[int, str]]
) -> None:
    hypothesis = list(reference)
    for position, kind in edits:
        at = position % max(1, len(hypothesis))
        hypothesis[at : at + (kind != "+")] = [] if kind == "-" else ["ж"]
    pair = " ".join(reference), " ".join(hypothesis)
    short = score_texts(*pair)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "LONG_TEXT", 0)
        assert score_texts(*pair) == short


def test_a_text_as_long_as_a_lecture_scores_like_jiwer() -> None:
    reference = " ".join(f"слово{number % 97}" for number in range(3_000))
    hypothesis = " ".join(f"слово{number * number % 89}" for number in range(2_900))
    score = score_texts(reference, hypothesis)
    assert (score.words, score.chars.errors) == jiwer_counts(reference, hypothesis)


@given(texts, texts)
def test_the_two_sides_change_places(reference: str, hypothesis: str) -> None:
    there = count_edits(reference.split(), hypothesis.split())
    back = count_edits(hypothesis.split(), reference.split())
    assert there.errors == back.errors
    assert there.insertions - there.deletions == back.length - there.length


@given(st.lists(st.integers(-3, 3)), st.lists(st.integers(-3, 3)))
@example([-1], [-2])  # Python gives both one hash
def test_tokens_may_be_anything_that_can_be_hashed(
    reference: list[int], hypothesis: list[int]
) -> None:
    as_text = "".join(map("абвгдеж".__getitem__, reference))
    other = "".join(map("абвгдеж".__getitem__, hypothesis))
    assert count_edits(reference, hypothesis).errors == Levenshtein.distance(as_text, other)


def test_tokens_that_cannot_be_hashed_are_refused() -> None:
    with pytest.raises(TypeError):
        count_edits([["а"]], ["а"])  # type: ignore[list-item]  # the mistake in question


@given(st.lists(st.tuples(texts, texts), max_size=6))
def test_the_total_is_the_sum_of_the_parts(pairs: list[tuple[str, str]]) -> None:
    scores = [score_texts(*pair) for pair in pairs]
    total = total_score(scores)
    assert total.words == sum((score.words for score in scores), EditCounts())
    assert total.chars.errors == sum(score.chars.errors for score in scores)
    assert total.chars.length == sum(score.chars.length for score in scores)


def test_a_total_of_nothing_has_no_rate() -> None:
    assert total_score([]) == Score()
    assert total_score([]).words.rate is None


def test_a_thousand_repeated_words() -> None:
    score = score_texts("да", " ".join(["да"] * 1_000))
    assert score.words == EditCounts(insertions=999, length=1)
    assert score.words.rate == 999
