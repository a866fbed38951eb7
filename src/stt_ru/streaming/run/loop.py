"""The loop: send every recording of a manifest to a streaming model, a model after another."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from stt_ru.audio import SAMPLE_RATE, load_audio
from stt_ru.errors import AudioError, StreamingError, SttRuError, sentence_of
from stt_ru.evaluation import Progress, SilentListener, checked_samples
from stt_ru.provenance import sign
from stt_ru.recognition.threads import call_in_background, map_in_background
from stt_ru.results import FileResult
from stt_ru.scoring.counts import EditCounts, score_texts
from stt_ru.streaming.measures.lagging import lagging
from stt_ru.streaming.measures.latency import stream_figures
from stt_ru.streaming.queue.chunks import OutputChunk, Signal, check_heard
from stt_ru.streaming.run.history import History
from stt_ru.streaming.run.offline import mixed_down, recognize_offline
from stt_ru.streaming.run.results import StreamOptions, StreamReport, StreamResult
from stt_ru.streaming.schedule.remap import remap_time
from stt_ru.streaming.schedule.sender import StreamingSender, make_sender
from stt_ru.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from stt_ru.evaluation import ProgressListener
    from stt_ru.manifest import Sample
    from stt_ru.provenance import Signature
    from stt_ru.results import ModelReport
    from stt_ru.streaming.engines.model import StreamingASR
    from stt_ru.streaming.measures.evaluation import StreamingEvaluationResults
    from stt_ru.streaming.queue.buffer import RecordingId
    from stt_ru.streaming.run.sources import LoadedStream, StreamSource
    from stt_ru.streaming.timing.reference_words import TrueWords

logger = logging.getLogger(__name__)

_TICK_S: Final = 0.5  # how often a waiting loop wakes, to hear Ctrl+C and to look at the clock
_STOPPING_S: Final = 5.0  # a model that does not stop by then is left behind


class ResultListener(Protocol):
    """Told about each recognised row, while its audio is still in memory."""

    def __call__(
        self,
        row: int,
        label: str,
        history: History,
        waveform: NDArray[np.float32],
    ) -> None:
        """A row was recognised.

        Raises:
            ReportError: If something could not be written; it becomes a warning.
        """
        ...


def evaluate_streams(
    sources: Iterable[StreamSource],
    samples: Sequence[Sample],
    truth: TrueWords,
    levels: Sequence[StreamOptions] = (StreamOptions(),),
    *,
    with_offline: bool = True,
    progress: ProgressListener | None = None,
    on_result: ResultListener | None = None,
) -> Iterator[StreamReport]:
    """Load the models one after another and send each of them all the recordings.

    Args:
        sources: Models in the order of the reports.
        samples: Manifest rows.
        truth: When their words were said.
        levels: Ways to send them; each model is measured in all of them.
        with_offline: Also recognise the files offline, where a model can, for the comparison.
        progress: Told about every step.
        on_result: Told about each recognised row.

    Yields:
        A report a model and level, as soon as it is complete; one that did not load has its
        ``error`` set.

    Raises:
        UsageError: If the samples are none, as the path of a manifest.
    """
    listener = progress or SilentListener()
    # A model of the user's own may change the current folder.
    samples = [replace(sample, path=sample.path.absolute()) for sample in checked_samples(samples)]
    for source in sources:
        listener.loading(source.label)
        try:
            loaded = call_in_background(source.load)
        except Exception as error:
            logger.debug("model %s did not load", source.name, exc_info=True)
            yield StreamReport(
                model=source.name,
                label=source.label,
                options=levels[0],
                rows=len(samples),
                error=sentence_of(error),
            )
            continue
        offline: ModelReport | None = None
        for number, options in enumerate(levels):
            label = source.label
            if len(levels) > 1:
                label = f"{label}, потоков: {options.streams}"
            if options.realtime is False and loaded.asr.is_multithreaded:
                yield StreamReport(
                    model=source.name,
                    label=label,
                    options=options,
                    rows=len(samples),
                    error="модель заводит свои потоки, времена не пересчитать: нужен --realtime",
                )
                continue
            run = _Run(source, loaded, samples, truth, options, label, listener, on_result)
            report = run.report()
            if with_offline and loaded.offline is not None and number == 0:
                try:
                    offline = recognize_offline(
                        loaded.offline,
                        samples,
                        [row for row, result in enumerate(report.results) if result.is_mixed],
                        label=f"{source.label}, офлайн",
                        progress=listener,
                    )
                except KeyboardInterrupt:  # what has been streamed is complete: it is not lost
                    stopped = "прервано до конца офлайн-распознавания, ΔWER нет"
                    yield replace(report, warnings=(*report.warnings, stopped))
                    raise
            yield replace(report, offline=offline)
            loaded = run.loaded
        del loaded  # its memory is free before the next one loads


@dataclass(frozen=True, slots=True)
class _Outcome:
    row: int
    result: StreamResult
    warnings: tuple[str, ...] = ()
    run: tuple[History, NDArray[np.float32]] | None = None  # for whoever wants to keep it


class _Run:
    """One model on all the recordings in one way."""

    def __init__(
        self,
        source: StreamSource,
        loaded: LoadedStream,
        samples: Sequence[Sample],
        truth: TrueWords,
        options: StreamOptions,
        label: str,
        listener: ProgressListener,
        on_result: ResultListener | None,
    ) -> None:
        self.loaded = loaded
        self._source = source
        self._samples = samples
        self._truth = truth
        is_parallel = options.streams > 1 or loaded.asr.is_multithreaded
        if options.realtime is None:
            options = replace(options, realtime=is_parallel)
        self._options = options
        self._label = label
        self._listener = listener
        self._on_result = on_result
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._senders: dict[RecordingId, StreamingSender] = {}
        self._rows_of: dict[RecordingId, int] = {}
        self._started = time.perf_counter()

    def report(self) -> StreamReport:
        results: list[StreamResult | None] = [None] * len(self._samples)
        warnings: list[str] = []
        audio_s, words, done = 0.0, EditCounts(), 0

        def state(*, finished: bool = False) -> Progress:
            return Progress(
                model=self._label,
                recordings_done=done,
                recordings=len(self._samples),
                audio_s=audio_s,
                wall_s=time.perf_counter() - self._started,
                words=words,
                finished=finished,
            )

        self._listener.advanced(state())
        if self._options.realtime:
            self._find_words()
        try:
            rows, streams = range(len(self._samples)), self._options.streams
            for outcome in map_in_background(self._outcome, rows, threads=streams, name="stream"):
                if outcome is None:
                    self._listener.advanced(state())
                    continue
                done += 1
                results[outcome.row] = outcome.result
                warnings += outcome.warnings
                if self._on_result is not None and outcome.run is not None:
                    try:
                        self._on_result(outcome.row, self._label, *outcome.run)
                    except SttRuError as error:
                        warnings.append(f"{self._samples[outcome.row].audio}: {error}")
                if outcome.result.row.score is not None:
                    words += outcome.result.row.score.words
                    audio_s += outcome.result.row.duration or 0.0
                self._listener.advanced(state())
        finally:
            self._stop.set()
            for sender in list(self._senders.values()):
                sender.stop()
            stuck = self._stop_model()
        wall_s = time.perf_counter() - self._started
        self._listener.advanced(state(finished=True))
        complete = [result for result in results if result is not None]
        assert len(complete) == len(self._samples), "every row has an outcome"
        complete = self._without_late_answers(complete)
        asr = self.loaded.asr
        return StreamReport(
            model=self._source.name,
            label=self._label,
            options=self._options,
            rows=len(self._samples),
            results=complete,
            compute_s=self._compute_s(complete),
            wall_s=wall_s,
            warnings=(*self.loaded.warnings, *warnings, *stuck),
            signature=_signature(asr, self._samples, self._options, self._truth),
        )

    def _find_words(self) -> None:
        """Align all rows beforehand: done meanwhile, it would take the time of what is measured."""
        for row, sample in enumerate(self._samples):
            # What is wrong with a row is said when its turn comes.
            with contextlib.suppress(Exception):
                self._truth.of(row, sample, _track(sample).waveform)

    def _outcome(self, row: int) -> _Outcome:
        sample = self._samples[row]
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
        return _Outcome(row, result, said, (history, waveform) if self._on_result else None)

    def _history(self, row: int, sample: Sample, waveform: NDArray[np.float32]) -> History:
        truth = self._truth.of(row, sample, waveform)
        asr = self._running()
        options = self._options
        id = f"{row}-{uuid.uuid4().hex[:8]}"
        cutoffs, sender = make_sender(waveform, asr, options.interval_s, options.speed, id)
        self._senders[id] = sender
        self._rows_of[id] = row
        sender.start_sending(without_delays=not options.realtime)
        try:
            outputs = self._receive(asr, sender)
        finally:
            sender.stop()
            del self._senders[id]  # and with it the audio
        inputs = sender.history_so_far()
        check_heard(inputs)
        worked_s = outputs[-1].put_timestamp - inputs[0].get_timestamp
        compute_s = max(0.0, worked_s - asr.input_buffer.waited_s(id))
        if not options.realtime:
            inputs, outputs = remap_time(cutoffs, inputs, outputs)
        return History(
            audio=sample.audio,
            channel=sample.channel,
            model=self._source.name,
            reference=sample.text,
            cutoffs=cutoffs,
            input_chunks=inputs,
            output_chunks=outputs,
            timed_transcription=truth,
            compute_s=compute_s if options.streams == 1 else None,
            is_remapped=not options.realtime,
            settings={**asr.settings, **_how(options)},
        )

    def _receive(self, asr: StreamingASR, sender: StreamingSender) -> list[OutputChunk]:
        """All answers for a recording.

        Raises:
            StreamingError: If the model, the sender or the recording has failed, or nothing has
                happened for too long.
        """
        outputs: list[OutputChunk] = []
        patience_s = self._options.timeout_s
        buffer, clock = asr.output_buffer, asr.clock
        heard_at = clock.now()
        taken = 0
        while not outputs or outputs[-1].data is not Signal.FINISH:
            try:
                chunk, _ = buffer.get(sender.id, timeout=min(_TICK_S, patience_s))
            except TimeoutError:
                sent = sender.history_so_far()
                while taken < len(sent) and not math.isnan(sent[taken].get_timestamp):
                    heard_at = max(heard_at, sent[taken].get_timestamp)
                    taken += 1
                if self._stop.is_set():
                    raise StreamingError("прервано") from None
                if clock.now() - heard_at <= patience_s:
                    continue
                error = StreamingError(
                    f"модель молчит: {patience_s:g} с не берёт звук этой записи и не отвечает"
                )
                asr.fail(sender.id, error)
                self._replace_if_stuck(asr)
                raise error from None
            outputs.append(chunk)
            heard_at = clock.now()
        if (late := buffer.error_of(sender.id)) is not None:
            raise StreamingError(sentence_of(late)) from late
        return outputs

    def _running(self) -> StreamingASR:
        with self._lock:
            asr = self.loaded.asr
            if not asr.is_thread_started():
                asr.start_thread()
            return asr

    def _replace_if_stuck(self, asr: StreamingASR) -> None:
        """Load the model again when its thread neither works for anybody nor stops."""
        with self._lock:
            taken_at = asr.input_buffer.taken_at
            is_idle = math.isnan(taken_at) or asr.clock.now() - taken_at > self._options.timeout_s
            if asr is not self.loaded.asr or not is_idle:
                return
            try:
                asr.stop_thread(min(_STOPPING_S, self._options.timeout_s))
            except TimeoutError:
                logger.debug("%s is stuck and left behind", self._source.name)
                self.loaded = self._source.load()

    def _stop_model(self) -> tuple[str, ...]:
        try:
            self.loaded.asr.stop_thread(_STOPPING_S)
        except TimeoutError as error:
            return (str(error),)
        return ()

    def _without_late_answers(self, results: list[StreamResult]) -> list[StreamResult]:
        """The results; rows for which the model said more after their end have failed."""
        results = list(results)
        for id, row in self._rows_of.items():
            late = self.loaded.asr.output_buffer.own_error_of(id)
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
            return sum(known)
        spans = [result.worked for result in results if result.worked is not None]
        if not spans:
            return None
        # Several recordings shared the model: the time it was there less the time it waited.
        begun = min(begun for begun, _ in spans)
        ended = max(ended for _, ended in spans)
        waited = sum(self.loaded.asr.input_buffer.waited_s(id) for id in self._rows_of)
        return max(0.0, ended - begun - waited)


@dataclass(frozen=True, slots=True)
class _Track:
    """What of a recording is sent for a row.

    Attributes:
        waveform: Samples at 16 kHz, shape (n,).
        is_mixed: Whether they are the mean of distinct channels.
        warnings: What was repaired, or is suspicious.
    """

    waveform: NDArray[np.float32]
    is_mixed: bool
    warnings: tuple[str, ...]


def _track(sample: Sample) -> _Track:
    """The track of a row: its channel, or the mix of distinct ones when it names none.

    Raises:
        AudioError: If it cannot be read, or has no such channel.
    """
    audio = load_audio(sample.path, sample_rate=SAMPLE_RATE)
    tracks = audio.waveform
    if all(np.array_equal(tracks[0], track) for track in tracks[1:]):
        return _Track(tracks[0], False, audio.warnings)
    if sample.channel is None:
        said = "каналы разные, а channel не указан: модели отправлена их смесь"
        return _Track(mixed_down(tracks), True, (*audio.warnings, said))
    if sample.channel >= len(tracks):
        raise AudioError(
            f"в записи каналов: {len(tracks)}, канала {sample.channel} в ней нет (счёт с 0)"
        )
    return _Track(np.ascontiguousarray(tracks[sample.channel]), False, audio.warnings)


def _result(sample: Sample, history: History, duration_s: float, *, is_mixed: bool) -> StreamResult:
    # The grid is for pictures only: figures come from every change of the text.
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
    asr: StreamingASR, samples: Sequence[Sample], options: StreamOptions, truth: TrueWords
) -> Signature:
    kinds = sorted(set(truth.sources.values())) or ["none"]
    return sign(
        {
            "model": asr.name,
            **asr.settings,
            **_how(options),
            "timings": "+".join(kinds),
            **({"aligner": truth.aligner} if {"alignment", "segments"} & set(kinds) else {}),
        },
        samples,
    )
