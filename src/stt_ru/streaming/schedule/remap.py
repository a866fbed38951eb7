"""Remapping a run in which all audio was sent at once to the times it would have had on schedule.

Pure functions that work on copies.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from stt_ru.errors import StreamingError
from stt_ru.streaming.queue.chunks import InputChunk, OutputChunk, Signal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stt_ru.streaming.schedule.sender import Cutoff


def remap_time(
    cutoffs: Sequence[Cutoff],
    input_chunks: Sequence[InputChunk],
    output_chunks: Sequence[OutputChunk],
) -> tuple[list[InputChunk], list[OutputChunk]]:
    """The history of a run as it would have been if the audio had been sent on schedule.

    The model's thread does one thing after another: it takes a chunk, works, puts an answer, works,
    takes the next chunk. The time between two such events is work and is kept; a chunk is taken
    when the work before it is done, but not before it would have been sent. So a model that keeps
    up waits for audio, and one that does not falls behind, just as in real time.

    Args:
        cutoffs: The schedule, starting with the beginning of the recording.
        input_chunks: Chunks sent all at once and taken in order, with or without the final signal.
        output_chunks: The answers of the single-threaded model, in order.

    Returns:
        Copies with new timestamps; the schedule begins at the first ``put_timestamp`` of the run.
        The reader's lag behind the model is kept.

    Raises:
        StreamingError: If chunks and cutoffs do not match, or a chunk was never taken.
    """
    moments = [cutoff.t_real for cutoff in cutoffs[1:]]
    n_audio = sum(chunk.data is not Signal.FINISH for chunk in input_chunks)
    if n_audio != len(moments):
        raise StreamingError(f"кусков звука {n_audio}, а в расписании {len(moments)}")
    if not input_chunks:
        return [], [replace(chunk) for chunk in output_chunks]
    started = input_chunks[0].put_timestamp
    end = moments[-1] if moments else 0.0
    sent = [
        started + (end if number >= len(moments) else moments[number])
        for number in range(len(input_chunks))
    ]
    new_inputs = [
        replace(chunk, put_timestamp=put_s) for chunk, put_s in zip(input_chunks, sent, strict=True)
    ]
    new_outputs = [replace(chunk) for chunk in output_chunks]
    before = now = math.nan
    for moment, is_output, number in _events(input_chunks, output_chunks):
        now = started if math.isnan(before) else now + (moment - before)
        before = moment
        if not is_output:
            now = max(now, sent[number])
            new_inputs[number].get_timestamp = now
            continue
        lag_s = output_chunks[number].get_timestamp - moment
        new_outputs[number].put_timestamp = now
        new_outputs[number].get_timestamp = now + lag_s
    return new_inputs, new_outputs


def _events(
    input_chunks: Sequence[InputChunk], output_chunks: Sequence[OutputChunk]
) -> Iterator[tuple[float, bool, int]]:
    """The model's actions in order: the time, whether it was an answer, the number of the chunk.

    Two events may have the same time, on a coarse clock or with no work between them; an answer
    that needs no more audio than had been taken before then comes first.
    """
    if any(math.isnan(chunk.get_timestamp) for chunk in input_chunks):
        raise StreamingError("модель взяла не весь звук: времена нельзя пересчитать")
    taken, answered, taken_s = 0, 0, 0.0
    while taken < len(input_chunks) or answered < len(output_chunks):
        is_output = taken == len(input_chunks)
        if not is_output and answered < len(output_chunks):
            get_s, put_s = input_chunks[taken].get_timestamp, output_chunks[answered].put_timestamp
            needs_no_more = output_chunks[answered].seconds_processed <= taken_s + 1e-9
            is_output = put_s < get_s or (put_s == get_s and needs_no_more)
        if is_output:
            yield output_chunks[answered].put_timestamp, True, answered
            answered += 1
        else:
            taken_s = input_chunks[taken].end_time
            yield input_chunks[taken].get_timestamp, False, taken
            taken += 1
