"""Ctrl+C and SIGTERM: the first ends the work in order, the second ends the process."""

from __future__ import annotations

import signal
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """The user or the system asked to stop.

    Attributes:
        exit_code: 130 after Ctrl+C, 143 after SIGTERM.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__()
        self.exit_code = 128 + signal_number


class Interruption:
    """Hears the signals from `listen` on and remembers the first.

    Attributes:
        exit_code: Of the signal that came; None when none did.
    """

    def __init__(self) -> None:
        self.exit_code: int | None = None

    def listen(self) -> None:
        """Raise `Interrupted` in the main thread on a signal, unless it is ignored already."""
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        for other in (signal.SIGINT, signal.SIGTERM):
            signal.signal(other, signal.SIG_DFL)
        error = Interrupted(number)
        self.exit_code = error.exit_code
        raise error
