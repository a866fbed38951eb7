"""A call in a thread of its own: the main thread, inside foreign code, would not hear Ctrl+C."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_TICK_S: Final = 0.5  # how often the waiting thread wakes: Windows hears Ctrl+C only then


def call_in_background(call: Callable[[], T]) -> T:
    """The result of ``call()``, or its exception; the caller can be interrupted while it waits.

    The thread is a daemon: after an interruption nobody waits for it.
    """
    outcomes: queue.SimpleQueue[Callable[[], T]] = queue.SimpleQueue()

    def run() -> None:
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - raised again in the caller
            outcomes.put(_raising(error))
        else:
            outcomes.put(lambda: result)

    threading.Thread(target=run, name="background-call", daemon=True).start()
    while True:
        try:
            outcome = outcomes.get(timeout=_TICK_S)
        except queue.Empty:
            continue
        return outcome()


def _raising(error: BaseException) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise error

    return fail
