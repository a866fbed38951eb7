"""Latency and stability of a streamed recording.

docs/metrics-streaming.md defines each figure with its anchors, units, source and an example.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from stt_ru.scoring.alignment import common_prefix
from stt_ru.streaming.measures.alignment import Step, changed_steps
from stt_ru.streaming.measures.evaluation import PartialText, get_partial_alignments
from stt_ru.streaming.queue.chunks import Signal, TranscriptionChunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stt_ru.streaming.measures.evaluation import PartialAlignment, StreamingEvaluationResults
    from stt_ru.streaming.queue.chunks import OutputChunk

SAME_MOMENT_S: Final = 0.001
"""Answers closer together than this are one change of the text: nobody sees the state between."""


@dataclass(frozen=True, slots=True)
class WordLatency:
    """When a word that is correct in the final text appeared on the screen.

    Attributes:
        position: Position of the reference word.
        first_s: From the end of the word to the first moment at which it was correct, seconds;
            negative if it was guessed before it ended.
        final_s: From the end of the word to the moment from which it stayed correct, seconds.
        is_interpolated: Whether the end of the word is an estimate.
    """

    position: int
    first_s: float
    final_s: float
    is_interpolated: bool = False


@dataclass(frozen=True, slots=True)
class EmittedWord:
    """When a word of the final text became final.

    Attributes:
        at_s: Wall time since the speech began, seconds.
        sent_s: Audio sent by then, seconds.
    """

    at_s: float
    sent_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFigures:
    """Figures of one recording; figures of a corpus are their sums and unions.

    Attributes:
        latencies: Latencies of the words that are correct in the final text, in order.
        first_text_s: From the start of the speech to the first non-empty text, seconds; None if
            there was none.
        final_delay_s: From the end of the last reference word to the model's end, seconds; None if
            the reference is empty.
        unstable_words: Words that were shown and then revised, moved or withdrawn.
        shown_words: Words of the final text.
        revisions: Changes of the text that revised a word.
        audio_s: Length of the recording, seconds.
        emitted: When each word of the final text became final.
    """

    latencies: Sequence[WordLatency] = ()
    first_text_s: float | None = None
    final_delay_s: float | None = None
    unstable_words: int = 0
    shown_words: int = 0
    revisions: int = 0
    audio_s: float = 0.0
    emitted: Sequence[EmittedWord] = field(default=(), repr=False)

    @property
    def unstable_rate(self) -> float | None:
        """Unstable words divided by words of the final text; None if it has no words."""
        return self.unstable_words / self.shown_words if self.shown_words else None

    @property
    def revisions_per_minute(self) -> float | None:
        """Revisions per minute of audio; None if there is no audio."""
        return 60 * self.revisions / self.audio_s if self.audio_s else None


@dataclass(frozen=True, slots=True)
class Spread:
    """Percentiles and mean of a set of values; all None if there are no values.

    Attributes:
        count: Number of values.
        p50: Median. Percentiles are interpolated linearly between values.
        p90: 90th percentile.
        p95: 95th percentile.
        mean: Arithmetic mean.
    """

    count: int
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    mean: float | None = None


def spread(values: Iterable[float]) -> Spread:
    """Percentiles of the values.

    Example:
        >>> spread([0.2, 1.0, 0.5]).p50
        0.5
        >>> spread([])
        Spread(count=0, p50=None, p90=None, p95=None, mean=None)
    """
    array = np.fromiter(values, np.float64)
    if not len(array):
        return Spread(0)
    p50, p90, p95 = np.percentile(array, [50, 90, 95])
    return Spread(len(array), float(p50), float(p90), float(p95), float(array.mean()))


def stream_figures(results: StreamingEvaluationResults) -> StreamFigures:
    """Figures of one run, from every change of the text rather than from the grid of the plots."""
    outputs = results.output_chunks
    changes = changes_of_text(outputs)
    moments = [outputs[number].put_timestamp for number in changes]
    alignments = get_partial_alignments(
        results.input_chunks, outputs, results.timed_transcription, moments
    )
    reference = results.timed_transcription.tokens
    origin = results.spoken_at(0.0)
    stability = _stability(outputs, changes, alignments, origin)
    ends = outputs[-1].put_timestamp
    return StreamFigures(
        latencies=_latencies(results, alignments),
        first_text_s=stability.first_text_s,
        final_delay_s=ends - results.spoken_at(reference[-1].end_time) if reference else None,
        unstable_words=stability.unstable_words,
        shown_words=len(stability.emitted),
        revisions=stability.revisions,
        audio_s=results.audio_s,
        emitted=stability.emitted,
    )


def changes_of_text(outputs: Sequence[OutputChunk]) -> list[int]:
    """Positions of the answers that complete a visible change: the last answer of each moment."""
    positions = list(range(len(outputs)))
    return [
        number
        for number in positions
        if number + 1 == len(outputs)
        or outputs[number + 1].put_timestamp - outputs[number].put_timestamp > SAME_MOMENT_S
        or outputs[number + 1].data is Signal.FINISH
    ]


def _latencies(
    results: StreamingEvaluationResults, alignments: Sequence[PartialAlignment]
) -> list[WordLatency]:
    first: dict[int, float] = {}
    since: dict[int, float] = {}  # words that are correct now, and since when
    before: Step | None = None
    for alignment in alignments:
        last = alignment.alignment.last
        left, entered = changed_steps(before, last)
        were = {pair.reference for pair in left if pair.is_correct}
        are = {pair.reference for pair in entered if pair.is_correct}
        for position in were - are:
            if position is not None:
                del since[position]
        for position in are - were:
            if position is not None:
                since[position] = alignment.at_time
                first.setdefault(position, alignment.at_time)
        before = last
    latencies = []
    for position in sorted(since):
        token = results.timed_transcription.tokens[position]
        ended = results.spoken_at(token.end_time)
        latencies.append(
            WordLatency(
                position,
                first[position] - ended,
                since[position] - ended,
                token.is_interpolated,
            )
        )
    return latencies


@dataclass(frozen=True, slots=True)
class _Stability:
    first_text_s: float | None
    unstable_words: int
    revisions: int
    emitted: list[EmittedWord]


def _stability(
    outputs: Sequence[OutputChunk],
    changes: Sequence[int],
    alignments: Sequence[PartialAlignment],
    origin: float,
) -> _Stability:
    """Prefix form: words of a partial beyond its common prefix with the next are unstable."""
    text = PartialText()
    shown: list[str] = []
    emitted: list[EmittedWord] = []
    first_text_s: float | None = None
    unstable = revisions = 0
    known = 0
    for number, alignment in zip(changes, alignments, strict=True):
        same = len(shown)  # leading words known to be unchanged
        for chunk in itertools.islice(outputs, known, number + 1):
            if isinstance(chunk.data, TranscriptionChunk):
                same = min(same, text.apply(chunk.data))
        known = number + 1
        old, new = shown[same:], text.words[same:]
        if old == new:
            continue
        same_in_tail = common_prefix(old, new)
        revised = len(old) - same_in_tail
        unstable += revised
        revisions += revised > 0
        at_s = alignment.at_time - origin
        shown[same:] = new
        del emitted[same + same_in_tail :]
        word = EmittedWord(at_s, alignment.audio_seconds_sent)
        emitted += [word] * (len(shown) - len(emitted))
        if first_text_s is None and shown:
            first_text_s = at_s
    return _Stability(first_text_s, unstable, revisions, emitted)
