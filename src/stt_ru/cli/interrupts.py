"""Ctrl+C and SIGTERM: the first ends the work in order, the second ends the process."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


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
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        for other in _SIGNALS:
            signal.signal(other, signal.SIG_DFL)
        error = Interrupted(number)
        self.exit_code = error.exit_code
        raise error


@dataclass
class LateInterruption:
    """A signal that came while results were being written out.

    Attributes:
        exit_code: 130 or 143; None when none came.
    """

    exit_code: int | None = None


@contextmanager
def finishing() -> Iterator[LateInterruption]:
    """While results are printed and saved, the first signal waits until that is done.

    It takes a moment; a second signal ends the process at once.
    """
    late = LateInterruption()

    def remember(number: int, frame: FrameType | None) -> None:
        late.exit_code = 128 + number
        for other in _SIGNALS:
            signal.signal(other, signal.SIG_DFL)

    heard = {number: signal.getsignal(number) for number in _SIGNALS}
    # After a first signal the handlers are the system's: the next one ends the process as ever.
    ours = [number for number, handler in heard.items() if callable(handler)]
    for number in ours:
        signal.signal(number, remember)
    try:
        yield late
    finally:
        if late.exit_code is None:
            for number in ours:
                signal.signal(number, heard[number])
