"""Progress on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from stt_ru.cli.stdio import print_message
from stt_ru.recognition.progress import SilentListener
from stt_ru.report.table import percent, speed

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from stt_ru.evaluation import Progress, ProgressListener

_LINE_EVERY_S: Final = 10.0


@contextmanager
def progress_view(*, quiet: bool) -> Iterator[ProgressListener]:
    """Show where the work stands, in the way that suits where stderr goes."""
    if quiet:
        yield SilentListener()
    elif sys.stderr.isatty():
        with _bar() as bar:
            yield _BarView(bar)
    else:
        yield _LinesView()


class _LinesView:
    def __init__(self) -> None:
        self._said_at = 0.0

    def loading(self, label: str) -> None:
        print_message(f"{label}: загружается")
        self._said_at = 0.0

    def advanced(self, progress: Progress) -> None:
        if progress.finished or progress.wall_s - self._said_at >= _LINE_EVERY_S:
            self._said_at = progress.wall_s
            print_message(f"{progress.model}: {describe(progress)}")


def _bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[state]}"),
        console=Console(stderr=True),
        transient=True,
    )


class _BarView:
    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task: TaskID | None = None

    def loading(self, label: str) -> None:
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(label, total=None, state="загружается")

    def advanced(self, progress: Progress) -> None:
        if self._task is None:
            self._task = self._bar.add_task(progress.model, total=None, state="")
        self._bar.update(
            self._task,
            total=1.0,
            completed=progress.share,
            state=describe(progress),
        )


def describe(progress: Progress) -> str:
    """Recordings done, audio done, speed so far, running WER and time left, in one line."""
    parts = [
        f"{progress.recordings_done} из {progress.recordings}",
        f"аудио {progress.audio_s / 60:.1f} мин",
    ]
    if progress.audio_s and progress.wall_s:
        parts.append(speed(progress.audio_s / progress.wall_s))
    if progress.words.rate is not None:
        parts.append(f"WER {percent(progress.words.rate)} %")
    if progress.finished:
        parts.append(f"за {clock(progress.wall_s)}")
    elif progress.share:
        left_s = progress.wall_s / progress.share * (1 - progress.share)
        parts.append(f"осталось {clock(left_s)}")
    return ", ".join(parts)


def clock(seconds: float) -> str:
    """Whole seconds as «0:12» or «1:02:03»."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
