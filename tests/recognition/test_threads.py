from __future__ import annotations

import threading

import pytest

from stt_ru.recognition import threads as background
from stt_ru.recognition.threads import call_in_background, map_in_background


def test_the_result_is_that_of_the_call_in_another_thread() -> None:
    name = call_in_background(lambda: threading.current_thread().name)
    assert name == "background-call"


def test_an_exception_is_raised_in_the_caller() -> None:
    def fail() -> int:
        raise ZeroDivisionError("сломалось")

    with pytest.raises(ZeroDivisionError, match="сломалось"):
        call_in_background(fail)


def test_none_is_a_result_like_any_other() -> None:
    def nothing() -> None:
        pass

    call_in_background(nothing)


@pytest.mark.parametrize("threads", [1, 3])
def test_every_job_has_a_result(threads: int) -> None:
    results = map_in_background(lambda job: job + 1, range(20), threads=threads, name="test")
    found = [result for result in results if result is not None]
    assert sorted(found) == list(range(1, 21))
    if threads == 1:
        assert found == list(range(1, 21))


def test_no_job_begins_after_the_caller_has_left() -> None:
    begun: list[int] = []
    go_on = threading.Event()

    def work(job: int) -> int:
        begun.append(job)
        if job:
            go_on.wait(10)
        return job

    results = map_in_background(work, range(9), threads=1, name="left")
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]  # it is a generator
    go_on.set()
    for thread in threading.enumerate():
        if thread.name.startswith("left-"):
            thread.join(10)
    assert len(begun) <= 2


def test_the_caller_acts_while_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_TICK_S", 0.01)
    go_on = threading.Event()
    results = map_in_background(lambda job: go_on.wait(10), [1], threads=1, name="slow")
    assert next(results) is None
    go_on.set()
    assert [result for result in results if result is not None] == [True]
