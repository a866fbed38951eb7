"""The same model on whole recordings, for comparison with the stream."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from stt_ru.analysis.aligned_rows import AlignedReport
from stt_ru.analysis.significance import compare
from stt_ru.audio import SAMPLE_RATE, load_audio
from stt_ru.audio.tracks import mixed_down
from stt_ru.evaluation import evaluate
from stt_ru.provenance import join
from stt_ru.recognition.recognizer import LoadedRecognizer, RecognizerInfo
from stt_ru.recognition.waveforms import hearing

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from stt_ru.manifest import Sample
    from stt_ru.recognition.progress import ProgressListener
    from stt_ru.recognition.recognizer import Transcript
    from stt_ru.results import FileResult, ModelReport
    from stt_ru.streaming.run.results import StreamReport


def recognize_offline(
    recognizer: LoadedRecognizer,
    samples: Sequence[Sample],
    mixed: Collection[int],
    *,
    label: str,
    progress: ProgressListener | None = None,
) -> ModelReport:
    """The report of `stt-ru evaluate`, except that rows streamed as a mix are recognised as a mix.

    Args:
        recognizer: The model.
        samples: Manifest rows, at least one.
        mixed: Rows whose distinct channels were sent as their mean.
        label: The name shown in the progress.
        progress: Notified of every recording.
    """
    parts = (
        (recognizer, [row for row in range(len(samples)) if row not in mixed]),
        (_mixing_down(recognizer), sorted(mixed)),
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
        audio_s=math.fsum(report.audio_s for report in reports),
        wall_s=math.fsum(report.wall_s for report in reports),
        warnings=[warning for report in reports for warning in report.warnings],
        signature=join((report.signature for report in reports), samples),
    )


def compared_with(offline: ModelReport, report: StreamReport) -> StreamReport:
    """The report with the same model's offline report and the cost of streaming added.

    The bootstrap of the comparison takes seconds for thousands of rows, so it is done here, once.
    """
    cost = None
    if report.error is None:
        cost = compare(AlignedReport(offline), AlignedReport(report.as_model_report()))
    return replace(report, offline=offline, cost=cost)


def _mixing_down(loaded: LoadedRecognizer) -> LoadedRecognizer:
    """The recogniser, given the mix of distinct channels, as the stream was."""
    info = loaded.info
    settings = {**(info.settings or {}), "channel": "mix"}
    return LoadedRecognizer(
        _MixedDown(loaded),
        RecognizerInfo(name=info.name, label=info.label, settings=settings, knows_channels=True),
    )


class _MixedDown:
    def __init__(self, loaded: LoadedRecognizer) -> None:
        self._loaded = loaded
        self.name = loaded.info.name

    def transcribe(self, path: str | Path) -> Transcript:
        audio = load_audio(path, sample_rate=SAMPLE_RATE)
        with hearing(self._loaded) as hear:
            return hear(mixed_down(audio.waveform))
