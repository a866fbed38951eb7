r"""How late an output is: AL, LAAL, AP, DAL, ATD and plainer measures of one instance's delays.

Each function takes ``delays`` D_1 ≤ … ≤ D_H (for each unit written, how much of the source had been
read), ``source_length`` X in the same unit (words of text, ms of speech) and ``target_length`` Y
(words of the reference), and is a figure in that unit unless it says otherwise. Computation-aware
figures are the same functions of ``elapsed`` instead of ``delays``, but for ATD.

docs/metrics-latency.md works each of them out on examples and says where SimulEval departs.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

ATD_TOKEN_MS: Final = 300.0
"""Length of the pieces ATD cuts speech into, ms (Kano et al. 2022)."""


def average_lagging(delays: Sequence[float], source_length: float, target_length: float) -> float:
    """Average Lagging: by how much the output is behind an ideal one that keeps pace, on average.

    Ma et al. 2019 (STACL, arXiv 1810.08398), with the reference length in the pace r = Y / X, as
    Ma et al. 2020 (SimulEval, arXiv 2007.16193, eq. 8) have it for published results; pass the
    hypothesis length H as ``target_length`` for the pace of the first paper.

        AL = 1/τ · Σ_{t=1..τ} [D_t − (t − 1) / r],  τ = the first t with D_t ≥ X, else H

    When the first unit already comes after the source, AL = D_1. May be negative when more is
    written than the reference has.

    Args:
        delays: At least one.
        source_length: X > 0.
        target_length: Y > 0.

    Example:
        >>> average_lagging([3, 4, 5, 5, 5], 5, 5)  # wait-3
        3.0
    """
    if delays[0] > source_length:
        return float(delays[0])
    lag = 0.0
    counted = 0
    for t, delay in enumerate(delays):
        lag += delay - t * source_length / target_length
        counted += 1
        if delay >= source_length:
            break
    return lag / counted


def length_adaptive_average_lagging(
    delays: Sequence[float], source_length: float, target_length: float
) -> float:
    """Length-Adaptive Average Lagging: AL whose pace does not reward writing too much.

    Polák et al. 2022 (arXiv 2204.06028), Papi et al. 2022 (arXiv 2206.05807): AL with
    r = max(H, Y) / X.

    Example:
        >>> length_adaptive_average_lagging([500, 1000, 1500, 2000, 2500, 3000], 3000, 3)
        500.0
    """
    return average_lagging(delays, source_length, max(len(delays), target_length))


def average_proportion(
    delays: Sequence[float], source_length: float, target_length: float
) -> float:
    """Average Proportion: the share of the source that is read when a unit is written.

        AP = Σ_t D_t / (X · Y)

    Cho & Esipova 2016 (arXiv 1606.02012) divide by the hypothesis length H, and the result is in
    (0, 1]: `average_proportion_of_hypothesis`. Published systems report it by the reference
    length Y, as SimulEval does, and it may pass 1. No unit.

    Example:
        >>> round(average_proportion([1, 2, 3], 3, 3), 4)
        0.6667
    """
    return sum(delays) / (source_length * target_length)


def average_proportion_of_hypothesis(
    delays: Sequence[float], source_length: float, target_length: float
) -> float:
    """Average Proportion as its paper has it, by the hypothesis length; Y does not matter.

        AP = Σ_t D_t / (X · H)

    Example:
        >>> average_proportion_of_hypothesis([1000, 2000], 4000, 4)
        0.375
    """
    return average_proportion(delays, source_length, len(delays))


def differentiable_average_lagging(
    delays: Sequence[float], source_length: float, target_length: float
) -> float:
    """Differentiable Average Lagging: AL over all units, each taking its time to be written.

    Cherry & Foster 2019 (arXiv 1906.00048), Arivazhagan et al. 2019 (arXiv 1906.05218). With
    γ = H / X (always the hypothesis length; Y does not matter):

        D'_1 = D_1,  D'_t = max(D_t, D'_{t−1} + 1/γ),  DAL = 1/H · Σ_t [D'_t − (t − 1) / γ]

    Example:
        >>> differentiable_average_lagging([600, 600, 1200, 1200], 1200, 4)
        600.0
    """
    step = source_length / len(delays)
    lag = 0.0
    shown_at = delays[0]
    for t, delay in enumerate(delays):
        if t:
            shown_at = max(delay, shown_at + step)
        lag += shown_at - t * step
    return lag / len(delays)


def average_token_delay(
    delays: Sequence[float],
    source_length: float,
    target_length: float,
    *,
    elapsed: Sequence[float] | None = None,
    token_length: float = ATD_TOKEN_MS,
) -> float:
    """Average Token Delay: from the end of a piece of source to the end of the unit it became.

    Kano et al. 2022 (arXiv 2211.13173). The source read before each write is cut into tokens of
    ``token_length``, the rest a shorter one; words written take no time. Word t of a chunk c (words
    of one delay) belongs to source token

        s(t) = t − max(0, words written before c − tokens read before c), at most the tokens read

    and ATD = 1/H · Σ_t [T(word t) − T(token s(t))], T the time at which each ends. X and Y do not
    matter.

    Args:
        delays: At least one, never falling.
        source_length: Not used.
        target_length: Not used.
        elapsed: Computation-aware: a word ends when the source it needs has been read and the word
            before is done, plus the wall time spent on it:
            T_t = max(D_t, T_{t−1}) + (elapsed_t − D_t) − (elapsed_{t−1} − D_{t−1}).
        token_length: Ms of a token of speech; 1 for text, whose tokens are its words.

    Example:
        >>> average_token_delay([1000, 2000, 3000], 3000, 3)
        1400.0
    """
    ends = _write_ends(delays, elapsed)
    token_ends: list[float] = []
    read = 0.0
    total = 0.0
    behind = 0
    for t, delay in enumerate(delays):
        if delay > read:
            behind = max(0, t - len(token_ends))
            token_ends += _token_ends(read, delay, token_length)
            read = delay
        number = min(t + 1 - behind, len(token_ends))
        total += ends[t] - (token_ends[number - 1] if number > 0 else 0.0)
    return total / len(delays)


def _write_ends(delays: Sequence[float], elapsed: Sequence[float] | None) -> Sequence[float]:
    if elapsed is None:
        return delays
    ends: list[float] = []
    done_at = spent_before = 0.0
    for delay, at in zip(delays, elapsed, strict=True):
        spent = at - delay
        done_at = max(delay, done_at) + spent - spent_before
        spent_before = spent
        ends.append(done_at)
    return ends


def _token_ends(start: float, end: float, length: float) -> list[float]:
    """Where the tokens of one read piece of source end."""
    whole = int((end - start) / length + 1e-9)  # a sum of 10 ms pieces may miss by a rounding
    ends = [start + length * (k + 1) for k in range(whole)]
    if end - (ends[-1] if ends else start) > 1e-6 * length:
        ends.append(end)
    elif ends:
        ends[-1] = end
    return ends


def start_offset(delays: Sequence[float], source_length: float, target_length: float) -> float:
    """How much of the source is read when the first unit is written: D_1.

    Example:
        >>> start_offset([500, 900], 1000, 2)
        500.0
    """
    return float(delays[0])


def end_offset(delays: Sequence[float], source_length: float, target_length: float) -> float:
    """How long after the end of the source the last unit is written: D_H − X; negative if before.

    Example:
        >>> end_offset([500, 900], 1000, 2)
        -100.0
    """
    return float(delays[-1] - source_length)


def number_of_chunks(delays: Sequence[float], source_length: float, target_length: float) -> float:
    """How many times something was written: units of one delay are one chunk. No unit.

    SimulEval's NumChunks is the number of words.

    Example:
        >>> number_of_chunks([600, 600, 1200, 1200], 1200, 4)
        2.0
    """
    return float(1 + sum(after != before for before, after in pairwise(delays)))


def delay_ratio(delays: Sequence[float], source_length: float, target_length: float) -> float:
    """RTF as SimulEval's documentation defines it: D_H / X, the last delay over the source length.

    1 when the last unit is written at the end of the source. With ``elapsed`` for the delays it is
    the time until all is written over the length of the audio. It is not the real-time factor of
    `stt-ru evaluate`, which is processing time over audio time. No unit.

    Example:
        >>> delay_ratio([3, 4, 5, 5], 5, 4)
        1.0
    """
    return delays[-1] / source_length
