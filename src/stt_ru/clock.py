"""Time as something that is passed in, so that a test can hold it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock, in seconds from an unspecified moment."""

    def now(self) -> float:
        """The moment it is."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let the time pass; nothing for zero or less."""
        ...


class SystemClock:
    """The clock of the machine: monotonic, not moved by NTP or daylight saving."""

    def now(self) -> float:
        """Seconds of `time.monotonic`."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block this thread."""
        if seconds > 0:
            time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
