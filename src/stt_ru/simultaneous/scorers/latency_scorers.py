"""Latency measures by name, over many instances; `register_latency_scorer` adds more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from stt_ru.scoring import latency
from stt_ru.simultaneous.core.instance import playing_starts
from stt_ru.simultaneous.core.record import FAILED
from stt_ru.simultaneous.scorers.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stt_ru.simultaneous.core.record import InstanceRecord


class LatencyScorer:
    """A latency measure over instances: their unweighted mean.

    Args:
        computation_aware: Take ``elapsed`` for ``delays``.
        use_ref_len: Take the reference length where a formula has Y; False for the hypothesis
            length.

    Attributes:
        compute: The formula of one instance.
        needs_reference: Whether the formula has Y.
        needs_words: Whether it has no meaning for speech that is written.
        is_ratio: Whether the figure has no unit.
    """

    compute: ClassVar[Callable[..., float]]
    needs_reference: ClassVar[bool] = False
    needs_words: ClassVar[bool] = False
    is_ratio: ClassVar[bool] = False

    def __init__(self, computation_aware: bool = False, use_ref_len: bool = True) -> None:
        self.computation_aware = computation_aware
        self.use_ref_len = use_ref_len

    def why_not(self, instance: InstanceRecord) -> str | None:
        """Why the instance has no such figure, a Russian phrase; None when it has."""
        if reason := missing_for_latency(instance, computation_aware=self.computation_aware):
            return reason
        if self.needs_words and instance.target_type == "speech":
            return "выход – речь, у которой нет слов с задержкой"
        if self.needs_reference and self.use_ref_len and not instance.reference_length:
            return "нет эталона"
        return None

    def score_instance(self, instance: InstanceRecord) -> float:
        """The figure of one instance that `why_not` has nothing against."""
        delays = instance.elapsed if self.computation_aware else instance.delays
        target_length = (
            instance.reference_length if self.use_ref_len else instance.prediction_length
        )
        return type(self).compute(delays, instance.source_length, target_length)

    def __call__(self, instances: Mapping[int, InstanceRecord]) -> float | None:
        """The mean over those that have the figure; None when none has."""
        figures = [
            self.score_instance(instance)
            for instance in instances.values()
            if self.why_not(instance) is None
        ]
        return sum(figures) / len(figures) if figures else None


def missing_for_latency(instance: InstanceRecord, *, computation_aware: bool) -> str | None:
    """What any latency measure lacks in the instance, a Russian phrase; None when nothing."""
    if instance.error is not None:
        return FAILED
    if not instance.delays:
        return "нет задержек: ничего не написано"
    if not instance.source_length:
        return "пустой источник"
    if computation_aware:
        if instance.source_type == "text":
            return "у текстового источника нет времени"
        if len(instance.elapsed) != len(instance.delays):
            return "время вычислений не записано"
    return None


class ALScorer(LatencyScorer):
    """Average Lagging."""

    compute = staticmethod(latency.average_lagging)
    needs_reference = needs_words = True


class LAALScorer(LatencyScorer):
    """Length-Adaptive Average Lagging."""

    compute = staticmethod(latency.length_adaptive_average_lagging)
    needs_reference = needs_words = True


class APScorer(LatencyScorer):
    """Average Proportion by the reference length."""

    compute = staticmethod(latency.average_proportion)
    needs_reference = needs_words = is_ratio = True


class APHypothesisScorer(LatencyScorer):
    """Average Proportion by the hypothesis length, as in its paper."""

    compute = staticmethod(latency.average_proportion_of_hypothesis)
    needs_words = is_ratio = True


class DALScorer(LatencyScorer):
    """Differentiable Average Lagging."""

    compute = staticmethod(latency.differentiable_average_lagging)
    needs_words = True


class ATDScorer(LatencyScorer):
    """Average Token Delay; a token is 300 ms of speech or a word of text."""

    compute = staticmethod(latency.average_token_delay)
    needs_words = True

    def score_instance(self, instance: InstanceRecord) -> float:
        """The figure of one instance that `why_not` has nothing against."""
        return latency.average_token_delay(
            instance.delays,
            instance.source_length,
            instance.reference_length,
            elapsed=instance.elapsed if self.computation_aware else None,
            token_length=latency.ATD_TOKEN_MS if instance.source_type == "speech" else 1,
        )


class StartOffsetScorer(LatencyScorer):
    """When the output begins."""

    compute = staticmethod(latency.start_offset)


class EndOffsetScorer(LatencyScorer):
    """When the output ends, after the source; of speech, when it has sounded to its end."""

    compute = staticmethod(latency.end_offset)

    def score_instance(self, instance: InstanceRecord) -> float:
        """The figure of one instance that `why_not` has nothing against."""
        if not instance.durations:
            return super().score_instance(instance)
        delays = instance.elapsed if self.computation_aware else instance.delays
        starts = playing_starts(delays, instance.durations)
        return starts[-1] + instance.durations[-1] - instance.source_length


class NumChunksScorer(LatencyScorer):
    """How many times something was written."""

    compute = staticmethod(latency.number_of_chunks)
    is_ratio = True

    def score_instance(self, instance: InstanceRecord) -> float:
        """The number of writes, which computing time does not change."""
        if instance.durations is not None:
            return float(len(instance.durations))
        return latency.number_of_chunks(instance.delays, instance.source_length, 0)


class RTFScorer(LatencyScorer):
    """The last delay over the source length."""

    compute = staticmethod(latency.delay_ratio)
    is_ratio = True


LATENCY_SCORERS: Registry[type[Any]] = Registry(
    "показателя задержки",
    {
        "AL": ALScorer,
        "LAAL": LAALScorer,
        "AP": APScorer,
        "AP_HYP": APHypothesisScorer,
        "DAL": DALScorer,
        "ATD": ATDScorer,
        "StartOffset": StartOffsetScorer,
        "EndOffset": EndOffsetScorer,
        "NumChunks": NumChunksScorer,
        "RTF": RTFScorer,
    },
)
"""Latency measures by name."""

register_latency_scorer = LATENCY_SCORERS.register
"""Decorate a class with ``__call__(instances) -> float`` to be a latency measure by name."""

__all__ = [
    "LATENCY_SCORERS",
    "ALScorer",
    "APHypothesisScorer",
    "APScorer",
    "ATDScorer",
    "DALScorer",
    "EndOffsetScorer",
    "LAALScorer",
    "LatencyScorer",
    "NumChunksScorer",
    "RTFScorer",
    "StartOffsetScorer",
    "missing_for_latency",
    "register_latency_scorer",
]
