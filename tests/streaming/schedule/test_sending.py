"""Models, senders and callers together, in real threads."""

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.errors import UsageError
from stt_ru.streaming.engines.model import DummyASR, StreamingASR
from stt_ru.streaming.queue.buffer import Exit
from stt_ru.streaming.queue.chunks import (
    InputBuffer,
    InputChunk,
    OutputBuffer,
    OutputChunk,
    Signal,
    TranscriptionChunk,
    check_consistency,
)
from stt_ru.streaming.schedule.caller import receive_transcription, transcribe_parallel
from stt_ru.streaming.schedule.sender import StreamingSender, get_uniform_cutoffs, make_sender
from tests.fakes import FakeClock
from tests.streaming.fakes import PATIENCE_S, PATIENT, FunctionASR, tone


def receive(asr: StreamingASR, id: int | str) -> list[OutputChunk]:
    return list(receive_transcription(asr, id, timeout=PATIENCE_S))


@PATIENT
@given(st.integers(0, 400), st.floats(0.05, 3), st.floats(0.3, 4), st.sampled_from([10, 16, 44]))
def test_cutoffs_cover_the_recording_at_equal_intervals(
    n: int, interval_s: float, speed: float, rate: int
) -> None:
    if interval_s * speed * rate < 1:
        return
    cutoffs = get_uniform_cutoffs(np.zeros(n), interval_s, speed, rate)
    assert (cutoffs[0].t_real, cutoffs[0].t_audio, cutoffs[0].arr_pos) == (0, 0, 0)
    assert cutoffs[-1].arr_pos == n
    for number, cutoff in enumerate(cutoffs):
        assert cutoff.t_audio == cutoff.arr_pos / rate
        assert cutoff.t_real == pytest.approx(cutoff.t_audio / speed)
        if 0 < number < len(cutoffs) - 1:
            assert abs(cutoff.t_real - number * interval_s) <= 0.5 / rate / speed + 1e-9
    positions = [cutoff.arr_pos for cutoff in cutoffs]
    assert positions == sorted(set(positions)) or n == 0


@pytest.mark.parametrize(("interval", "speed"), [(0, 1), (-1, 1), (0.2, 0), (1e-9, 1)])
def test_an_impossible_schedule_is_refused(interval: float, speed: float) -> None:
    with pytest.raises(UsageError):
        get_uniform_cutoffs(np.zeros(10), interval, speed)


@pytest.mark.parametrize("seconds", [0, 0.4, 1, 3.999, 4])
def test_dummy_counts_whole_seconds(seconds: float) -> None:
    asr = DummyASR()
    asr.start_thread()
    _, sender = make_sender(tone(seconds), asr)
    sender.start_sending(without_delays=True)
    outputs = receive(asr, sender.id)
    inputs = sender.join_and_get_history(PATIENCE_S)
    asr.stop_thread()
    expected = " ".join(str(n) for n in range(1, int(seconds) + 1))
    assert TranscriptionChunk.join(outputs) == expected
    assert inputs[-1].data is Signal.FINISH
    check_consistency(inputs, outputs)
    assert sender.get_status() == "finished"


def test_audio_is_sent_by_absolute_deadlines_and_never_early() -> None:
    clock = FakeClock()
    asr = DummyASR(clock=clock)
    cutoffs, sender = make_sender(tone(1.3), asr, real_time_interval_sec=0.5)
    started = clock.now()
    sender._send_all()  # in this thread: the clock moves only by its sleeps
    times = [chunk.put_timestamp - started for chunk in sender.history_so_far()]
    assert times == pytest.approx([0.5, 1.0, 1.3, 1.3])
    assert [cutoff.t_audio for cutoff in cutoffs] == pytest.approx([0, 0.5, 1.0, 1.3])


class SlowClock(FakeClock):
    """A clock on which every reading of the time takes 30 ms."""

    def now(self) -> float:
        self.sleep(0.03)
        return super().now()


def test_a_late_chunk_does_not_make_the_next_ones_later() -> None:
    clock = SlowClock()
    asr = DummyASR(clock=clock)
    _, sender = make_sender(tone(10), asr, real_time_interval_sec=0.5)
    started = clock.now()
    sender._send_all()
    assert clock.now() - started < 10.5  # not 10 s + 20 chunks * 2 readings of the clock


def test_speed_shortens_wall_time_but_not_audio_time() -> None:
    clock = FakeClock()
    asr = DummyASR(clock=clock)
    _, sender = make_sender(tone(2), asr, 0.25, speed_multiplier=2)
    started = clock.now()
    sender._send_all()
    *audio, end = sender.history_so_far()
    assert [c.put_timestamp - started for c in audio] == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert end.end_time == 2.0


@pytest.mark.parametrize("kind", ["float", "int", "bytes", "wav"])
def test_the_model_gets_audio_in_its_own_rate_and_format(kind: str) -> None:
    received: list[Any] = []

    def run(audio: InputBuffer, text: OutputBuffer) -> None:
        while True:
            chunk, id = audio.get()
            if chunk.data is Signal.FINISH:
                text.put(OutputChunk(data=Signal.FINISH, seconds_processed=chunk.end_time), id)
            else:
                received.append(chunk.data)

    asr = FunctionASR(run)
    asr.sampling_rate = 8_000
    type(asr).audio_type = property(lambda self: kind)  # type: ignore[assignment, method-assign]
    try:
        asr.start_thread()
        _, sender = make_sender(tone(1.0), asr)
        sender.start_sending(without_delays=True)
        receive(asr, sender.id)
        asr.stop_thread()
    finally:
        del type(asr).audio_type
    length = sum(len(piece) for piece in received)
    assert length == {"float": 8_000, "int": 8_000, "bytes": 16_000, "wav": 16_044}[kind]
    if kind == "wav":
        assert bytes(received[0][:4]) == b"RIFF"


def test_parallel_recordings_are_returned_in_the_given_order() -> None:
    asr = DummyASR()
    asr.start_thread()
    waveforms = [tone(seconds) for seconds in (3, 1, 2, 0, 2)]
    answers = transcribe_parallel(
        asr, waveforms, 3, send_all_without_delays=True, timeout=PATIENCE_S
    )
    asr.stop_thread()
    texts = [TranscriptionChunk.join(chunks) for chunks in answers.values()]
    assert texts == ["1 2 3", "1", "1 2", "", "1 2"]


def test_fifty_recordings_at_once() -> None:
    asr = DummyASR()
    asr.start_thread()
    waveforms = [tone(1 + number % 3) for number in range(50)]
    answers = transcribe_parallel(asr, waveforms, 50, True, timeout=PATIENCE_S)
    asr.stop_thread()
    assert [len(chunks) - 1 for chunks in answers.values()] == [1 + n % 3 for n in range(50)]


def test_an_exception_in_the_model_reaches_every_reader() -> None:
    def run(audio: InputBuffer, text: OutputBuffer) -> None:
        audio.get()
        raise ZeroDivisionError("внутри модели")

    asr = FunctionASR(run)
    asr.start_thread()
    with pytest.raises(RuntimeError, match="внутри модели") as caught:
        transcribe_parallel(asr, [tone(1), tone(1)], 2, True, timeout=PATIENCE_S)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert not asr.is_thread_started()


def test_a_model_that_returns_unasked_raises_an_error_in_the_reader() -> None:
    asr = FunctionASR(lambda audio, text: None)
    asr.start_thread()
    with pytest.raises(RuntimeError, match="перестала работать"):
        receive(asr, 0)


def test_stopping_the_model_raises_exit_in_readers() -> None:
    asr = DummyASR()
    asr.start_thread()
    caught: list[BaseException] = []

    def read() -> None:
        try:
            receive(asr, "a")
        except Exit as end:
            caught.append(end)

    reader = threading.Thread(target=read)
    reader.start()
    asr.stop_thread()
    reader.join(PATIENCE_S)
    assert caught
    assert not asr.is_thread_started()


def test_a_restarted_model_accepts_used_ids() -> None:
    asr = DummyASR()
    for _ in range(2):
        asr.start_thread()
        _, sender = make_sender(tone(1), asr, uid="a")
        sender.start_sending(without_delays=True)
        assert TranscriptionChunk.join(receive(asr, "a")) == "1"
        asr.stop_thread()


def test_a_model_that_does_not_stop_is_reported_as_stuck() -> None:
    release = threading.Event()
    asr = FunctionASR(lambda audio, text: print(release.wait(PATIENCE_S)))
    asr.start_thread()
    with pytest.raises(TimeoutError, match="не остановилась"):
        asr.stop_thread(timeout=0.01)
    release.set()


def test_a_reused_id_fails_only_in_its_sender_and_reader() -> None:
    asr = DummyASR()
    asr.start_thread()
    _, first = make_sender(tone(1), asr, uid="a")
    first.start_sending(without_delays=True)
    receive(asr, "a")
    _, second = make_sender(tone(1), asr, uid="a")
    with pytest.raises(RuntimeError, match="уже занят"):
        second.start_sending()
    assert second.get_status() == "failed"
    with pytest.raises(RuntimeError, match="уже занят"):
        receive(asr, "a")
    _, other = make_sender(tone(2), asr, uid="b")
    other.start_sending(without_delays=True)
    assert TranscriptionChunk.join(receive(asr, "b")) == "1 2"
    asr.stop_thread()


def test_audio_after_the_end_fails_only_in_the_reader_of_its_id() -> None:
    asr = DummyASR()
    asr.start_thread()
    asr.input_buffer.put(InputChunk(data=Signal.FINISH, end_time=0.0), "a")
    with pytest.raises(RuntimeError):
        asr.input_buffer.put(InputChunk(data=b"", end_time=1.0), "a")
    with pytest.raises(RuntimeError, match="уже кончилась"):
        receive(asr, "a")
    asr.input_buffer.put(InputChunk(data=Signal.FINISH, end_time=0.0), "b")
    assert len(receive(asr, "b")) == 1
    asr.stop_thread()


def test_a_sender_that_fails_ends_its_recording_with_an_error() -> None:
    asr = DummyASR()
    asr.start_thread()
    broken = tone(1)
    broken[9_000] = np.nan
    cutoffs = get_uniform_cutoffs(broken, 0.2)
    sender = StreamingSender(cutoffs, broken, asr, "a")
    sender.start_sending(without_delays=True)
    with pytest.raises(RuntimeError, match="not finite") as caught:
        receive(asr, "a")
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(RuntimeError, match="не отправлена"):
        sender.join(PATIENCE_S)
    assert sender.get_status() == "failed"
    asr.stop_thread()


def test_a_sender_sends_only_once() -> None:
    asr = DummyASR()
    _, sender = make_sender(tone(1), asr)
    assert sender.get_status() == "not_started"
    with pytest.raises(RuntimeError, match="ещё не"):
        sender.join()
    sender.start_sending(without_delays=True)
    with pytest.raises(RuntimeError, match="уже отправлялась"):
        sender.start_sending()


def test_a_sender_stops_when_the_model_has_died() -> None:
    asr = FunctionASR(lambda audio, text: None)
    asr.start_thread()
    with pytest.raises(RuntimeError):
        receive(asr, "other")
    _, sender = make_sender(tone(60), asr)
    sender.start_sending()  # on schedule: a minute
    with pytest.raises(RuntimeError, match="перестала работать"):
        sender.join(PATIENCE_S)


def test_a_model_cannot_be_started_twice() -> None:
    asr = DummyASR()
    asr.start_thread()
    with pytest.raises(RuntimeError, match="уже работает"):
        asr.start_thread()
    asr.stop_thread()


def test_a_recording_sent_to_a_model_that_has_failed_gets_the_models_own_error() -> None:
    def run(audio: InputBuffer, text: OutputBuffer) -> None:
        raise ZeroDivisionError("внутри модели")

    asr = FunctionASR(run)
    asr.start_thread()
    with pytest.raises(RuntimeError):  # the model fails before anything is sent
        asr.output_buffer.get(timeout=PATIENCE_S)
    _, sender = make_sender(tone(1), asr)
    sender.start_sending(without_delays=True)
    with pytest.raises(RuntimeError):
        sender.join()
    with pytest.raises(RuntimeError) as caught:
        asr.output_buffer.get(sender.id, timeout=PATIENCE_S)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
