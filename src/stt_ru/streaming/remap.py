"""From a run in which everything was sent at once, the history as it would have been on schedule.

Pure functions on copies.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from stt_ru.errors import StreamingError
from stt_ru.streaming.chunks import InputChunk, OutputChunk, Signal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stt_ru.streaming.sender import Cutoff


def remap_time(
    cutoffs: Sequence[Cutoff],
    input_chunks: Sequence[InputChunk],
    output_chunks: Sequence[OutputChunk],
) -> tuple[list[InputChunk], list[OutputChunk]]:
    """The history of a run as it would have been, had the audio come on schedule.

    The model's thread did one thing after another: it took a chunk, worked, put an answer, worked,
    took the next chunk. The time between two such events is work and stays; a chunk is taken when
    the work before it is done, but not before it would have been sent. So a model that keeps up
    waits for the audio, and one that does not falls behind, as it would have.

    Args:
        cutoffs: The schedule, whose first element is the beginning.
        input_chunks: What was sent, all of it at once and taken in order; the end included or not.
        output_chunks: What the one-threaded model answered, in order.

    Returns:
        Copies with new timestamps; the schedule begins at the first ``put_timestamp`` of the run.
        A reader is as late behind the model as it was.

    Raises:
        StreamingError: If chunks and cutoffs do not belong together, or a chunk was never taken.
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
    # At one moment the chunk is taken first: the answer is to it.
    events = sorted(
        [(chunk.get_timestamp, 0, number) for number, chunk in enumerate(input_chunks)]
        + [(chunk.put_timestamp, 1, number) for number, chunk in enumerate(output_chunks)]
    )
    before = now = math.nan
    for moment, is_output, number in events:
        if math.isnan(moment):
            raise StreamingError("модель взяла не весь звук: времена не пересчитать")
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
