"""A thread-safe queue in which every element belongs to a recording."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from typing import Generic, TypeAlias, TypeVar

from stt_ru.errors import StreamingError, sentence_of

RecordingId: TypeAlias = int | str

T = TypeVar("T")


class Exit(Exception):  # noqa: N818 - a normal end, not a failure
    """The stream has ended normally: the model was stopped."""


class StreamingQueue(Generic[T]):
    """A FIFO queue whose elements have ids; a reader waits for one id or for any.

    Thread-safe for any number of producers and consumers. Putting and getting an element is O(1),
    by id or not: there is one deque per id, plus the order of arrival across all of them.

    Args:
        name: What the queue carries, for error messages.
    """

    def __init__(self, name: str = "unnamed") -> None:
        self.name = name
        self._lock = threading.Lock()
        self._elements: dict[RecordingId, deque[tuple[int, T]]] = {}
        # Serial number -> id. Elements taken by id are removed from anywhere in it.
        self._arrivals: OrderedDict[int, RecordingId] = OrderedDict()
        self._serial = 0
        # One condition per id being waited for (None: any), so that an element wakes only the
        # readers it concerns, and the number of those readers.
        self._waiting: dict[RecordingId | None, tuple[threading.Condition, int]] = {}
        self._error: BaseException | None = None
        self._errors: dict[RecordingId, BaseException] = {}

    def put(self, data: T, id: RecordingId = 0) -> None:
        """Add an element; never blocks."""
        with self._lock:
            self._put(data, id)

    def _put(self, data: T, id: RecordingId) -> None:
        self._elements.setdefault(id, deque()).append((self._serial, data))
        self._arrivals[self._serial] = id
        self._serial += 1
        for key in (id, None):
            if key in self._waiting:
                self._waiting[key][0].notify()

    def get(
        self, id: RecordingId | None = None, timeout: float | None = None
    ) -> tuple[T, RecordingId]:
        """Remove and return the next element of one id, or of any.

        Args:
            id: The id to wait for; None for whatever came first.
            timeout: Total seconds to wait; None to wait indefinitely.

        Returns:
            The element and its id.

        Raises:
            TimeoutError: If no element came in that time.
            RuntimeError: If the queue, or this id, is in an error state; the cause is chained.
            Exit: If the stream has ended normally.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            while True:
                self._raise_error(id)
                if (element := self._pop(id)) is not None:
                    return element
                remaining = None if deadline is None else deadline - time.monotonic()
                if remaining is not None and remaining <= 0:
                    whose = "" if id is None else f" записи {id!r}"
                    raise TimeoutError(f"очередь {self.name}: за {timeout:g} с нет ничего{whose}")
                self._wait(id, remaining)

    def put_error(self, error: BaseException, id: RecordingId | None = None) -> None:
        """Put the queue into a permanent error state; the first error is kept.

        Args:
            error: The cause of the ``RuntimeError`` that every reader gets; an `Exit` is raised
                unwrapped.
            id: Affects only readers of this id, whose elements are dropped; None for all readers.
        """
        with self._lock:
            if id is None:
                self._error = self._error or error
                affected = list(self._waiting)
            else:
                self._errors.setdefault(id, error)
                for serial, _ in self._elements.pop(id, ()):
                    del self._arrivals[serial]
                affected = [id]
            for key in affected:
                if key in self._waiting:
                    self._waiting[key][0].notify_all()

    def error_of(self, id: RecordingId | None = None) -> BaseException | None:
        """The error that readers of this id, or of any, would get; None if there is none."""
        with self._lock:
            return self._error_of(id)

    def own_error_of(self, id: RecordingId) -> BaseException | None:
        """The error of this id alone; None if there is none."""
        with self._lock:
            return self._errors.get(id)

    def _error_of(self, id: RecordingId | None) -> BaseException | None:
        if id is not None and id in self._errors:
            return self._errors[id]
        return self._error

    def _raise_error(self, id: RecordingId | None) -> None:
        error = self._error_of(id)
        if error is None:
            return
        if isinstance(error, Exit):
            raise Exit(*error.args)
        raise StreamingError(sentence_of(error)) from error

    def _pop(self, id: RecordingId | None) -> tuple[T, RecordingId] | None:
        if id is None:
            if not self._arrivals:
                return None
            id = next(iter(self._arrivals.values()))
        elements = self._elements.get(id)
        if not elements:
            return None
        serial, data = elements.popleft()
        del self._arrivals[serial]
        if not elements:
            del self._elements[id]
        return data, id

    def _wait(self, id: RecordingId | None, seconds: float | None) -> None:
        condition, readers = self._waiting.get(id) or (threading.Condition(self._lock), 0)
        self._waiting[id] = (condition, readers + 1)
        try:
            condition.wait(seconds)
        finally:
            condition, readers = self._waiting[id]
            if readers > 1:
                self._waiting[id] = (condition, readers - 1)
            else:
                del self._waiting[id]
