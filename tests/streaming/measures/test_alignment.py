import itertools
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from stt_ru.scoring.alignment import common_prefix
from stt_ru.scoring.counts import count_edits
from stt_ru.streaming.measures.alignment import (
    AlignedPair,
    AlignmentTable,
    alignment_of,
    changed_steps,
)
from tests.streaming.fakes import PATIENT

words = st.sampled_from(["а", "б", "в", "аб", "вга", "абвг"])
texts = st.lists(words, max_size=9)


def slow_alignment(
    reference: list[str], hypothesis: list[str]
) -> tuple[int, int, list[AlignedPair]]:
    """The slow twin: the whole table, cell by cell, from scratch."""
    n, m = len(reference), len(hypothesis)
    cost = {(0, 0): (0, 0)}
    for i, j in itertools.product(range(n + 1), range(m + 1)):
        ways = []
        if i:
            w, c = cost[i - 1, j]
            ways.append((w + 1, c + len(reference[i - 1])))
        if j:
            w, c = cost[i, j - 1]
            ways.append((w + 1, c + len(hypothesis[j - 1])))
        if i and j:
            w, c = cost[i - 1, j - 1]
            d = Levenshtein.distance(reference[i - 1], hypothesis[j - 1])
            ways.append((w + (d > 0), c + d))
        if ways:
            cost[i, j] = min(ways)
    pairs = []
    i, j = n, m
    while i or j:
        w, c = cost[i, j]
        if i and cost[i - 1, j] == (w - 1, c - len(reference[i - 1])):
            i -= 1
            pairs.append(AlignedPair(i, None, None, False))
        elif j and cost[i, j - 1] == (w - 1, c - len(hypothesis[j - 1])):
            j -= 1
            pairs.append(AlignedPair(None, j, hypothesis[j], False))
        else:
            i, j = i - 1, j - 1
            pairs.append(AlignedPair(i, j, hypothesis[j], reference[i] == hypothesis[j]))
    return *cost[n, m], pairs[::-1]


def slow_choice(
    reference: list[str], hypothesis: list[str], said: int, half: bool
) -> list[AlignedPair]:
    without = slow_alignment(reference[:said], hypothesis)
    if not half:
        return without[2]
    with_it = slow_alignment(reference[: said + 1], hypothesis)
    return with_it[2] if with_it[:2] < without[:2] else without[2]


@PATIENT
@given(texts, st.lists(st.tuples(texts, st.integers(0, 9), st.booleans()), max_size=8))
def test_a_table_that_follows_the_partials_aligns_each_as_if_from_scratch(
    reference: list[str], partials: list[tuple[list[str], int, bool]]
) -> None:
    table = AlignmentTable(reference)
    for hypothesis, said, half in partials:
        said = min(said, len(reference))
        half = half and said < len(reference)
        table.set_hypothesis(hypothesis)
        assert table.align(said, half_said=half) == slow_choice(reference, hypothesis, said, half)
        assert table.cost(said) == slow_alignment(reference[:said], hypothesis)[:2]


@PATIENT
@given(
    st.lists(words, max_size=40),
    st.lists(
        st.tuples(st.integers(0, 40), st.lists(words, max_size=12), st.integers(0, 40)), max_size=8
    ),
    st.integers(1, 4),
)
def test_narrow_and_recomputed_rows_give_the_same_alignment(
    reference: list[str], revisions: list[tuple[int, list[str], int]], ahead: int
) -> None:
    # `behind` as wide as the texts: exact whatever `ahead` is.
    table = AlignmentTable(reference, behind=200, ahead=ahead)
    hypothesis: list[str] = []
    for keep, tail, said in revisions:
        keep, said = min(keep, len(hypothesis)), min(said, len(reference))
        hypothesis = hypothesis[:keep] + tail
        table.replace_tail(keep, tail)
        assert table.align(said) == slow_alignment(reference[:said], hypothesis)[2]


@PATIENT
@given(texts, texts)
def test_the_number_of_word_errors_equals_that_of_count_edits(
    reference: list[str], hypothesis: list[str]
) -> None:
    table = AlignmentTable(reference)
    table.set_hypothesis(hypothesis)
    pairs = table.align(len(reference))
    assert sum(not pair.is_correct for pair in pairs) == count_edits(reference, hypothesis).errors


@PATIENT
@given(texts, st.lists(texts, min_size=1, max_size=5))
def test_changed_steps_are_exactly_the_difference_of_two_paths(
    reference: list[str], partials: list[list[str]]
) -> None:
    table = AlignmentTable(reference)
    before = table.align(0)
    for hypothesis in partials:
        table.set_hypothesis(hypothesis)
        after = table.align(len(reference))
        left, entered = changed_steps(before.last, after.last)
        kept = len(before) - len(left)
        assert list(before) == [*list(after)[:kept], *left[::-1]]
        assert list(after) == [*list(before)[:kept], *entered[::-1]]
        before = after


def spoken(n: int, seed: int = 0) -> list[str]:
    return [f"слово{(number * 7919 + seed) % 997}" for number in range(n)]


def damaged(kind: str, text: list[str]) -> list[tuple[str, int]]:
    """A hypothesis, each word with the number of reference words spoken by then."""
    numbered = [(word, number + 1) for number, word in enumerate(text)]
    if kind == "noisy":
        return [(word if n % 3 else "шум", n) for word, n in numbered]
    if kind == "a long hole":
        return numbered[:200] + numbered[700:]
    if kind == "babble":
        return numbered[:200] + [(word, 200) for word in spoken(150, 5)] + numbered[200:]
    if kind == "nonsense":
        return list(zip(spoken(len(text), 333)[::-1], range(len(text)), strict=True))
    return numbered


@pytest.mark.parametrize("kind", ["perfect", "noisy", "a long hole", "babble", "nonsense"])
@pytest.mark.parametrize("paced", [True, False], ids=["word by word", "all at the end"])
def test_a_long_text_has_as_many_errors_as_with_the_whole_table(kind: str, paced: bool) -> None:
    reference = spoken(1000)
    timed_hypothesis = damaged(kind, reference)
    hypothesis = [word for word, _ in timed_hypothesis]
    table = AlignmentTable(reference)
    if paced:
        for number in range(0, len(hypothesis), 5):
            table.replace_tail(number, hypothesis[number : number + 5])
            table.align(min(len(reference), timed_hypothesis[number][1] + 4))
    else:
        table.set_hypothesis(hypothesis)
    assert table.cost(len(reference))[0] == count_edits(reference, hypothesis).errors


def test_a_model_that_is_silent_for_a_long_time_is_still_aligned() -> None:
    reference = spoken(3000)
    table = AlignmentTable(reference)
    table.replace_tail(0, reference[:10])
    for said in range(10, 2000, 3):
        assert table.align(said)[-1].reference == said - 1
    table.replace_tail(10, reference[1900:2000])
    pairs = table.align(2000)
    assert sum(pair.is_correct for pair in pairs) == 110


def test_dropped_costs_are_recomputed() -> None:
    reference = spoken(1500)
    table = AlignmentTable(reference)
    table.set_hypothesis(reference)
    assert len(table.align(1500)) == 1500
    table.replace_tail(101, ["чушь"])
    assert [pair.is_correct for pair in table.align(102)] == [True] * 101 + [False]


def test_similar_words_are_paired() -> None:
    table = AlignmentTable(["скажи", "номер", "договора"])
    table.set_hypothesis(["договор"])
    assert [pair.reference for pair in table.align(3) if pair.word] == [2]


def test_missing_words_are_missing_at_the_end() -> None:
    table = AlignmentTable(["да", "да"])
    table.set_hypothesis(["да"])
    assert [pair.word for pair in table.align(2)] == ["да", None]


def test_alignments_of_any_length_can_be_pickled() -> None:
    table = AlignmentTable(spoken(1500))
    table.set_hypothesis(spoken(1500))
    alignment = table.align(1500)
    assert pickle.loads(pickle.dumps(alignment)) == alignment
    assert alignment_of(list(alignment)) == alignment


@PATIENT
@given(texts, texts)
def test_common_prefix(left: list[str], right: list[str]) -> None:
    same = common_prefix(left, right)
    assert left[:same] == right[:same]
    assert left[same : same + 1] != right[same : same + 1] or not left[same:] or not right[same:]
