"""What a policy decides: read more of the source, or write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Action:
    """A decision of a policy."""

    def is_read(self) -> bool:
        """Whether more source is asked for."""
        raise NotImplementedError


@dataclass(frozen=True)
class ReadAction(Action):
    """Ask for more of the source; nothing is written."""

    def is_read(self) -> bool:
        """Return True."""
        return True


@dataclass(frozen=True)
class WriteAction(Action):
    """Write a piece of the output.

    Attributes:
        content: Words with spaces between; for speech a `SpeechSegment` or samples. A text may be
            empty, which writes nothing.
        finished: Whether the output ends with it.
    """

    content: Any
    finished: bool

    def is_read(self) -> bool:
        """Return False."""
        return False
