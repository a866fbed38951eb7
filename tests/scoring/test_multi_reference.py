from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement, product

from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from stt_ru.scoring.alignment import align
from stt_ru.scoring.counts import EditCounts, ErrorCounts, Score, count_edits, score_texts
from stt_ru.scoring.multi_reference import (
    align_branch,
    choose_branch,
    score_branch,
    score_reference,
)
from stt_ru.text.marked_references import ANYTHING, Alternative, Marked, read_reference

Words = tuple[str, ...]
Cost = tuple[int, int]

WORD = st.sampled_from(("а", "б", "аб", "ва", "абв"))
PHRASE = st.lists(WORD, max_size=3).map(" ".join)
CHOICE = st.lists(st.one_of(PHRASE, st.just(ANYTHING)), min_size=2, max_size=3)
PLACE = st.one_of(PHRASE, CHOICE, CHOICE, st.just([ANYTHING]), WORD.map(lambda word: [word, ""]))
PLACES = st.lists(PLACE, min_size=1, max_size=4)
HYPOTHESIS = st.lists(WORD, max_size=5)


def written(places: list[str | list[str]]) -> str:
    choices = [[place] if isinstance(place, str) else place for place in places if any(place)]
    return " ".join(one[0] if len(one) == 1 else "{" + "|".join(one) + "}" for one in choices)


@cache
def slow_cost(true: Words, heard: Words) -> Cost:
    """Word errors, then characters of the words they are in: every way tried."""
    if not true and not heard:
        return 0, 0
    ways = []
    if true:
        words, chars = slow_cost(true[1:], heard)
        ways.append((words + 1, chars + len(true[0]) + 1))
        if true[0] == ANYTHING:
            return min(slow_cost(true[1:], heard[n:]) for n in range(len(heard) + 1))
    if heard:
        words, chars = slow_cost(true, heard[1:])
        ways.append((words + 1, chars + len(heard[0]) + 1))
    if true and heard:
        words, chars = slow_cost(true[1:], heard[1:])
        distance = Levenshtein.distance(true[0], heard[0])
        ways.append((words + (true[0] != heard[0]), chars + distance))
    return min(ways)


def branches(places: list[str | list[str]]) -> list[Words]:
    """Every branch, what is written first coming first."""
    choices = [[place] if isinstance(place, str) else place for place in places]
    return [tuple(" ".join(one).split()) for one in product(*choices)]


def counted_words(branch: str) -> list[str]:
    return [word for word in Alternative.of(branch).words if word != ANYTHING]


def words_of(branch: str) -> Words:
    return tuple(branch.split())  # the strategy writes words as the normaliser leaves them


@settings(max_examples=200, deadline=None)
@given(PLACES, HYPOTHESIS)
def test_the_branch_is_the_first_of_the_best_of_all(
    places: list[str | list[str]], heard: list[str]
) -> None:
    reference = read_reference(written(places))
    if isinstance(reference, str):
        return
    costs = [slow_cost(branch, tuple(heard)) for branch in branches(places)]
    first_best = branches(places)[costs.index(min(costs))]
    chosen = choose_branch(reference, " ".join(heard))
    assert words_of(chosen) == first_best
    score = score_branch(chosen, " ".join(heard))
    assert score.words.errors == min(costs)[0]
    assert score.words.length == len([word for word in first_best if word != ANYTHING])
    assert score.words.length == len(counted_words(chosen))


@given(PLACES, HYPOTHESIS)
def test_the_alignment_is_the_one_that_was_counted(
    places: list[str | list[str]], heard: list[str]
) -> None:
    reference = read_reference(written(places))
    score, chosen = score_reference(reference, " ".join(heard))
    if chosen is None:
        return
    pairs = align_branch(chosen, " ".join(heard))
    kinds = [
        "ins" if true is None else "del" if found is None else "sub"
        for true, found in pairs
        if true != found and true != ANYTHING
    ]
    counts = (score.words.substitutions, score.words.deletions, score.words.insertions)
    assert tuple(map(kinds.count, ("sub", "del", "ins"))) == counts
    assert [true for true, _ in pairs if true not in (None, ANYTHING)] == counted_words(chosen)
    assert [found for _, found in pairs if found is not None] == heard


@given(st.lists(WORD, max_size=6), HYPOTHESIS)
def test_a_branch_without_anything_is_scored_as_a_plain_text(
    true: list[str], heard: list[str]
) -> None:
    pair = " ".join(true), " ".join(heard)
    assert score_branch(*pair) == score_texts(*pair)
    assert align_branch(*pair) == align(true, heard)


@given(st.lists(st.lists(WORD, max_size=2), min_size=2, max_size=3), HYPOTHESIS)
def test_characters_are_counted_between_anything_and_anything(
    stretches: list[list[str]], heard: list[str]
) -> None:
    branch = f" {ANYTHING} ".join(map(" ".join, stretches))
    score = score_branch(branch, " ".join(heard))
    assert score.chars.length == sum(len(" ".join(stretch)) for stretch in stretches)
    # Some division of the text has exactly these errors, and no division has fewer word errors.
    cuts = 2 * len(stretches) - 2
    divisions = []
    for ends in combinations_with_replacement(range(len(heard) + 1), cuts):
        bounds = [0, *ends, len(heard)]
        parts = [heard[bounds[n] : bounds[n + 1]] for n in range(0, len(bounds) - 1, 2)]
        scores = [
            score_texts(" ".join(one), " ".join(two))
            for one, two in zip(stretches, parts, strict=True)
        ]
        divisions.append(
            (sum(one.words.errors for one in scores), sum(one.chars.errors for one in scores))
        )
    assert (score.words.errors, score.chars.errors) in divisions
    assert score.words.errors == min(divisions)[0]


def test_known_answers() -> None:
    def found(reference: str, heard: str) -> tuple[Score, str | None]:
        return score_reference(read_reference(reference), heard)

    def score(*counts: int, chars: tuple[int, int]) -> Score:
        return Score(EditCounts(*counts), ErrorCounts(*chars))

    assert found("{тысяча|1000} рублей", "1000 рублей") == (
        score(0, 0, 0, 2, chars=(0, 11)),
        "1000 рублей",
    )
    # Equal in words; «рублям» is three letters from «руб», two from «рублей».
    assert found("{руб|рублей}", "рублям") == (score(1, 0, 0, 1, chars=(2, 6)), "рублей")
    # The example of docs/metrics-trust.md.
    reference = "{тысяча|1000} рублей {ну}"
    assert found(reference, "1000 рубль") == (score(1, 0, 0, 2, chars=(2, 11)), "1000 рублей")
    assert found("{ну} да", "да") == (score(0, 0, 0, 1, chars=(0, 2)), "да")
    assert found("{двадцать пять|25} лет", "двадцать шесть лет") == (
        score(1, 0, 0, 3, chars=(3, 17)),
        "двадцать пять лет",
    )
    assert found("<*> да <*>", "ну да вот") == (score(0, 0, 0, 1, chars=(0, 2)), "<*> да <*>")
    assert found("<*>", "что угодно") == (Score(), "<*>")
    assert found("{ну}", "") == (Score(), "")
    assert found("{а|б}", "а")[1] == "а"
    assert found("{а|б}", "в")[1] == "а"  # equal in everything: the first written
    assert found("да", "да") == (score_texts("да", "да"), None)


def test_a_thousand_places_are_not_two_to_the_thousandth_branches() -> None:
    places = ["{а|б}", "{в}", "ж"] * 1_000
    reference = read_reference(" ".join(places))
    assert isinstance(reference, Marked)
    heard = " ".join(["б ж", "а в ж"] * 500)
    score, chosen = score_reference(reference, heard)
    assert score.words == EditCounts(length=2_500)
    assert chosen == heard


def test_long_texts_are_aligned_in_one_piece() -> None:
    words = [f"слово{n % 700}" for n in range(2_000)]
    heard = [word for n, word in enumerate(words) if n % 50]
    marked = [f"{{{word}|другое}}" if n % 10 == 5 else word for n, word in enumerate(words)]
    reference = read_reference(" ".join(marked))
    score, chosen = score_reference(reference, " ".join(heard))
    assert chosen == " ".join(words)
    assert score.words.errors == count_edits(words, heard).errors == 40
