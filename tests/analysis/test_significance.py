from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.analysis.aligned_rows import AlignedReport
from stt_ru.analysis.grouping import check_group_by
from stt_ru.analysis.significance import (
    LEAST_BLOCKS,
    Interval,
    block_sums,
    compare,
    describe,
    macro_average,
    mapsswe,
    resample,
    uncertainty,
)
from stt_ru.errors import UsageError
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.alignment import align
from stt_ru.scoring.counts import EditCounts, ErrorCounts, Score, count_edits, score_texts
from stt_ru.scoring.multi_reference import score_branch

WORDS = st.lists(st.sampled_from("абвг"), max_size=8)


def row(
    errors: int, words: int, *, audio: str = "a.wav", reference: str = "", **extra: object
) -> FileResult:
    return FileResult(
        audio=audio,
        reference=reference,
        hypothesis="",
        score=Score(EditCounts(errors, 0, 0, words), ErrorCounts(errors, words * 5)),
        extra=extra,
    )


def report(*counts: tuple[int, int], label: str = "m") -> ModelReport:
    rows = [row(*count, audio=f"{number}.wav") for number, count in enumerate(counts)]
    return ModelReport(model=label, label=label, rows=len(rows), results=rows)


def texts(*pairs: tuple[str, str], label: str = "m") -> ModelReport:
    rows = [
        FileResult(audio=f"{n}.wav", reference=one, hypothesis=two, score=score_texts(one, two))
        for n, (one, two) in enumerate(pairs)
    ]
    return ModelReport(model=label, label=label, rows=len(rows), results=rows)


@given(WORDS, WORDS)
def test_the_alignment_is_the_one_that_is_counted(one: list[str], two: list[str]) -> None:
    pairs = align(one, two)
    assert [reference for reference, _ in pairs if reference is not None] == one
    assert [hypothesis for _, hypothesis in pairs if hypothesis is not None] == two
    counts = EditCounts(
        sum(None not in pair and pair[0] != pair[1] for pair in pairs),
        sum(hypothesis is None for _, hypothesis in pairs),
        sum(reference is None for reference, _ in pairs),
        len(one),
    )
    assert counts == count_edits(one, two)


# (errors, words) of A and B on four recordings; WER .20 and .30, macro average of A .2125
TOY_A = [(1, 4), (0, 6), (2, 5), (1, 5)]
TOY_B = [(1, 4), (1, 6), (3, 5), (1, 5)]


def test_the_bootstrap_agrees_with_all_256_resamples_of_a_toy_corpus() -> None:
    values = np.array([[w for _, w in TOY_A], [e for e, _ in TOY_A], [e for e, _ in TOY_B]])
    exact = np.array(
        [values[:, list(chosen)].sum(axis=1) for chosen in itertools.product(range(4), repeat=4)]
    ).T
    difference = (exact[2] - exact[1]) / exact[0]
    assert (difference > 0).mean() == 0.9375
    assert round(float(difference.std()), 4) == 0.0458
    assert np.quantile(exact[1] / exact[0], [0.025, 0.975]).round(4).tolist() == [0.0455, 0.35]
    drawn = resample(values, resamples=20_000)
    estimate = (drawn[2] - drawn[1]) / drawn[0]
    assert (estimate > 0).mean() == pytest.approx(0.9375, abs=0.01)
    assert estimate.std() == pytest.approx(0.0458, abs=0.001)
    assert np.quantile(drawn[1] / drawn[0], [0.025, 0.975]) == pytest.approx(
        [0.0455, 0.35], abs=0.02
    )
    assert macro_average(e / w for e, w in TOY_A) == pytest.approx(0.2125)


@given(
    st.integers(1, 40).flatmap(
        lambda blocks: st.lists(
            st.lists(st.integers(0, 2**33), min_size=blocks, max_size=blocks),
            min_size=1,
            max_size=5,
        )
    ),
    st.integers(1, 30),
    st.booleans(),
)
def test_sums_are_those_of_the_drawn_blocks(
    lists: list[list[int]], resamples: int, are_small: bool
) -> None:
    values = np.array(lists, dtype=np.int64) % (1000 if are_small else 2**62)
    blocks = values.shape[1]
    generator = np.random.Generator(np.random.PCG64(7))
    chosen = [generator.integers(0, blocks, blocks) for _ in range(resamples)]
    slow = [[int(counts[drawn].sum()) for drawn in chosen] for counts in values]
    assert resample(values, resamples=resamples, seed=7).tolist() == slow


def test_the_same_report_has_the_same_interval_every_time() -> None:
    first = uncertainty(report(*[(n % 3, 5) for n in range(40)]))
    assert first == uncertainty(report(*[(n % 3, 5) for n in range(40)]))
    assert first.blocks == 40
    assert first.wer is not None
    assert first.wer.low < 39 / 200 < first.wer.high


def test_few_recordings_have_no_interval() -> None:
    assert uncertainty(report(*[(1, 5)] * (LEAST_BLOCKS - 1))).wer is None
    assert uncertainty(report(*[(1, 5)] * LEAST_BLOCKS)).wer == Interval(0.2, 0.2)
    assert uncertainty(report()).blocks == 0


def test_rows_without_words_have_no_interval() -> None:
    assert uncertainty(report(*[(1, 0)] * 9)).wer is None


def test_failed_rows_are_ignored() -> None:
    rows = [*report(*[(1, 5)] * 6).results, FileResult(audio="x", reference="да", error="нет")]
    assert uncertainty(ModelReport(model="m", label="m", rows=7, results=rows)).blocks == 6


def test_blocks_of_a_column_widen_the_interval_of_dependent_rows() -> None:
    rows = [
        row(5 * (call % 2), 5, audio=f"{call}-{n}.wav", call=call)
        for call in range(8)
        for n in range(20)
    ]
    whole = ModelReport(model="m", label="m", rows=len(rows), results=rows)
    alone, grouped = uncertainty(whole), uncertainty(whole, group_by="call")
    assert (alone.blocks, grouped.blocks) == (160, 8)
    assert alone.wer is not None
    assert grouped.wer is not None
    assert grouped.wer.high - grouped.wer.low > 3 * (alone.wer.high - alone.wer.low)


def test_channels_of_a_recording_are_one_block() -> None:
    sums = block_sums(np.array([[1, 2, 4]]), ["a", "b", "a"])
    assert sums.tolist() == [[5, 2]]


def test_a_missing_column_is_named() -> None:
    with pytest.raises(UsageError, match="в строке 2 нет колонки «call»; есть «a»"):
        check_group_by("call", [["call"], ["a"]])
    with pytest.raises(UsageError, match="других колонок нет"):
        uncertainty(report((1, 2)), group_by="call")


def test_a_clear_difference_is_significant_and_a_small_one_is_not() -> None:
    a = report(*[(1, 10)] * 50, label="a")
    worse = report(*[(3, 10)] * 50, label="b")
    found = compare(AlignedReport(a), AlignedReport(worse))
    assert found.difference == pytest.approx(0.2)
    assert (found.is_significant, found.is_b_worse, found.reversed_share) == (True, True, 0.0)
    better = compare(AlignedReport(worse), AlignedReport(a))
    assert (better.is_significant, better.is_b_worse) == (True, False)
    mixed = report(*[(1 + (-1) ** n * (n > 1), 10) for n in range(50)], label="c")
    found = compare(AlignedReport(a), AlignedReport(mixed))
    assert not found.is_significant
    same = compare(AlignedReport(a), AlignedReport(a))
    assert (same.difference, same.reversed_share, same.is_significant) == (0.0, None, False)


def test_a_paired_difference_is_narrower_than_two_intervals() -> None:
    a = report(*[(n % 7, 10) for n in range(60)])
    b = report(*[(n % 7 + 1, 10) for n in range(60)])
    found = compare(AlignedReport(a), AlignedReport(b))
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((0.1, 0.1))


def test_only_rows_that_both_recognised_are_compared() -> None:
    a, b = report((1, 5), (1, 5)), report((5, 5), (1, 5))
    failed = [FileResult(audio="0.wav", reference="", error="нет"), b.results[1]]
    found = compare(AlignedReport(a), AlignedReport(replace(a, label="b", results=failed)))
    assert (found.rows, found.wer_a, found.wer_b) == (1, 0.2, 0.2)


def marked(*rows: tuple[str, str, str], label: str) -> ModelReport:
    """A report of rows (marked reference, chosen branch, hypothesis)."""
    results = [
        FileResult(
            audio=f"{n}.wav",
            reference=reference,
            chosen=chosen,
            hypothesis=text,
            score=score_branch(chosen, text),
        )
        for n, (reference, chosen, text) in enumerate(rows)
    ]
    return ModelReport(model=label, label=label, rows=len(results), results=results)


def test_rates_of_systems_with_different_branches_use_their_own_word_counts() -> None:
    reference = "{двадцать пять|25} лет"
    a = marked(*[(reference, "двадцать пять лет", "двадцать пять зим")] * 8, label="a")
    b = marked(*[(reference, "25 лет", "25 зим")] * 8, label="b")
    found = compare(AlignedReport(a), AlignedReport(b))
    assert (found.wer_a, found.wer_b) == (1 / 3, 1 / 2)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((1 / 6, 1 / 6))
    assert (found.reversed_share, found.is_b_worse) == (0.0, True)
    assert uncertainty(b).wer == Interval(0.5, 0.5)


def test_a_row_with_different_branches_is_one_segment() -> None:
    reference = "{а|б} в г д е"
    a = ("а в г д е", "х в г д х")  # two segments: two right words separate the errors
    b = ("а в г д е", "а в г д е")
    other = ("б в г д е", "б в г д е")
    right = marked((reference, *b), label="r")
    one, two = marked((reference, *a), label="a"), marked((reference, *other), label="b")
    assert compare(AlignedReport(one), AlignedReport(right)).mapsswe_segments == 2
    assert compare(AlignedReport(one), AlignedReport(two)).mapsswe_segments == 1


def test_words_matched_by_anything_are_not_in_any_segment() -> None:
    one = marked(("<*> да", "<*> да", "ну и да"), ("да", "да", "нет"), label="a")
    two = marked(("<*> да", "<*> да", "нет"), ("да", "да", "да"), label="b")
    found = compare(AlignedReport(one), AlignedReport(two))
    assert (found.wer_a, found.wer_b) == (0.5, 0.5)
    assert found.mapsswe_segments == 2


def test_different_rows_are_refused() -> None:
    with pytest.raises(UsageError, match=r"отчёты . и . нельзя сравнить построчно"):
        compare(AlignedReport(texts(("да", "да"))), AlignedReport(texts(("нет", "да"))))


def test_models_that_did_not_load_are_left_out_of_the_pairs() -> None:
    broken = ModelReport(model="x", label="x", rows=1, error="нет")
    reports = [report((1, 5), label="a"), broken, report((2, 5), label="b")]
    found = describe([AlignedReport(one) for one in reports])
    assert [(pair.label_a, pair.label_b) for pair in found.comparisons] == [("a", "b")]
    assert [one is None for one in found.uncertainties] == [False, True, False]


def test_systems_with_different_references_are_not_paired() -> None:
    others = [texts(("да", "да")), texts(("нет", "да"))]
    assert describe([AlignedReport(one) for one in others]).comparisons == ()


def test_mapsswe_computed_by_hand() -> None:
    # First text: A has one error in segment 1 and none in segment 2 (after two right words), B has
    # 0 and 2. Second text: A has 1, B has 0. Z = 1, -2, 1: mean 0.
    rows = [
        ("а б в г д е", "х б в г д е", "а б в г х х"),
        ("а б", "а", "а б"),
    ]
    p, segments = mapsswe(rows)
    assert (p, segments) == (1.0, 3)
    # Z = 1, 0, 1, 0, 1: mean .6, sd √.3, W = .6 / √(.3 / 5) = 2.449, p = .0143
    better, worse = ("а б", "а х", "а б"), ("а б", "а х", "а х")
    p, segments = mapsswe([better, worse, better, worse, better])
    assert segments == 5
    assert p == pytest.approx(0.0143, abs=1e-4)


def test_one_right_word_does_not_end_a_segment_and_an_insertion_breaks_a_run() -> None:
    assert mapsswe([("а б в", "х б х", "а б в")])[1] == 1
    assert mapsswe([("а б в г", "х б в х", "а б в г")])[1] == 2
    assert mapsswe([("а б в г", "х б да в х", "а б в г")])[1] == 1
    assert mapsswe([("", "", "")]) == (None, 0)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=4))
def test_segments_contain_all_errors(rows: list[tuple[list[str], list[str], list[str]]]) -> None:
    joined = [tuple(" ".join(words) for words in row) for row in rows]
    from stt_ru.analysis import significance

    total = 0
    for reference, a, b in rows:
        places = [significance._errors_by_place(align(reference, text)) for text in (a, b)]
        total += sum(significance._segment_differences(*places))
    wanted = sum(count_edits(r, a).errors - count_edits(r, b).errors for r, a, b in rows)
    assert total == wanted
    p, _ = mapsswe([(r, a, b) for r, a, b in joined])
    swapped, _ = mapsswe([(r, b, a) for r, a, b in joined])
    assert p == swapped
