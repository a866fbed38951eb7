"""What tests of several packages pretend with."""

from __future__ import annotations

import threading


class FakeClock:
    """Time that passes only when it is told to; sleeping moves it."""

    def __init__(self, now: float = 100.0) -> None:
        self._now = now
        self._lock = threading.Lock()

    def now(self) -> float:
        with self._lock:
            return self._now

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self._now += max(0.0, seconds)

    def advance(self, seconds: float) -> None:
        """The same, said by the test rather than by what it tests."""
        self.sleep(seconds)
