"""The loop: send every recording of a manifest to each streaming model in turn."""

from __future__ import annotations

import contextlib
import logging
import math
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from stt_ru.audio import SAMPLE_RATE, load_audio
from stt_ru.audio.tracks import samples_of_row
from stt_ru.errors import SttRuError, sentence_of
from stt_ru.evaluation import checked_samples
from stt_ru.provenance import sign
from stt_ru.recognition.progress import SilentListener, Tally
from stt_ru.recognition.threads import call_in_background, map_in_background
from stt_ru.results import FileResult
from stt_ru.scoring.counts import EditCounts, score_texts
from stt_ru.streaming.measures.lagging import lagging
from stt_ru.streaming.measures.latency import stream_figures
from stt_ru.streaming.run.exchange import Exchanges
from stt_ru.streaming.run.history import History
from stt_ru.streaming.run.offline import compared_with, recognize_offline
from stt_ru.streaming.run.results import StreamOptions, StreamReport, StreamResult
from stt_ru.streaming.run.running_model import RunningModel
from stt_ru.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stt_ru.manifest import Sample
    from stt_ru.provenance import Signature
    from stt_ru.recognition.progress import ProgressListener
    from stt_ru.results import ModelReport
    from stt_ru.streaming.measures.evaluation import StreamingEvaluationResults
    from stt_ru.streaming.queue.buffer import RecordingId
    from stt_ru.streaming.run.sources import LoadedStream, StreamInfo, StreamSource
    from stt_ru.streaming.timing.reference_words import ReferenceWords

logger = logging.getLogger(__name__)


class ResultListener(Protocol):
    """Called for each recognised row, while its audio is still in memory."""

    def __call__(
        self,
        row: int,
        label: str,
        history: History,
        waveform: NDArray[np.float32],
    ) -> None:
        """Handle a recognised row.

        Raises:
            ReportError: If something could not be written; it becomes a warning.
        """
        ...


def evaluate_streams(
    sources: Iterable[StreamSource],
    samples: Sequence[Sample],
    reference_words: ReferenceWords,
    levels: Sequence[StreamOptions] = (StreamOptions(),),
    *,
    with_offline: bool = True,
    progress: ProgressListener | None = None,
    on_result: ResultListener | None = None,
) -> Iterator[StreamReport]:
    """Load the models one after another and send all the recordings to each.

    Args:
        sources: Models in the order of the reports.
        samples: Manifest rows.
        reference_words: The timed reference words of the rows.
        levels: Ways of sending; each model is measured with every one of them.
        with_offline: Also recognise whole recordings with models that can, for comparison.
        progress: Notified of every step.
        on_result: Called for each recognised row.

    Yields:
        One report per model and level, as soon as it is complete; a model that did not load has
        its ``error`` set.

    Raises:
        UsageError: If ``samples`` is not a sequence of samples, e.g. the path of a manifest.
    """
    # A user-supplied model may change the current folder.
    samples = [replace(sample, path=sample.path.absolute()) for sample in checked_samples(samples)]
    task = _Task(samples, reference_words, progress or SilentListener(), on_result)
    for source in sources:
        task.listener.loading(source.label)
        try:
            loaded = call_in_background(source.load)
        except Exception as error:
            logger.debug("model %s did not load", source.name, exc_info=True)
            yield task.not_measured(source, source.label, levels[0], sentence_of(error))
            continue
        yield from _in_all_ways(task, source, loaded, levels, with_offline=with_offline)
        del loaded  # free its memory before the next one loads


@dataclass(frozen=True, slots=True)
class _Task:
    """What every model is measured on, and the listeners."""

    samples: Sequence[Sample]
    reference_words: ReferenceWords
    listener: ProgressListener
    on_result: ResultListener | None

    def not_measured(
        self, source: StreamSource, label: str, options: StreamOptions, error: str
    ) -> StreamReport:
        return StreamReport(
            model=source.name, label=label, options=options, rows=len(self.samples), error=error
        )


def _in_all_ways(
    task: _Task,
    source: StreamSource,
    loaded: LoadedStream,
    levels: Sequence[StreamOptions],
    *,
    with_offline: bool,
) -> Iterator[StreamReport]:
    """The reports of one model, each compared with its offline pass, which is made only once."""
    offline: ModelReport | None = None
    for options in levels:
        label = source.label
        if len(levels) > 1:
            label = f"{label}, потоков: {options.streams}"
        if options.realtime is False and loaded.info.is_multithreaded:
            refusal = "модель заводит свои потоки, времена нельзя пересчитать: нужен --realtime"
            yield task.not_measured(source, label, options, refusal)
            continue
        model = RunningModel(source, loaded, options.timeout_s)
        report = _Run(task, source, model, options, label).report()
        if with_offline and loaded.offline is not None:
            try:
                if offline is None:
                    mixed = [row for row, result in enumerate(report.results) if result.is_mixed]
                    offline = recognize_offline(
                        loaded.offline,
                        task.samples,
                        mixed,
                        label=f"{source.label}, офлайн",
                        progress=task.listener,
                    )
                report = compared_with(offline, report)
            except KeyboardInterrupt:  # the streamed results are complete and must not be lost
                stopped = "прервано до конца офлайн-распознавания, ΔWER нет"
                yield replace(report, warnings=(*report.warnings, stopped))
                raise
        yield report
        loaded = model.loaded


@dataclass(frozen=True, slots=True)
class _Outcome:
    row: int
    result: StreamResult
    warnings: tuple[str, ...] = ()
    run: tuple[History, NDArray[np.float32]] | None = None  # for ``on_result``


class _Run:
    """One model on all the recordings, sent in one way."""

    def __init__(
        self,
        task: _Task,
        source: StreamSource,
        model: RunningModel,
        options: StreamOptions,
        label: str,
    ) -> None:
        if options.realtime is None:
            is_parallel = options.streams > 1 or model.loaded.info.is_multithreaded
            options = replace(options, realtime=is_parallel)
        self._task = task
        self._source = source
        self._model = model
        self._info = model.loaded.info
        self._options = options
        self._label = label
        self._exchanges = Exchanges(model, options)
        self._rows_of: dict[RecordingId, int] = {}

    def report(self) -> StreamReport:
        samples = self._task.samples
        tally = Tally(self._task.listener, self._label, recordings=len(samples))
        tally.tell()
        if self._options.realtime:
            self._find_words()
        try:
            outcomes = self._outcomes(tally)
        finally:
            self._exchanges.stop()
            stuck = self._model.stop()
        wall_s = tally.finish()
        results = self._without_late_answers([outcome.result for outcome in outcomes])
        row_warnings = [text for outcome in outcomes for text in outcome.warnings]
        return StreamReport(
            model=self._source.name,
            label=self._label,
            options=self._options,
            rows=len(samples),
            results=results,
            compute_s=self._compute_s(results),
            wall_s=wall_s,
            warnings=(*self._model.loaded.warnings, *row_warnings, *stuck),
            signature=_signature(self._info, samples, self._options, self._task.reference_words),
        )

    def _find_words(self) -> None:
        """Align all rows in advance: doing it during the run would slow down what is measured."""
        for row, sample in enumerate(self._task.samples):
            # An error in a row is reported when its turn comes.
            with contextlib.suppress(Exception):
                self._task.reference_words.of(row, sample, _track(sample).waveform)

    def _outcomes(self, tally: Tally) -> list[_Outcome]:
        """The outcome of each row, in manifest order; reported as soon as it is known."""
        rows = range(len(self._task.samples))
        found: dict[int, _Outcome] = {}
        threads = self._options.streams
        for outcome in map_in_background(self._outcome, rows, threads=threads, name="stream"):
            if outcome is not None:  # None: only a tick of the clock
                found[outcome.row] = self._kept(outcome)
                recognized = outcome.result.row
                if recognized.score is None:
                    tally.add(EditCounts(), 0.0)
                else:
                    tally.add(recognized.score.words, recognized.duration or 0.0)
            tally.tell()
        return [found[row] for row in rows]

    def _kept(self, outcome: _Outcome) -> _Outcome:
        """The outcome without its audio, after passing it to ``on_result``."""
        failed: tuple[str, ...] = ()
        if self._task.on_result is not None and outcome.run is not None:
            try:
                self._task.on_result(outcome.row, self._label, *outcome.run)
            except SttRuError as error:
                failed = (f"{self._task.samples[outcome.row].audio}: {error}",)
        return replace(outcome, warnings=(*outcome.warnings, *failed), run=None)

    def _outcome(self, row: int) -> _Outcome:
        sample = self._task.samples[row]
        duration_s: float | None = None
        try:
            track = _track(sample)
            waveform = track.waveform
            duration_s = len(waveform) / SAMPLE_RATE
            history = self._history(row, sample, waveform)
            result = _result(sample, history, duration_s, is_mixed=track.is_mixed)
        except Exception as error:
            logger.debug("%s failed", sample.audio, exc_info=True)
            failed = FileResult(
                audio=sample.audio,
                channel=sample.channel,
                reference=sample.text,
                duration=duration_s,
                error=sentence_of(error),
                extra=sample.extra,
            )
            return _Outcome(row, StreamResult(row=failed))
        said = tuple(f"{sample.audio}: {text}" for text in track.warnings)
        is_wanted = self._task.on_result is not None
        return _Outcome(row, result, said, (history, waveform) if is_wanted else None)

    def _history(self, row: int, sample: Sample, waveform: NDArray[np.float32]) -> History:
        timed = self._task.reference_words.of(row, sample, waveform)
        id = f"{row}-{uuid.uuid4().hex[:8]}"
        self._rows_of[id] = row
        exchange = self._exchanges.send(waveform, id)
        return History(
            audio=sample.audio,
            channel=sample.channel,
            model=self._source.name,
            reference=sample.text,
            cutoffs=exchange.cutoffs,
            input_chunks=exchange.inputs,
            output_chunks=exchange.outputs,
            timed_transcription=timed,
            compute_s=exchange.compute_s,
            is_remapped=not self._options.realtime,
            settings={**self._info.settings, **_how(self._options)},
        )

    def _without_late_answers(self, results: list[StreamResult]) -> list[StreamResult]:
        """The results; rows for which the model answered after their end become failed."""
        results = list(results)
        for id, row in self._rows_of.items():
            late = self._model.loaded.asr.output_buffer.own_error_of(id)
            if late is None or results[row].row.error is not None:
                continue
            results[row] = StreamResult(
                row=replace(
                    results[row].row,
                    hypothesis=None,
                    score=None,
                    seconds=None,
                    error=sentence_of(late),
                )
            )
        return results

    def _compute_s(self, results: Sequence[StreamResult]) -> float | None:
        known = [result.compute_s for result in results if result.compute_s is not None]
        if known:
            return math.fsum(known)
        spans = [result.worked for result in results if result.worked is not None]
        if not spans:
            return None
        # Several recordings shared the model: the time from start to end minus the waiting time.
        begun = min(begun for begun, _ in spans)
        ended = max(ended for _, ended in spans)
        audio = self._model.loaded.asr.input_buffer
        waited_s = math.fsum(audio.waited_s(id) for id in self._rows_of)
        return max(0.0, ended - begun - waited_s)


@dataclass(frozen=True, slots=True)
class _Track:
    """The part of a recording that is sent for a row.

    Attributes:
        waveform: Samples at 16 kHz, shape (n,).
        is_mixed: Whether they are the mean of distinct channels.
        warnings: What was repaired or looks suspicious.
    """

    waveform: NDArray[np.float32]
    is_mixed: bool
    warnings: tuple[str, ...]


def _track(sample: Sample) -> _Track:
    """The track of a row: its channel, or the mix of distinct channels if it names none.

    Raises:
        AudioError: If the recording cannot be read, or has no such channel.
    """
    audio = load_audio(sample.path, sample_rate=SAMPLE_RATE)
    samples, is_mixed = samples_of_row(audio.waveform, sample.channel)
    warnings = audio.warnings
    if is_mixed:
        warnings += ("каналы разные, а channel не указан: модели отправлена их смесь",)
    return _Track(samples, is_mixed, warnings)


def _result(sample: Sample, history: History, duration_s: float, *, is_mixed: bool) -> StreamResult:
    # The grid is only for plots: figures come from every change of the text.
    evaluated: StreamingEvaluationResults = history.evaluate(partial_alignment_interval=math.inf)
    figures = stream_figures(evaluated)
    text = history.text
    row = FileResult(
        audio=sample.audio,
        channel=sample.channel,
        reference=sample.text,
        hypothesis=text,
        score=score_texts(normalize(sample.text), normalize(text)),
        duration=duration_s,
        seconds=history.compute_s,
        extra=sample.extra,
    )
    n_words = len(evaluated.timed_transcription.tokens)
    return StreamResult(
        row=row,
        figures=figures,
        lags=lagging(figures.emitted, figures.audio_s, n_words),
        compute_s=history.compute_s,
        is_mixed=is_mixed,
        worked=(history.input_chunks[0].get_timestamp, history.output_chunks[-1].put_timestamp),
    )


def _how(options: StreamOptions) -> Mapping[str, str]:
    return {
        "send": "realtime" if options.realtime else "remap",
        "interval": f"{options.interval_s:g}s",
        "speed": f"{options.speed:g}",
        "streams": str(options.streams),
    }


def _signature(
    info: StreamInfo,
    samples: Sequence[Sample],
    options: StreamOptions,
    reference_words: ReferenceWords,
) -> Signature:
    kinds = sorted(set(reference_words.sources.values())) or ["none"]
    is_aligned = bool({"alignment", "segments"} & set(kinds))
    return sign(
        {
            "model": info.name,
            **info.settings,
            **_how(options),
            "timings": "+".join(kinds),
            **({"aligner": reference_words.aligner} if is_aligned else {}),
        },
        samples,
    )
