"""Progress over instances on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from stt_ru.cli.stdio import print_message

if TYPE_CHECKING:
    from stt_ru.simultaneous.core.record import InstanceRecord
    from stt_ru.simultaneous.run.evaluator import EvaluationProgress

_LINE_EVERY_S: Final = 10.0


@contextmanager
def instances_progress(*, show: bool) -> Iterator[EvaluationProgress]:
    """Show how many instances are done, in the way that suits where stderr goes."""
    if not show:
        yield _say_nothing
    elif sys.stderr.isatty():
        with _bar() as progress:
            yield progress
    else:
        yield _Lines()


def _say_nothing(done: int, total: int, record: InstanceRecord | None) -> None:
    pass


class _Lines:
    """A line now and then, for logs."""

    def __init__(self) -> None:
        self._said_at = time.monotonic()

    def __call__(self, done: int, total: int, record: InstanceRecord | None) -> None:
        now = time.monotonic()
        if now - self._said_at >= _LINE_EVERY_S:
            self._said_at = now
            print_message(f"Примеров: {done} из {total}")


@contextmanager
def _bar() -> Iterator[EvaluationProgress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(bar_width=None), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(done: int, total: int, record: InstanceRecord | None) -> None:
            bar.update(task, completed=done, total=total)

        yield show
