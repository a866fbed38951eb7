import threading
import time
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.streaming.queue.buffer import Exit, RecordingId, StreamingQueue
from tests.streaming.fakes import PATIENCE_S, PATIENT


def test_elements_come_in_the_order_they_were_put_by_id_or_by_any() -> None:
    queue: StreamingQueue[str] = StreamingQueue("q")
    for data, id in (("a", 1), ("b", 2), ("c", 1), ("d", 3)):
        queue.put(data, id)
    assert queue.get(2) == ("b", 2)
    assert [queue.get() for _ in range(3)] == [("a", 1), ("c", 1), ("d", 3)]


@PATIENT
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(0, 3)),
            st.tuples(st.just("get"), st.none() | st.integers(0, 3)),
        )
    )
)
def test_the_queue_behaves_like_a_list_searched_from_the_start(
    operations: list[tuple[str, int | None]],
) -> None:
    queue: StreamingQueue[int] = StreamingQueue()
    twin: list[tuple[int, RecordingId]] = []
    for number, (operation, id) in enumerate(operations):
        if operation == "put":
            assert id is not None
            queue.put(number, id)
            twin.append((number, id))
            continue
        expected = next((pair for pair in twin if id in (None, pair[1])), None)
        if expected is None:
            with pytest.raises(TimeoutError):
                queue.get(id, timeout=0)
        else:
            twin.remove(expected)
            assert queue.get(id, timeout=0) == expected
    assert not queue._elements or twin


def test_the_timeout_covers_the_whole_wait_however_often_other_ids_arrive() -> None:
    queue: StreamingQueue[int] = StreamingQueue()
    stop = threading.Event()

    def disturb() -> None:
        while not stop.wait(0.005):
            queue.put(0, "other")

    thread = threading.Thread(target=disturb)
    thread.start()
    started = time.monotonic()
    try:
        with pytest.raises(TimeoutError, match="mine"):
            queue.get("mine", timeout=0.1)
    finally:
        stop.set()
        thread.join()
    assert 0.1 <= time.monotonic() - started < 5


def test_an_error_reaches_every_reader_with_its_cause() -> None:
    queue: StreamingQueue[int] = StreamingQueue()
    errors: list[BaseException] = []

    def read(id: int | None) -> None:
        try:
            queue.get(id, timeout=PATIENCE_S)
        except RuntimeError as error:
            errors.append(error)

    threads = [threading.Thread(target=read, args=(id,)) for id in (None, None, 1, 2)]
    for thread in threads:
        thread.start()
    cause = ValueError("сломалось")
    queue.put_error(cause)
    for thread in threads:
        thread.join(PATIENCE_S)
    with pytest.raises(RuntimeError, match="ValueError: сломалось"):
        queue.get()
    assert len(errors) == 4
    assert {error.__cause__ for error in errors} == {cause}


def test_exit_is_raised_unwrapped_and_the_first_error_is_kept() -> None:
    queue: StreamingQueue[int] = StreamingQueue()
    queue.put_error(Exit())
    queue.put_error(ValueError())
    with pytest.raises(Exit):
        queue.get()


def test_an_error_of_one_id_does_not_affect_the_others() -> None:
    queue: StreamingQueue[str] = StreamingQueue()
    queue.put("a", 1)
    queue.put("b", 2)
    queue.put_error(ValueError("плохая запись"), 1)
    with pytest.raises(RuntimeError, match="плохая запись"):
        queue.get(1)
    assert queue.get() == ("b", 2)
    with pytest.raises(TimeoutError):
        queue.get(timeout=0)


@pytest.mark.parametrize("by_id", [True, False], ids=["by id", "any"])
def test_nothing_is_lost_or_duplicated_with_many_producers_and_consumers(by_id: bool) -> None:
    queue: StreamingQueue[int] = StreamingQueue()
    n_ids, n_each = 5, 400
    taken: dict[RecordingId, list[int]] = defaultdict(list)
    lock = threading.Lock()

    def produce(id: int) -> None:
        for number in range(n_each):
            queue.put(number, id)

    def consume(id: int | None) -> None:
        for _ in range(n_each):
            data, owner = queue.get(id, timeout=PATIENCE_S)
            with lock:
                taken[owner].append(data)

    threads = [threading.Thread(target=produce, args=(id,)) for id in range(n_ids)]
    threads += [
        threading.Thread(target=consume, args=(id if by_id else None,)) for id in range(n_ids)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    for id in range(n_ids):
        assert Counter(taken[id]) == Counter(range(n_each))
        if by_id:
            assert taken[id] == list(range(n_each))
    for left in (queue._elements, queue._arrivals, queue._waiting):
        assert not left


def test_an_element_costs_the_same_however_many_precede_it() -> None:
    # Counted, not timed: elements taken by id leave no trace in the order of arrival.
    queue: StreamingQueue[int] = StreamingQueue()
    queue.put(0, "first")
    for number in range(10_000):
        queue.put(number, "second")
    for _ in range(10_000):
        queue.get("second")
    assert len(queue._arrivals) == 1
    assert list(queue._elements) == ["first"]
