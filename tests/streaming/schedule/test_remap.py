import copy
import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.errors import StreamingError
from stt_ru.streaming.queue.buffer import Exit, RecordingId
from stt_ru.streaming.queue.chunks import InputBuffer, InputChunk, OutputChunk, Signal
from stt_ru.streaming.schedule.remap import remap_time
from stt_ru.streaming.schedule.sender import Cutoff, get_uniform_cutoffs
from tests.fakes import FakeClock
from tests.streaming.fakes import PATIENT, ScriptedASR, answer, sent, tone


class PacedBuffer(InputBuffer):
    """A microphone in the reader's own thread: waiting for a chunk advances the clock to it.

    The slow, obvious twin of `remap_time`: the model really runs on schedule.
    """

    def __init__(self, clock: FakeClock, chunks: list[tuple[float, InputChunk]]) -> None:
        super().__init__(clock=clock)
        self._clock, self._to_come = clock, chunks

    def _take(
        self, id: RecordingId | None, timeout: float | None
    ) -> tuple[InputChunk, RecordingId]:
        if not self._to_come:
            raise Exit
        moment, chunk = self._to_come.pop(0)
        put_clock, self.clock = self.clock, FakeClock(moment)
        self.put(chunk, "a")
        self.clock = put_clock
        self._clock.sleep(moment - self._clock.now())
        return super()._take(id, timeout)


def run(asr: ScriptedASR) -> list[OutputChunk]:
    with pytest.raises(Exit):
        asr._run()
    outputs: list[OutputChunk] = []
    while not outputs or outputs[-1].data is not Signal.FINISH:
        chunk, _ = asr.output_buffer.get("a", timeout=0)
        chunk.get_timestamp = chunk.put_timestamp + 0.01  # the reader is 10 ms behind
        outputs.append(chunk)
    return outputs


def chunks_of(cutoffs: list[Cutoff]) -> list[InputChunk]:
    audio = tone(cutoffs[-1].t_audio + 0.1)
    pairs = itertools.pairwise(cutoffs)
    chunks = [InputChunk(data=audio[a.arr_pos : b.arr_pos], end_time=b.t_audio) for a, b in pairs]
    return [*chunks, InputChunk(data=Signal.FINISH, end_time=cutoffs[-1].t_audio)]


times = st.lists(st.integers(0, 700).map(lambda ms: ms / 1000), min_size=1, max_size=5)


@PATIENT
@given(
    st.integers(1, 30_000),
    st.sampled_from([0.1, 0.2, 0.5]),
    st.sampled_from([0.5, 1.0, 3.0]),
    times,
    st.lists(st.integers(0, 3), min_size=1, max_size=4),
    st.none() | st.integers(500, 20_000),
)
def test_remapping_gives_the_times_of_a_paced_run(
    n: int,
    interval_s: float,
    speed: float,
    work_s: list[float],
    words: list[int],
    chunk_samples: int | None,
) -> None:
    cutoffs = get_uniform_cutoffs(tone(n / 16_000), interval_s, speed)
    start = 100.0

    clock = FakeClock(start)
    asr = ScriptedASR(clock, work_s, words, chunk_samples)
    moments = [*(cutoff.t_real for cutoff in cutoffs[1:]), cutoffs[-1].t_real]
    paced_inputs = chunks_of(cutoffs)
    schedule = [(start + moment, c) for moment, c in zip(moments, paced_inputs, strict=True)]
    asr.input_buffer = PacedBuffer(clock, schedule)
    paced_outputs = run(asr)

    clock = FakeClock(start)
    asr = ScriptedASR(clock, work_s, words, chunk_samples)
    inputs = chunks_of(cutoffs)
    for chunk in inputs:
        asr.input_buffer.put(chunk, "a")
    asr.input_buffer.put_error(Exit(), "nobody")
    original_get = asr.input_buffer._take

    def take(id: RecordingId | None, timeout: float | None) -> tuple[InputChunk, RecordingId]:
        if not asr.input_buffer._arrivals:
            raise Exit
        return original_get(id, timeout)

    asr.input_buffer._take = take  # type: ignore[method-assign]
    outputs = run(asr)

    inputs = [replace(chunk, data=b"") for chunk in inputs]  # arrays cannot be compared by ==
    inputs[-1].data = Signal.FINISH
    before = copy.deepcopy((inputs, outputs))
    new_inputs, new_outputs = remap_time(cutoffs, inputs, outputs)
    assert (inputs, outputs) == before
    for new_input, paced_input in zip(new_inputs, paced_inputs, strict=True):
        assert new_input.put_timestamp == pytest.approx(paced_input.put_timestamp, abs=1e-6)
        assert new_input.get_timestamp == pytest.approx(paced_input.get_timestamp, abs=1e-6)
    for new_output, paced_output in zip(new_outputs, paced_outputs, strict=True):
        assert new_output.data == paced_output.data
        assert new_output.put_timestamp == pytest.approx(paced_output.put_timestamp, abs=1e-6)
        assert new_output.get_timestamp == pytest.approx(paced_output.get_timestamp, abs=1e-6)


def test_a_fast_model_waits_for_the_audio_and_a_slow_one_falls_behind() -> None:
    cutoffs = [Cutoff(0, 0, 0), Cutoff(1, 1, 1), Cutoff(2, 2, 2)]
    inputs = [sent(10, 1), sent(10, 2), sent(10, 2, Signal.FINISH)]
    inputs[1].get_timestamp, inputs[2].get_timestamp = 10.4, 13.0
    outputs = [answer("а", 10.3), answer("б", 12.9)]
    new_inputs, new_outputs = remap_time(cutoffs, inputs, outputs)
    assert [c.put_timestamp for c in new_inputs] == [11, 12, 12]
    assert [c.get_timestamp for c in new_inputs] == pytest.approx([11, 12, 14.6])
    assert [c.put_timestamp for c in new_outputs] == pytest.approx([11.3, 14.5])


def test_an_inconsistent_history_cannot_be_remapped() -> None:
    cutoffs = [Cutoff(0, 0, 0), Cutoff(1, 1, 1)]
    with pytest.raises(StreamingError, match="в расписании 1"):
        remap_time(cutoffs, [], [])
    never_taken = InputChunk(data=b"", end_time=1, put_timestamp=1)
    with pytest.raises(StreamingError, match="взяла не весь"):
        remap_time(cutoffs, [never_taken], [])
