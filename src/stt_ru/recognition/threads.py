"""Work in threads of its own: the main thread, inside foreign code, would not hear Ctrl+C."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")
Job = TypeVar("Job")

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


def map_in_background(
    work: Callable[[Job], T], jobs: Sequence[Job], *, threads: int, name: str
) -> Iterator[T | None]:
    """Results as they come; None now and then while nothing does, so that the caller can act.

    The jobs begin in their order. The threads are daemons: after an interruption nobody waits for
    them, and no job is begun.

    Args:
        work: Never raises: an exception would be a result that never comes.
        jobs: What it is called with.
        threads: How many jobs are at work at once, at least 1.
        name: Of the threads, which are numbered.
    """
    todo: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        todo.put(job)
    results: queue.SimpleQueue[T] = queue.SimpleQueue()
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            try:
                job = todo.get_nowait()
            except queue.Empty:
                return
            results.put(work(job))

    for number in range(min(threads, len(jobs))):
        threading.Thread(target=run, name=f"{name}-{number}", daemon=True).start()
    try:
        waiting_for = len(jobs)
        while waiting_for:
            try:
                yield results.get(timeout=_TICK_S)
            except queue.Empty:
                yield None
            else:
                waiting_for -= 1
    finally:
        stop.set()


def _raising(error: BaseException) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise error

    return fail
