from __future__ import annotations

import threading

import pytest

from stt_ru.background import call_in_background


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
