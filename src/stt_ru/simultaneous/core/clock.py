"""Wall time, passed in so that tests can set it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A clock that never goes back."""

    def now(self) -> float:
        """Seconds since some moment."""
        ...


class WallClock:
    """The computer's own monotonic clock."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()
