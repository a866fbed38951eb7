"""What ``stt-ru stream`` saves of each recording: its history, and a picture."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stt_ru.errors import ReportError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stt_ru.manifest import Sample
    from stt_ru.streaming.run.history import History
    from stt_ru.streaming.run.results import StreamReport


class RecordingKeeper:
    """Writes the history and the picture of each recording as soon as it is done.

    Args:
        samples: Manifest rows.
        history: Folder of the histories; None for none.
        plots: Folder of the pictures; None for none.
    """

    def __init__(self, samples: Sequence[Sample], history: Path | None, plots: Path | None) -> None:
        self._samples = samples
        # A recogniser may change the current folder.
        self._history = history and history.absolute()
        self._plots = plots and plots.absolute()
        self._names: dict[str, str] = {}  # of each model's folder, by its label

    @property
    def is_needed(self) -> bool:
        """Whether anything is to be saved."""
        return self._history is not None or self._plots is not None

    def __call__(
        self, row: int, label: str, history: History, waveform: NDArray[np.float32]
    ) -> None:
        """Save what was asked for of one recording.

        Raises:
            ReportError: If it cannot be written.
        """
        from stt_ru.audio.tracks import stem_of_row

        sample = self._samples[row]
        name = f"{row + 1:04d}-{stem_of_row(_file_name(sample.path.stem), sample.channel)}"
        if self._history is not None:
            from stt_ru.streaming.run.history import save_history

            save_history(history, self._folder(self._history, label) / f"{name}.json")
        if self._plots is not None:
            from stt_ru.streaming.run.plots import save_recording_plot

            file = self._folder(self._plots, label) / f"{name}.png"
            save_recording_plot(history.evaluate(waveform), file, title=f"{label}: {sample.audio}")

    def _folder(self, parent: Path, label: str) -> Path:
        """The folder of a model, made; no two models have one, however alike their labels are.

        Raises:
            ReportError: If it cannot be made.
        """
        from stt_ru.files.writing import reason

        if label not in self._names:
            taken = {name.casefold() for name in self._names.values()}
            wanted = _file_name(label)
            names = itertools.chain([wanted], (f"{wanted}-{n}" for n in itertools.count(2)))
            self._names[label] = next(name for name in names if name.casefold() not in taken)
        folder = parent / self._names[label]
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise ReportError(f"каталог {folder} не создан: {reason(error)}") from error
        return folder

    def finish(self, reports: Sequence[StreamReport]) -> None:
        """Draw all models together."""
        if self._plots is None or not reports:
            return
        from stt_ru.streaming.run.plots import save_summary_plot

        save_summary_plot(reports, self._plots / "summary.png")


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.\-]+", "_", text).strip("_")[:80] or "_"
