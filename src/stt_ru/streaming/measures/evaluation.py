"""What had been spoken and what was on the screen at every moment of a run."""

from __future__ import annotations

import bisect
import itertools
import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, overload

from stt_ru.errors import StreamingError, UsageError
from stt_ru.scoring.alignment import common_prefix
from stt_ru.scoring.counts import count_edits
from stt_ru.streaming.measures.alignment import (
    AlignedPair,
    Alignment,
    AlignmentTable,
    LateList,
    Step,
    changed_steps,
)
from stt_ru.streaming.queue.chunks import InputChunk, OutputChunk, Signal, TranscriptionChunk
from stt_ru.streaming.timing.transcription import Token, Transcription
from stt_ru.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stt_ru.streaming.queue.buffer import RecordingId
    from stt_ru.streaming.schedule.sender import Cutoff

ErrorStatus = Literal["correct", "deletion", "insertion", "replacement", "not_yet"]

_SLACK_S: Final = 1e-6  # rounding may put a word's end slightly after the end of the audio


@dataclass(frozen=True, slots=True)
class StreamingASRErrorPosition:
    """One word of a partial alignment, correct or not, in audio time.

    Attributes:
        start_time: Start of the word, seconds of audio. An insertion starts at the end of the
            previous reference word, or at 0.
        end_time: End of the word, seconds of audio. An insertion ends at the start of the next
            reference word, or at the end of the audio processed.
        sent_time: Audio sent by then, seconds.
        processed_time: Audio processed by then, seconds.
        status: Whether the word is correct, or which error it is.
    """

    start_time: float
    end_time: float
    sent_time: float
    processed_time: float
    status: ErrorStatus

    @property
    def center_time(self) -> float:
        """The middle of the word, seconds of audio."""
        return (self.start_time + self.end_time) / 2


class _Recognized(LateList[Token]):
    """The hypothesis words of an alignment."""

    __slots__ = ("_alignment",)

    def __init__(self, alignment: Alignment) -> None:
        self._alignment = alignment

    def _list(self) -> list[Token]:
        return [Token(pair.word) for pair in self._alignment if pair.word is not None]

    def __len__(self) -> int:
        return sum(pair.word is not None for pair in reversed(self._alignment))


@dataclass(frozen=True, slots=True)
class PartialAlignment:
    """The hypothesis at a moment aligned with the reference spoken by then.

    Attributes:
        pred: The hypothesis words, without times.
        alignment: The pairs of reference and hypothesis words.
        at_time: The moment, on the clock of the history.
        audio_seconds_sent: Audio sent by then, seconds.
        audio_seconds_processed: Audio the model had processed by its last answer, seconds.
        is_final: Whether the model had finished, so that words missing at the end are deletions.
    """

    pred: Transcription
    alignment: Alignment
    at_time: float
    audio_seconds_sent: float
    audio_seconds_processed: float
    is_final: bool = False

    def get_error_positions(self) -> list[StreamingASRErrorPosition]:
        """All words of the alignment in order, correct or not, with their place in the audio."""
        reference = self.alignment.reference
        pairs = list(self.alignment)
        n_waiting = 0
        if not self.is_final:
            n_waiting = sum(1 for _ in itertools.takewhile(_is_deletion, reversed(pairs)))
        starts: list[float | None] = []  # start of the next reference word, for each pair
        start: float | None = None
        for pair in reversed(pairs):
            starts.append(start)
            if pair.reference is not None:
                start = reference[pair.reference].start_time
        positions = []
        before = 0.0  # end of the previous reference word
        for number, (pair, next_start) in enumerate(zip(pairs, reversed(starts), strict=True)):
            status: ErrorStatus
            if pair.reference is None:
                start_s, status = before, "insertion"
                end_s = self.audio_seconds_processed if next_start is None else next_start
                end_s = max(start_s, end_s)
            else:
                token = reference[pair.reference]
                start_s, end_s = token.start_time, token.end_time
                before = end_s
                if number >= len(pairs) - n_waiting:
                    status = "not_yet"
                elif pair.hypothesis is None:
                    status = "deletion"
                else:
                    status = "correct" if pair.is_correct else "replacement"
            positions.append(
                StreamingASRErrorPosition(
                    start_s, end_s, self.audio_seconds_sent, self.audio_seconds_processed, status
                )
            )
        return positions


def _is_deletion(pair: AlignedPair) -> bool:
    return pair.hypothesis is None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamingEvaluationResults:
    """A run of one recording, with its reference and partial alignments.

    Wall times are seconds since the first chunk was put.

    Attributes:
        timed_transcription: The timed reference words.
        waveform: Samples of the recording; empty if evaluated from its history alone.
        cutoffs: The schedule.
        input_chunks: The chunks sent.
        output_chunks: The model's answers.
        partial_alignments: In order of time; the last is from when the model had finished.
    """

    timed_transcription: Transcription
    waveform: NDArray[np.floating]
    cutoffs: Sequence[Cutoff]
    input_chunks: Sequence[InputChunk]
    output_chunks: Sequence[OutputChunk]
    partial_alignments: Sequence[PartialAlignment]

    @property
    def start_timestamp(self) -> float:
        """When the first chunk was put: 0."""
        return self.input_chunks[0].put_timestamp

    @property
    def finish_timestamp(self) -> float:
        """When the last answer was put."""
        return self.output_chunks[-1].put_timestamp

    @property
    def audio_s(self) -> float:
        """Length of the audio sent, seconds."""
        return max(chunk.end_time for chunk in self.input_chunks)

    def spoken_at(self, audio_s: float) -> float:
        """Wall time at which a moment of the audio was spoken.

        The first chunk was put as soon as it had been spoken; the rest follows from the schedule.
        """
        cutoffs = self.cutoffs
        if len(cutoffs) < 2 or not cutoffs[-1].t_audio:
            return audio_s
        found = bisect.bisect_left(cutoffs, audio_s, key=lambda cutoff: cutoff.t_audio)
        position = min(max(found, 1), len(cutoffs) - 1)
        before, after = cutoffs[position - 1], cutoffs[position]
        slope = (after.t_real - before.t_real) / (after.t_audio - before.t_audio)
        return after.t_real + (audio_s - after.t_audio) * slope - cutoffs[1].t_real


def evaluate_streaming(
    timed_transcription: Transcription,
    waveform: NDArray[np.floating],
    cutoffs: Sequence[Cutoff],
    input_chunks: Sequence[InputChunk],
    output_chunks: Sequence[OutputChunk],
    partial_alignment_interval: float = 0.25,
) -> StreamingEvaluationResults:
    """Align the hypothesis with the reference spoken so far, at equal intervals of wall time.

    Args:
        timed_transcription: The timed reference words.
        waveform: Samples of the recording; kept for plots.
        cutoffs: The schedule on which it was sent.
        input_chunks: The chunks sent.
        output_chunks: The model's answers, ending with ``Signal.FINISH``.
        partial_alignment_interval: Wall time between two alignments, seconds.

    Returns:
        Results with wall times relative to the first put, on copies of the chunks. The last
        alignment is that of the final text.

    Raises:
        UsageError: If the words are not timed, or the interval is not positive.
        StreamingError: If the history is empty or its end is missing.
    """
    if not partial_alignment_interval > 0:
        raise UsageError(f"интервал {partial_alignment_interval} с: нужно число больше 0")
    if not input_chunks:
        raise StreamingError("в истории нет ни одного куска звука")
    if not output_chunks or output_chunks[-1].data is not Signal.FINISH:
        raise StreamingError("модель не закончила запись: последнего слова в истории нет")
    start = input_chunks[0].put_timestamp
    inputs = [_shifted(chunk, start) for chunk in input_chunks]
    outputs = [_shifted(chunk, start) for chunk in output_chunks]
    end = outputs[-1].put_timestamp
    n_points = max(0, math.ceil(end / partial_alignment_interval))
    times = [number * partial_alignment_interval for number in range(n_points)]
    return StreamingEvaluationResults(
        timed_transcription=timed_transcription,
        waveform=waveform,
        cutoffs=cutoffs,
        input_chunks=inputs,
        output_chunks=outputs,
        partial_alignments=get_partial_alignments(
            inputs, outputs, timed_transcription, [*times, end]
        ),
    )


@overload
def _shifted(chunk: InputChunk, start: float) -> InputChunk: ...


@overload
def _shifted(chunk: OutputChunk, start: float) -> OutputChunk: ...


def _shifted(chunk: InputChunk | OutputChunk, start: float) -> InputChunk | OutputChunk:
    return replace(
        chunk,
        put_timestamp=chunk.put_timestamp - start,
        get_timestamp=chunk.get_timestamp - start,
    )


def get_audio_seconds_sent(time: float, input_chunks: Sequence[InputChunk]) -> float:
    """Audio time sent by a moment, seconds; 0 before the first chunk."""
    return max((chunk.end_time for chunk in input_chunks if chunk.put_timestamp <= time), default=0)


def get_audio_seconds_processed(time: float, output_chunks: Sequence[OutputChunk]) -> float:
    """Audio time processed by the last answer up to a moment, seconds; 0 before the first one."""
    past = [chunk for chunk in output_chunks if chunk.put_timestamp <= time]
    return past[-1].seconds_processed if past else 0


class PartialText:
    """The words of a transcription as its chunks arrive; the cost is proportional to the change.

    Attributes:
        words: The normalised words of the full text.
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self._places: dict[RecordingId, int] = {}
        self._parts: list[list[str]] = []
        self._starts: list[int] = []

    def apply(self, part: TranscriptionChunk) -> int:
        """Apply the next part; return how many leading words are unchanged."""
        new = normalize(part.text).split()
        place = self._places.get(part.uid)
        if place is None:
            self._places[part.uid] = len(self._parts)
            self._parts.append(new)
            self._starts.append(len(self.words))
            same = len(self.words)
            self.words += new
            return same
        old = self._parts[place]
        same_in_part = common_prefix(old, new)
        if len(old) == len(new) == same_in_part:
            return len(self.words)
        start = self._starts[place]
        self._parts[place] = new
        self.words[start : start + len(old)] = new
        for later in range(place + 1, len(self._starts)):
            self._starts[later] += len(new) - len(old)
        return start + same_in_part


@dataclass(frozen=True, slots=True)
class _Job:
    """Everything needed for alignments at some moments, without audio."""

    reference: Sequence[Token]
    sent: Sequence[tuple[float, float]]  # wall time, audio time sent by then
    outputs: Sequence[OutputChunk]
    moments: Sequence[tuple[float, int]]  # wall time, number of outputs by then; both ascending


@dataclass(frozen=True, slots=True)
class _Moment:
    """One alignment, without the path."""

    at_time: float
    sent_s: float
    processed_s: float
    is_final: bool


def get_partial_alignments(
    input_history: Sequence[InputChunk],
    output_history: Sequence[OutputChunk],
    timed_transcription: Transcription,
    timestamps: Sequence[float] | NDArray[np.floating] | None = None,
    processes: int = 1,
) -> list[PartialAlignment]:
    """Align the hypothesis with the reference spoken so far, at moments of wall time.

    The reference at a moment ends where the audio sent ends; a word that is only partly sent is
    included if that gives a better alignment. After the model's end it is the whole reference.

    Args:
        input_history: The chunks sent.
        output_history: The model's answers, in order.
        timed_transcription: The timed reference words.
        timestamps: Moments on the clock of the histories, in any order; None for the moment after
            each answer except the last ``Signal.FINISH``.
        processes: Number of processes to divide the moments among. One is usually enough: each
            additional one takes about a second to start.

    Returns:
        One alignment per moment, in the order of ``timestamps``.

    Raises:
        UsageError: If the words are not timed, or ``processes`` is less than 1.
        StreamingError: If the answers are not in order of time.
    """
    if processes < 1:
        raise UsageError(f"processes={processes}: нужно число не меньше 1")
    timed_transcription.check_timed()
    outputs = list(output_history)
    moments: list[tuple[float, int]]
    if timestamps is None:
        count = len(outputs) - (bool(outputs) and outputs[-1].data is Signal.FINISH)
        moments = [(outputs[number].put_timestamp, number + 1) for number in range(count)]
        order = list(range(count))
    else:
        times = [float(time) for time in timestamps]
        order = sorted(range(len(times)), key=times.__getitem__)
        put_times = [chunk.put_timestamp for chunk in outputs]
        if any(b < a for a, b in itertools.pairwise(put_times)):
            raise StreamingError("ответы модели в истории идут не по порядку времени")
        moments = [(times[n], bisect.bisect_right(put_times, times[n])) for n in order]
    job = _Job(timed_transcription.tokens, _sent_by(input_history), outputs, moments)
    found: list[PartialAlignment] = []
    for moment, last in _aligned(job) if processes == 1 else _aligned_in_processes(job, processes):
        alignment = Alignment(last, job.reference)
        found.append(
            PartialAlignment(
                pred=Transcription(_Recognized(alignment)),
                alignment=alignment,
                at_time=moment.at_time,
                audio_seconds_sent=moment.sent_s,
                audio_seconds_processed=moment.processed_s,
                is_final=moment.is_final,
            )
        )
    in_order = [0] * len(order)
    for position, number in enumerate(order):
        in_order[number] = position
    return [found[position] for position in in_order]


def _sent_by(input_history: Sequence[InputChunk]) -> list[tuple[float, float]]:
    """Wall times at which more audio had been sent, each with the audio time sent by then."""
    sent: list[tuple[float, float]] = []
    for chunk in sorted(input_history, key=lambda chunk: chunk.put_timestamp):
        if not sent or chunk.end_time > sent[-1][1]:
            sent.append((chunk.put_timestamp, chunk.end_time))
    return sent


def _aligned(job: _Job) -> Iterator[tuple[_Moment, Step | None]]:
    """One path per moment; if the rows proved too narrow, all paths again with full rows."""
    reference = [token.value for token in job.reference]
    table = AlignmentTable(reference)
    found = list(_aligned_with(table, job))
    if found and job.moments:
        # The last alignment must have as many errors as scoring counts; see BEHIND_WORDS.
        _, last = found[-1]
        pairs = list(Alignment(last))
        hypothesis = [pair.word for pair in pairs if pair.word is not None]
        spoken = [reference[pair.reference] for pair in pairs if pair.reference is not None]
        errors = sum(not pair.is_correct for pair in pairs)
        if errors != count_edits(spoken, hypothesis).errors:
            whole = len(reference) + len(hypothesis)
            wide = AlignmentTable(reference, behind=whole, ahead=whole)
            return iter(list(_aligned_with(wide, job)))
    return iter(found)


def _aligned_with(table: AlignmentTable, job: _Job) -> Iterator[tuple[_Moment, Step | None]]:
    ends = [token.end_time for token in job.reference]
    text = PartialText()
    known = said = sent_position = 0
    sent_s = 0.0
    for at_time, count in job.moments:
        same = len(text.words)
        while known < count:
            data = job.outputs[known].data
            if isinstance(data, TranscriptionChunk):
                same = min(same, text.apply(data))
            known += 1
        if same < len(text.words) or same < len(table.hypothesis):
            table.replace_tail(same, text.words[same:])
        while sent_position < len(job.sent) and job.sent[sent_position][0] <= at_time:
            sent_s = job.sent[sent_position][1]
            sent_position += 1
        is_final = count > 0 and job.outputs[count - 1].data is Signal.FINISH
        while said < len(ends) and (is_final or ends[said] <= sent_s + _SLACK_S):
            said += 1
        half_said = said < len(ends) and job.reference[said].start_time < sent_s
        processed_s = job.outputs[count - 1].seconds_processed if count else 0.0
        path = table.align(said, half_said=half_said)
        yield _Moment(at_time, sent_s, processed_s, is_final), path.last


def _aligned_in_processes(job: _Job, processes: int) -> Iterator[tuple[_Moment, Step | None]]:
    size = max(1, math.ceil(len(job.moments) / processes))
    jobs = [
        replace(job, moments=job.moments[start : start + size])
        for start in range(0, len(job.moments), size)
    ]
    # Spawned, not forked: this process may have threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        for part in pool.map(_differences, jobs):
            steps: list[Step] = []
            for moment, keep, entered in part:
                del steps[keep:]
                for pair in entered:
                    steps.append(Step(steps[-1] if steps else None, pair))
                yield moment, steps[-1] if steps else None


def _differences(job: _Job) -> list[tuple[_Moment, int, list[AlignedPair]]]:
    """For each moment, how many pairs of the previous alignment are kept, and the new pairs."""
    found = []
    before: Step | None = None
    for moment, last in _aligned(job):
        left, entered = changed_steps(before, last)
        depth = 0 if before is None else before.depth
        found.append((moment, depth - len(left), entered[::-1]))
        before = last
    return found
