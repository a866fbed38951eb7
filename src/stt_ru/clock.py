"""Time as a parameter, so that tests can control it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock, in seconds from an unspecified moment."""

    def now(self) -> float:
        """The current time."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait this long; return at once for zero or less."""
        ...


class SystemClock:
    """The machine's clock: monotonic, unaffected by NTP or daylight saving."""

    def now(self) -> float:
        """Seconds from `time.monotonic`."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block this thread."""
        if seconds > 0:
            time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
