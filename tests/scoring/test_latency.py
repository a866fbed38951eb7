"""Known answers and properties of the latency formulas."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stt_ru.scoring.latency import (
    average_lagging,
    average_proportion,
    average_proportion_of_hypothesis,
    average_token_delay,
    delay_ratio,
    differentiable_average_lagging,
    end_offset,
    length_adaptive_average_lagging,
    number_of_chunks,
    start_offset,
)

# Source: by hand, and SimulEval 1.1.4 run as a program on logs with these delays.
# delays; source length; reference length; AL, LAAL, AP, DAL; ATD (None: text, see below)
KNOWN = {
    "wait-3": ([3, 4, 5, 5, 5], 5, 5, 3, 3, 0.88, 3, None),
    "wait-1": ([1, 2, 3], 3, 3, 1, 1, 0.6667, 1, None),
    "steady": ([1000, 2000, 3000], 3000, 3, 1000, 1000, 0.6667, 1000, 1400),
    "offline": ([3000] * 3, 3000, 3, 3000, 3000, 1, 3000, 2400),
    "too much": ([500, 1000, 1500, 2000, 2500, 3000], 3000, 3, -750, 500, 1.1667, 500, 850),
    "too little": ([1000, 2000], 4000, 4, 1000, 1000, 0.1875, 1000, 1050),
    "stops early": ([500, 1000], 4000, 2, -250, -250, 0.1875, 500, 350),
    "after the source": ([1200, 1300], 1000, 2, 1200, 1200, 1.25, 1200, 800),
    "two bursts": ([600, 600, 1200, 1200], 1200, 4, 500, 500, 0.75, 600, 150),
    "degenerate": ([500] * 3 + [4000] * 2, 4000, 5, 175, 175, 0.475, 940, 1260),
}


@pytest.mark.parametrize("case", KNOWN.values(), ids=KNOWN.keys())
def test_the_known_answers(
    case: tuple[list[float], float, int, float, float, float, float, float | None],
) -> None:
    delays, source, reference, al, laal, ap, dal, atd = case

    assert average_lagging(delays, source, reference) == pytest.approx(al)
    assert length_adaptive_average_lagging(delays, source, reference) == pytest.approx(laal)
    assert average_proportion(delays, source, reference) == pytest.approx(ap, abs=5e-5)
    assert differentiable_average_lagging(delays, source, reference) == pytest.approx(dal)
    if atd is not None:
        assert average_token_delay(delays, source, reference) == pytest.approx(atd)


@pytest.mark.parametrize(
    ("delays", "source", "expected"),
    [  # by hand: Σ D / (X · H)
        ([500, 1000, 1500, 2000, 2500, 3000], 3000, 0.5833),
        ([1000, 2000], 4000, 0.375),
        ([3, 4, 5, 5, 5], 5, 0.88),
    ],
)
def test_ap_of_the_paper_divides_by_the_hypothesis(
    delays: list[float], source: float, expected: float
) -> None:
    figure = average_proportion_of_hypothesis(delays, source, 999)

    assert figure == pytest.approx(expected, abs=5e-5)


def test_al_with_the_hypothesis_length_is_the_first_papers() -> None:
    # METRICS row 6: 1000 with the reference length 4, 500 with the hypothesis length 2.
    assert average_lagging([1000, 2000], 4000, 2) == 500


def test_computation_aware_figures_of_the_steady_case() -> None:
    # SimulEval 1.1.4, run as a program: elapsed 1200 2300 3600 of delays 1000 2000 3000.
    elapsed = [1200, 2300, 3600]

    assert average_lagging(elapsed, 3000, 3) == pytest.approx(1366.67, abs=0.005)
    assert length_adaptive_average_lagging(elapsed, 3000, 3) == pytest.approx(1366.67, abs=0.005)
    assert average_proportion(elapsed, 3000, 3) == pytest.approx(0.7889, abs=5e-5)
    assert differentiable_average_lagging(elapsed, 3000, 3) == pytest.approx(1366.67, abs=0.005)
    assert average_token_delay([1000, 2000, 3000], 3000, 3, elapsed=elapsed) == 1600
    assert end_offset(elapsed, 3000, 3) == 600


def test_atd_of_text_has_a_token_a_word() -> None:
    # By hand, wait-3: words 1-5 against source words 1-5: 2, 2, 2, 1, 0.
    assert average_token_delay([3, 4, 5, 5, 5], 5, 5, token_length=1) == 1.4


def test_the_plain_measures() -> None:
    delays = [600, 600, 1200, 1300]

    assert start_offset(delays, 1200, 4) == 600
    assert end_offset(delays, 1200, 4) == 100
    assert number_of_chunks(delays, 1200, 4) == 3
    assert delay_ratio(delays, 1000, 4) == 1.3


delay_lists = st.lists(st.integers(0, 5000), min_size=1, max_size=20).map(sorted)
lengths = st.integers(1, 5000)


@settings(deadline=None)
@given(delay_lists, lengths, st.integers(1, 20))
def test_laal_is_al_unless_more_is_written_than_the_reference_has(
    delays: list[int], source: int, reference: int
) -> None:
    al = average_lagging(delays, source, reference)
    laal = length_adaptive_average_lagging(delays, source, reference)

    assert laal >= al - 1e-9
    if len(delays) <= reference:
        assert laal == al


@settings(deadline=None)
@given(delay_lists, lengths, st.integers(1, 20), st.integers(2, 10))
def test_a_longer_unit_of_time_scales_the_lags_and_leaves_the_ratios(
    delays: list[int], source: int, reference: int, times: int
) -> None:
    longer = [delay * times for delay in delays]

    for lag in (average_lagging, length_adaptive_average_lagging, differentiable_average_lagging):
        assert lag(longer, source * times, reference) == pytest.approx(
            times * lag(delays, source, reference),
            abs=1e-9,  # sums of terms in thousands that may come to nothing
        )
    for ratio in (average_proportion, delay_ratio):
        assert ratio(longer, source * times, reference) == pytest.approx(
            ratio(delays, source, reference)
        )


@settings(deadline=None)
@given(delay_lists, lengths, st.integers(1, 20))
def test_dal_never_falls_when_a_word_comes_later(
    delays: list[int], source: int, reference: int
) -> None:
    later = [*delays[:-1], delays[-1] + 100]

    assert differentiable_average_lagging(later, source, reference) >= (
        differentiable_average_lagging(delays, source, reference) - 1e-9
    )


def slow_atd(delays: list[int], token: int) -> float:
    """ATD word by word as the paper tells it, by lists of lists."""
    chunks: list[tuple[list[int], int]] = []  # source token ends, number of words
    for delay in delays:
        if not chunks or delay != chunks[-1][0][-1:][0]:
            start = chunks[-1][0][-1] if chunks else 0
            ends = list(range(start + token, delay + 1, token))
            if not ends or ends[-1] != delay:
                ends.append(delay)
            chunks.append((ends, 0))
        chunks[-1] = (chunks[-1][0], chunks[-1][1] + 1)
    total = 0.0
    read: list[int] = []
    written = 0
    for ends, words in chunks:
        behind = max(0, written - len(read))
        read = read + ends
        for _ in range(words):
            written += 1
            total += ends[-1] - read[min(written - behind, len(read)) - 1]
    return total / len(delays)


@settings(deadline=None)
@given(st.lists(st.integers(1, 3000), min_size=1, max_size=15).map(sorted))
def test_atd_is_what_the_slow_way_gives(delays: list[int]) -> None:
    assert average_token_delay(delays, 1, 1) == pytest.approx(slow_atd(delays, 300))


@settings(deadline=None)
@given(delay_lists)
def test_atd_without_computing_time_is_the_same_computation_aware(delays: list[int]) -> None:
    floats = [float(delay) for delay in delays]

    assert average_token_delay(floats, 1, 1, elapsed=floats) == average_token_delay(floats, 1, 1)
