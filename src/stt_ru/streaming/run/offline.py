"""The same model on the same recordings, whole: what a stream is compared with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from stt_ru.audio import SAMPLE_RATE, load_audio
from stt_ru.evaluation import evaluate
from stt_ru.provenance import join
from stt_ru.recognition.waveforms import hearing

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from stt_ru.evaluation import ProgressListener
    from stt_ru.manifest import Sample
    from stt_ru.recognition.transcriber import Recognizer, Transcript
    from stt_ru.results import FileResult, ModelReport


def recognize_offline(
    recognizer: Recognizer,
    samples: Sequence[Sample],
    mixed: Collection[int],
    *,
    label: str,
    progress: ProgressListener | None = None,
) -> ModelReport:
    """The report of `stt-ru evaluate`, but of rows that were streamed as a mix, the same mix.

    Args:
        recognizer: The model.
        samples: Manifest rows, at least one.
        mixed: Rows whose distinct channels were sent as their mean.
        label: The name for the progress.
        progress: Told about every recording.
    """
    parts = (
        (recognizer, [row for row in range(len(samples)) if row not in mixed]),
        (_MixedDown(recognizer), sorted(mixed)),
    )
    results: dict[int, FileResult] = {}
    reports = []
    for model, rows in parts:
        if not rows:
            continue
        report = evaluate(model, [samples[row] for row in rows], label=label, progress=progress)
        results.update(zip(rows, report.results, strict=True))
        reports.append(report)
    if len(reports) == 1:
        return reports[0]
    return replace(
        reports[0],
        rows=len(samples),
        results=[results[row] for row in range(len(samples))],
        audio_s=sum(report.audio_s for report in reports),
        wall_s=sum(report.wall_s for report in reports),
        warnings=[warning for report in reports for warning in report.warnings],
        signature=join((report.signature for report in reports), samples),
    )


def mixed_down(tracks: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean of the channels, shape (n,)."""
    mean: NDArray[np.float32] = tracks.mean(axis=0, dtype=np.float32)
    return mean


class _MixedDown:
    """A recogniser that hears the channels of a recording as the stream had them: mixed."""

    def __init__(self, recognizer: Recognizer) -> None:
        self._recognizer = recognizer
        self.name = recognizer.name
        self.settings = {**getattr(recognizer, "settings", {}), "channel": "mix"}

    def transcribe(self, path: str | Path) -> Transcript:
        audio = load_audio(path, sample_rate=SAMPLE_RATE)
        with hearing(self._recognizer) as hear:
            return hear(mixed_down(audio.waveform))
