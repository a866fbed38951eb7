"""All measures asked for, over all instances: which scored what, and why the rest could not."""

from __future__ import annotations

import inspect
import logging
import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from stt_ru.defaults import TOKENIZER
from stt_ru.errors import USERS_FAILURES, SttRuError, UsageError, sentence_of
from stt_ru.simultaneous.core.record import FAILED
from stt_ru.simultaneous.scorers.latency_scorers import (
    LATENCY_SCORERS,
    LatencyScorer,
    missing_for_latency,
)
from stt_ru.simultaneous.scorers.quality_scorers import QUALITY_SCORERS, ASRSacreBLEUScorer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from stt_ru.recognition.recognizer import Recognizer
    from stt_ru.simultaneous.core.record import InstanceRecord
    from stt_ru.simultaneous.core.segments import DataType

COMPUTATION_AWARE: Final = "_CA"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricScore:
    """One measure of the whole run.

    Attributes:
        name: As asked for.
        value: The figure; None where nothing could be scored.
        unit: ``words`` or ``ms`` of the source, ``rate`` for a fraction, empty for none.
        scored: Instances it counts.
        total: Instances there are.
        skipped: Why the others do not count, by index, Russian phrases.
        by_instance: The figure of each instance, where it has one.
        signature: How it is made; empty for nothing to say.
        error: Why the scorer failed, a Russian sentence; None when it did not.
    """

    name: str
    value: float | None
    unit: str = ""
    scored: int
    total: int
    skipped: Mapping[int, str] = field(default_factory=dict)
    by_instance: Mapping[int, float] = field(default_factory=dict)
    signature: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """All measures of a run, in the order they were asked for."""

    quality: Sequence[MetricScore] = ()
    latency: Sequence[MetricScore] = ()

    @property
    def all(self) -> list[MetricScore]:
        """Quality, then latency."""
        return [*self.quality, *self.latency]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerOptions:
    """How scorers are made.

    Attributes:
        tokenizer: sacrebleu's tokeniser.
        use_ref_len: Whether AL, LAAL and AP take the reference length.
        computation_aware: Whether each latency measure comes with its ``_CA``.
        recognizer: Makes what hears speech that was written; None for the default.
        folder: Where the WAV files of such speech are named from.
        args: The whole command line, for a user's scorer with ``from_args``.
    """

    tokenizer: str = TOKENIZER
    use_ref_len: bool = True
    computation_aware: bool = False
    recognizer: Callable[[], Recognizer] | None = None
    folder: str = "."
    args: Any = None


def make_quality_scorers(names: Iterable[str], options: ScorerOptions) -> dict[str, Any]:
    """The quality measures of these names.

    Raises:
        UsageError: If a name is unknown.
        MissingExtraError: If one needs a package that is not installed.
    """
    scorers: dict[str, Any] = {}
    for name in dict.fromkeys(names):
        kind = QUALITY_SCORERS.find(name)
        if QUALITY_SCORERS.is_replaced(name):
            scorers[name] = _make_users(kind, name, options)
        elif kind is ASRSacreBLEUScorer:
            recognizer = options.recognizer() if options.recognizer else None
            scorers[name] = kind(options.tokenizer, recognizer, options.folder)
        elif "tokenizer" in inspect.signature(kind).parameters:
            scorers[name] = kind(options.tokenizer)
        else:
            scorers[name] = kind()
    return scorers


def make_latency_scorers(names: Iterable[str], options: ScorerOptions) -> dict[str, Any]:
    """The latency measures of these names; ``AL_CA`` is AL, computation-aware.

    Raises:
        UsageError: If a name is unknown.
    """
    wanted: dict[str, None] = {}
    for name in names:
        wanted[name] = None
        if options.computation_aware and not name.endswith(COMPUTATION_AWARE):
            wanted[name + COMPUTATION_AWARE] = None
    scorers: dict[str, Any] = {}
    for name in wanted:
        base = name
        if name not in LATENCY_SCORERS.names():
            base = name.removesuffix(COMPUTATION_AWARE)
        kind = LATENCY_SCORERS.find(base)
        is_aware = base != name
        if LATENCY_SCORERS.is_replaced(base):
            scorer = _make_users(kind, base, options, is_aware=is_aware)
            is_aware_itself = isinstance(scorer, LatencyScorer) and _is_ours(scorer)
            if is_aware and not is_aware_itself:
                scorer = _WithElapsed(scorer)
            scorers[name] = scorer
        else:
            scorers[name] = kind(computation_aware=is_aware, use_ref_len=options.use_ref_len)
    return scorers


def take_notices() -> list[str]:
    """Which built-in measures a user's replace since the last call, sentences in Russian."""
    return [*QUALITY_SCORERS.take_notices(), *LATENCY_SCORERS.take_notices()]


class _WithElapsed:
    """A user's latency measure that knows delays only, given elapsed times for them."""

    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer

    def __call__(self, instances: Mapping[int, InstanceRecord]) -> Any:
        return self.scorer(
            {
                index: replace(instance, delays=instance.elapsed)
                for index, instance in instances.items()
            }
        )


def _make_users(kind: Any, name: str, options: ScorerOptions, *, is_aware: bool = False) -> Any:
    try:
        if hasattr(kind, "from_args"):
            return kind.from_args(options.args)
        if issubclass(kind, LatencyScorer):
            return kind(computation_aware=is_aware, use_ref_len=options.use_ref_len)
        return kind()
    except SttRuError:
        raise
    except USERS_FAILURES as error:
        raise UsageError(f"показатель {name} не создан: {sentence_of(error)}") from error


def score_instances(
    instances: Mapping[int, InstanceRecord],
    quality_scorers: Mapping[str, Any],
    latency_scorers: Mapping[str, Any],
    *,
    source_type: DataType,
) -> Scores:
    """Score all instances by all measures; a scorer that fails is its measure's error.

    Args:
        instances: By index.
        quality_scorers: Called with the instances that count, by name of the measure.
        latency_scorers: The same.
        source_type: Decides the unit of latency.
    """
    unit = "ms" if source_type == "speech" else "words"
    return Scores(
        quality=[
            _score(name, scorer, instances, "rate" if getattr(scorer, "is_rate", False) else "")
            for name, scorer in quality_scorers.items()
        ],
        latency=[
            _score(name, scorer, instances, _latency_unit(scorer, unit), is_latency=True)
            for name, scorer in latency_scorers.items()
        ],
    )


def _latency_unit(scorer: Any, unit: str) -> str:
    if isinstance(scorer, LatencyScorer) and not scorer.is_ratio:
        return unit
    return ""


def _score(
    name: str,
    scorer: Any,
    instances: Mapping[int, InstanceRecord],
    unit: str,
    *,
    is_latency: bool = False,
) -> MetricScore:
    skipped: dict[int, str] = {}
    counted: dict[int, InstanceRecord] = {}
    for index, instance in instances.items():
        reason = _why_not(scorer, instance, is_latency=is_latency)
        if reason is None:
            counted[index] = instance
        else:
            skipped[index] = reason
    by_instance: dict[int, float] = {}
    value: float | None = None
    error = None
    try:
        if counted:
            value = _checked(scorer(counted), name)
            if is_latency or hasattr(scorer, "score_instance"):
                by_instance = _figures(name, scorer, counted)
    except SttRuError as failure:
        error, value = f"{name}: {failure}", None
    except USERS_FAILURES as failure:
        logger.debug("scorer %s failed", name, exc_info=True)
        error, value = f"{name}: {type(failure).__name__}: {failure}", None
    return MetricScore(
        name=name,
        value=value,
        unit=unit,
        scored=0 if error else len(counted),
        total=len(instances),
        skipped=skipped,
        by_instance=by_instance,
        signature=str(getattr(scorer, "signature", "") or ""),
        error=error,
    )


def _why_not(scorer: Any, instance: InstanceRecord, *, is_latency: bool) -> str | None:
    if hasattr(scorer, "why_not"):
        reason: str | None = scorer.why_not(instance)
        return reason
    if is_latency:
        return missing_for_latency(instance, computation_aware=isinstance(scorer, _WithElapsed))
    if instance.error is not None:
        return FAILED
    return "нет эталона" if instance.reference is None else None


def _figures(name: str, scorer: Any, instances: Mapping[int, InstanceRecord]) -> dict[int, float]:
    """The figure of each instance; a user's measure may have none of one instance alone."""
    figures: dict[int, float] = {}
    is_ours = hasattr(scorer, "score_instance") and _is_ours(scorer)
    for index, instance in instances.items():
        if is_ours:
            figure = _checked(scorer.score_instance(instance), name)
        else:
            try:
                figure = _checked(scorer({index: instance}), name)
            except USERS_FAILURES as error:  # the figure of the whole decides
                logger.debug("scorer %s has no figure of instance %d: %r", name, index, error)
                continue
        if figure is not None:
            figures[index] = figure
    return figures


def _is_ours(scorer: Any) -> bool:
    """Whether ``__call__`` is the mean of ``score_instance``, not user-supplied."""
    call = type(scorer).__call__
    return call is LatencyScorer.__call__ or call.__module__.startswith("stt_ru.simultaneous.")


def _checked(figure: Any, name: str) -> float | None:
    """The figure as a finite float; None for none.

    Raises:
        SttRuError: If it is something else, or infinite, or not a number.
    """
    if figure is None:
        return None
    try:
        value = float(figure)
    except (TypeError, ValueError) as error:
        raise SttRuError(f"показатель вернул {figure!r}, а нужно число") from error
    if not math.isfinite(value):
        raise SttRuError(f"показатель вернул {value}, а нужно конечное число")
    return value


def skipped_sentences(score: MetricScore, *, most_names: int = 10) -> list[str]:
    """Which instances a measure does not count and why, a Russian sentence a reason."""
    sentences = []
    for reason, times in Counter(score.skipped.values()).items():
        indices = [str(index) for index, why in score.skipped.items() if why == reason]
        more = f" и ещё {times - most_names}" if times > most_names else ""
        sentences.append(
            f"{score.name}: не оценено {times} из {score.total} ({reason}): примеры "
            f"{', '.join(indices[:most_names])}{more}"
        )
    return sentences
