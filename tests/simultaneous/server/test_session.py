"""The protocol without HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest

from stt_ru.errors import SttRuError
from stt_ru.simultaneous.core.record import InstanceRecord
from stt_ru.simultaneous.server.errors import (
    BadRequestError,
    NotSavedError,
    OutOfOrderError,
    UnknownError,
)
from stt_ru.simultaneous.server.session import rounded_segment_ms
from tests.fakes import FakeClock
from tests.simultaneous.server.data import session, speech


def test_text_comes_word_by_word_and_then_ends_for_ever() -> None:
    state = session()

    answers = [state.read(0) for _ in range(5)]

    assert answers[0] == {"instance_id": 0, "segment_id": 0, "segment": "it"}
    assert [answer["segment"] for answer in answers] == ["it", "is", "cold", "</s>", "</s>"]
    assert [answer["segment_id"] for answer in answers] == [0, 1, 2, 3, 3]


def test_an_empty_text_ends_at_once() -> None:
    assert session().read(2) == {"instance_id": 2, "segment_id": 0, "segment": "</s>"}


def test_speech_comes_in_pieces_of_ten_milliseconds() -> None:
    state = session(speech(400))

    answers = [state.read(0) for _ in range(4)]

    assert answers[0] == {
        "instance_id": 0,
        "segment_id": 0,
        "segment": list(range(160)),
        "sample_rate": 16_000,
        "dtype": "int16",
        "finished": False,
    }
    assert [len(answer["segment"]) for answer in answers] == [160, 160, 80, 0]
    assert [answer["segment_id"] for answer in answers] == [0, 1, 2, 3]
    assert [answer["finished"] for answer in answers] == [False, False, True, True]


def test_finished_is_true_when_the_request_ends_exactly_on_the_last_sample() -> None:
    state = session(speech(320))

    assert state.read(0, segment_size=20)["finished"]
    assert state.read(0)["segment"] == []
    assert state.read(0)["finished"]


@pytest.mark.parametrize(
    ("asked", "served"),
    [(301, 300), (304, 300), (305, 310), (309.9, 310), (10, 10), (1, 10), (0.1, 10), (14, 10)],
)
def test_segment_size_is_rounded_to_ten_milliseconds(asked: float, served: int) -> None:
    assert rounded_segment_ms(asked) == served
    assert len(session(speech()).read(0, segment_size=asked)["segment"]) == served * 16


@pytest.mark.parametrize("size", [0, -10, float("nan"), float("inf")])
def test_a_segment_size_that_is_no_length_is_refused(size: float) -> None:
    with pytest.raises(BadRequestError):
        session(speech()).read(0, segment_size=size)


def test_a_text_has_no_segment_size() -> None:
    state = session()
    with pytest.raises(BadRequestError, match="по одному слову"):
        state.read(0, segment_size=10)

    assert state.read(0, segment_size=1)["segment"] == "it"


def test_delays_are_the_source_read_so_far() -> None:
    state = session()
    state.read(0)
    state.write(0, "раз два")
    state.read(0)
    answer = state.write(0, "три </s>")
    (record,) = state.records().values()

    assert answer == {"instance_id": 0, "words": 1, "prediction_length": 3, "finished": True}
    assert record.prediction == "раз два три"
    assert record.delays == (1, 1, 2)


def test_the_end_of_a_text_is_no_word_that_is_read() -> None:
    state = session()
    for _ in range(5):
        state.read(0)
    state.write(0, "да </s>")

    assert state.records()[0].delays == (3,)


def test_delays_of_speech_are_milliseconds_and_elapsed_counts_from_the_first_read() -> None:
    clock = FakeClock()
    state = session(speech(16_037), clock=clock)
    clock.advance(50)
    state.read(0, segment_size=500)
    clock.advance(0.2)
    state.write(0, "раз")
    state.read(0, segment_size=9_000)
    clock.advance(0.3)
    state.write(0, "два </s>")
    record = state.records()[0]

    assert record.delays == (500, 16_037 / 16)
    assert record.delays[-1] == record.source_length
    assert record.elapsed == pytest.approx((700, 16_037 / 16 + 500))


def test_a_segment_can_be_read_again_and_has_its_number() -> None:
    state = session(speech(16_000))
    first = [state.read(0, segment_size=100) for _ in range(3)]
    again = state.read(0, segment_size=100, offset=100)
    state.write(0, "слово")
    following = state.read(0, segment_size=100)

    assert again == first[1]
    assert following["segment_id"] == 3
    assert following["segment"][0] == 4800
    assert state.result(0)["delays"] == [300]


def test_the_read_after_a_lost_answer_is_the_same_and_moves_on_once() -> None:
    state = session()
    assert state.read(0, offset=0) == state.read(0, offset=0)
    assert state.read(0, offset=1)["segment"] == "is"
    state.write(0, "да")

    assert state.result(0)["delays"] == [2]


def test_an_offset_ahead_of_the_source_is_out_of_order() -> None:
    state = session()
    with pytest.raises(OutOfOrderError, match="offset=1"):
        state.read(0, offset=1)
    speaking = session(speech())
    with pytest.raises(OutOfOrderError):
        speaking.read(0, offset=10)

    assert state.read(0)["segment_id"] == 0


def test_the_end_of_speech_can_be_read_again() -> None:
    state = session(speech(16_037))
    state.read(0, segment_size=2_000)

    assert state.read(0, offset=1003)["segment"] == []
    assert state.read(0, offset=1002)["segment"] == [16_032, 16_033, 16_034, 16_035, 16_036]
    with pytest.raises(OutOfOrderError):
        state.read(0, offset=1004)


def test_after_the_end_of_a_hypothesis_the_instance_is_closed() -> None:
    state = session()
    state.read(0)
    state.write(0, "да </s>")
    requests: list[Callable[[], object]] = [lambda: state.write(0, "ещё"), lambda: state.read(0)]
    for request in requests:
        with pytest.raises(OutOfOrderError, match="закончена"):
            request()

    assert state.records()[0].prediction == "да"
    assert state.read(1)["segment"] == "go"


@pytest.mark.parametrize("text", ["", "  \n", "раз </s> два", "</s> </s>"])
def test_a_body_that_makes_no_sense_changes_nothing(text: str) -> None:
    state = session()
    state.read(0)
    with pytest.raises(BadRequestError):
        state.write(0, text)

    assert state.result(0)["delays"] == []
    assert state.finished == 0


@pytest.mark.parametrize("index", [-1, 3, 10**12])
def test_an_unknown_instance_is_named(index: int) -> None:
    state = session()
    requests: list[Callable[[int], object]] = [
        state.read,
        state.result,
        lambda index: state.write(index, "да"),
    ]
    for request in requests:
        with pytest.raises(UnknownError, match="счёт с 0"):
            request(index)


def test_a_recording_that_cannot_be_read_is_an_error_every_time() -> None:
    state = session(speech(-1))
    for _ in range(2):
        with pytest.raises(SttRuError, match="файл испорчен"):
            state.read(0)

    assert state.begun == 0


def test_the_result_has_what_was_asked_for_and_null_where_nothing_is_scored() -> None:
    state = session()
    empty = state.result()
    state.write(2, "</s>")
    state.read(1)
    state.write(1, "иди </s>")
    full = state.result()

    assert empty["Quality"] == {"WER": None}
    assert empty["Latency"] == {"AL": None, "AP": None, "DAL": None}
    assert (empty["finished"], empty["total"]) == (0, 3)
    assert full["Quality"] == {"WER": 0}
    assert full["Latency"] == {"AL": 1, "AP": 1, "DAL": 1}
    assert full["scored"] == {"WER": 2, "AL": 1, "AP": 1, "DAL": 1}
    assert full["units"] == {"WER": "rate", "AL": "words", "AP": "", "DAL": "words"}
    assert full["skipped"] == [
        f"{name}: не оценено 1 из 2 (нет задержек: ничего не написано): примеры 2"
        for name in ("AL", "AP", "DAL")
    ]
    assert full["finished"] == 2
    json.dumps(full, allow_nan=False)


def test_the_result_of_one_instance_shows_its_delays_before_it_is_done() -> None:
    state = session()
    state.read(0)
    state.write(0, "раз")
    going = state.result(0)
    state.write(0, "</s>")
    done = state.result(0)

    assert (going["finished"], going["delays"], going["prediction"]) == (False, [1], "раз")
    assert going["Latency"]["AL"] is None
    assert done["finished"] is True
    assert done["Latency"]["AL"] == 1


class FullDisk:
    """Cannot write until it is told to."""

    is_full = True

    def started(self, index: int) -> None:
        pass

    def finished(self, record: InstanceRecord) -> None:
        if self.is_full:
            raise NotSavedError("на диске нет места")


def test_what_cannot_be_saved_has_not_happened_and_may_be_sent_again() -> None:
    disk = FullDisk()
    state = session(journal=disk)
    state.read(0)
    state.write(0, "раз")
    with pytest.raises(NotSavedError):
        state.write(0, "два </s>")
    assert state.result(0)["prediction"] == "раз"
    disk.is_full = False
    state.write(0, "два </s>")

    assert state.records()[0].prediction == "раз два"
    assert state.records()[0].delays == (1, 1)


def test_threads_on_one_instance_get_each_word_once() -> None:
    text = speech(160 * 400)
    state = session(text)
    heard: list[int] = []
    wrote: list[int] = []

    def work() -> None:
        for _ in range(100):
            heard.append(state.read(0)["segment_id"])
            wrote.append(state.write(0, "слово")["prediction_length"])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sorted(heard) == list(range(400))
    assert sorted(wrote) == list(range(1, 401))
    delays = state.result(0)["delays"]
    assert delays == sorted(delays)
    assert text.decoded == [0]
