"""The loop: send every recording of a manifest to a streaming model, a model after another."""

from __future__ import annotations

import contextlib
import logging
import math
import queue
import threading
import time
import uuid
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from stt_ru.audio import load_audio
from stt_ru.background import call_in_background
from stt_ru.errors import AudioError, StreamingError, SttRuError, UsageError
from stt_ru.evaluation import Progress, evaluate
from stt_ru.normalize import NORMALIZER, normalize
from stt_ru.results import FileResult, ModelReport, Signature, references_digest
from stt_ru.scoring import EDIT_SPLIT, EditCounts, Score, score_texts, total_score
from stt_ru.statistics import Comparison, compare
from stt_ru.streaming.buffer import sentence_of
from stt_ru.streaming.chunks import OutputChunk, Signal
from stt_ru.streaming.figures import Spread, StreamFigures, spread, stream_figures
from stt_ru.streaming.history import History
from stt_ru.streaming.lagging import Lagging, lagging
from stt_ru.streaming.remap import remap_time
from stt_ru.streaming.sender import StreamingSender, make_sender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from stt_ru.evaluation import ProgressListener
    from stt_ru.manifest import Sample
    from stt_ru.streaming.buffer import RecordingId
    from stt_ru.streaming.evaluation import StreamingEvaluationResults
    from stt_ru.streaming.model import StreamingASR
    from stt_ru.streaming.truth import TrueWords
    from stt_ru.transcriber import Recognizer

logger = logging.getLogger(__name__)

SAMPLE_RATE: Final = 16_000

_TICK_S: Final = 0.5  # how often a waiting loop wakes, to hear Ctrl+C and to look at the clock
_STOPPING_S: Final = 5.0  # a model that does not stop by then is left behind


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """How recordings are sent.

    Attributes:
        interval_s: Wall time between two pieces, seconds.
        speed: How much faster than real time it is spoken.
        realtime: Send on schedule, not at once with the times remapped; None for whichever the
            model allows.
        streams: How many recordings are sent at once; more than one only in real time.
        timeout_s: Seconds of silence after which a recording is given up: the model neither took
            audio of it nor answered.

    Raises:
        UsageError: If they make no sense together.
    """

    interval_s: float = 0.2
    speed: float = 1.0
    realtime: bool | None = None
    streams: int = 1
    timeout_s: float = 60.0

    def __post_init__(self) -> None:
        if not 0 < self.interval_s < math.inf or not 0 < self.speed < math.inf:
            raise UsageError(
                f"интервал {self.interval_s} с, скорость {self.speed}: нужны числа больше 0"
            )
        if self.streams < 1 or not self.timeout_s > 0:
            raise UsageError(
                f"потоков {self.streams}, ожидание {self.timeout_s} с: нужны числа больше 0"
            )
        if self.streams > 1 and self.realtime is False:
            raise UsageError("несколько записей сразу отправляются только в реальном времени")


@dataclass(frozen=True, slots=True)
class LoadedStream:
    """A model in memory.

    Attributes:
        asr: The streaming model, not running.
        offline: The same model as a recogniser of files; None where there is none.
        warnings: Sentences in Russian about the loading.
    """

    asr: StreamingASR
    offline: Recognizer | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamSource:
    """A model that can be loaded when its turn comes.

    Attributes:
        name: What the user asked for.
        label: The name for the table.
        load: Loads it; its exception becomes the report's error.
    """

    name: str
    label: str
    load: Callable[[], LoadedStream]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamResult:
    """One manifest row as one model heard it while it played.

    Attributes:
        row: The final text with its errors, or why the row failed.
        figures: How late and how steady; None when the row failed.
        lags: AL, LAAL, DAL; None when they do not exist.
        compute_s: Wall seconds the model worked on it; None when several shared the model.
        worked: Wall time of the first chunk taken and of the last answer, on the clock of the
            queues; None when the row failed.
    """

    row: FileResult
    figures: StreamFigures | None = None
    lags: Lagging | None = None
    compute_s: float | None = None
    worked: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReport:
    """One model on the whole manifest, while it played.

    Attributes:
        model: The name the user asked for.
        label: The name for the table.
        options: How the recordings were sent.
        rows: Manifest rows asked for.
        results: One a row in manifest order; empty when the model did not load.
        offline: The same model on the same rows offline; None where that was not measured.
        compute_s: Wall seconds the model worked on all recognised rows; None without any.
        wall_s: Wall seconds of the loop.
        error: Why the model did not load; None when it did.
        warnings: Sentences in Russian.
        signature: How the figures were made; None when the model did not load.
    """

    model: str
    label: str
    options: StreamOptions
    rows: int
    results: Sequence[StreamResult] = ()
    offline: ModelReport | None = None
    compute_s: float | None = None
    wall_s: float = 0.0
    error: str | None = None
    warnings: Sequence[str] = ()
    signature: Signature | None = None

    @property
    def score(self) -> Score:
        """Errors of the final texts of all recognised rows together."""
        return total_score(r.row.score for r in self.results if r.row.score is not None)

    @property
    def failed(self) -> int:
        """Rows that were not recognised; all of them when the model did not load."""
        if self.error is not None:
            return self.rows
        return sum(result.row.error is not None for result in self.results)

    @property
    def audio_s(self) -> float:
        """Seconds of audio of the recognised rows."""
        return sum(figures.audio_s for figures in self._figures())

    @property
    def first_word(self) -> Spread:
        """From the end of a word to its first appearance, seconds, over the words of all rows."""
        return spread(word.first_s for f in self._figures() for word in f.latencies)

    @property
    def finalisation(self) -> Spread:
        """From the end of a word to the moment after which it stays right, seconds."""
        return spread(word.final_s for f in self._figures() for word in f.latencies)

    @property
    def first_text(self) -> Spread:
        """From the start of a recording to its first text, seconds, over the rows with any."""
        return spread(f.first_text_s for f in self._figures() if f.first_text_s is not None)

    @property
    def final_delay(self) -> Spread:
        """From the end of the last true word to the model's end, seconds, over the rows."""
        return spread(f.final_delay_s for f in self._figures() if f.final_delay_s is not None)

    @property
    def interpolated_words(self) -> int:
        """Words among the latencies whose own times are guesses."""
        return sum(word.is_interpolated for f in self._figures() for word in f.latencies)

    @property
    def unstable_words(self) -> int:
        """Words that were shown and then revised, moved or taken back."""
        return sum(figures.unstable_words for figures in self._figures())

    @property
    def shown_words(self) -> int:
        """Words of the final texts."""
        return sum(figures.shown_words for figures in self._figures())

    @property
    def unstable_rate(self) -> float | None:
        """Unstable words over words of the final texts; None without any."""
        return self.unstable_words / self.shown_words if self.shown_words else None

    @property
    def revisions_per_minute(self) -> float | None:
        """Revisions a minute of audio; None without audio."""
        revisions = sum(figures.revisions for figures in self._figures())
        return 60 * revisions / self.audio_s if self.audio_s else None

    @property
    def compute_per_audio(self) -> float | None:
        """Seconds of work a second of audio; None without audio."""
        if self.compute_s is None or not self.audio_s:
            return None
        return self.compute_s / self.audio_s

    @property
    def lags(self) -> Lagging | None:
        """Mean of the rows' lags, as SimulEval averages; None without any."""
        rows = [result.lags for result in self.results if result.lags is not None]
        if not rows:
            return None
        names = ("al", "laal", "dal", "al_elapsed", "laal_elapsed", "dal_elapsed")
        return Lagging(*(sum(getattr(row, name) for row in rows) / len(rows) for name in names))

    @property
    def cost(self) -> Comparison | None:
        """The final texts against the same model offline, row by row; None without that."""
        if self.offline is None or self.error is not None:
            return None
        return compare(self.offline, self.as_model_report())

    def as_model_report(self) -> ModelReport:
        """The final texts as a report of `stt-ru evaluate`."""
        return ModelReport(
            model=self.model,
            label=self.label,
            rows=self.rows,
            results=[result.row for result in self.results],
            audio_s=self.audio_s,
            wall_s=self.wall_s,
            error=self.error,
            warnings=self.warnings,
            signature=self.signature,
        )

    def _figures(self) -> Iterator[StreamFigures]:
        return (result.figures for result in self.results if result.figures is not None)


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


class _Silent:
    def loading(self, label: str) -> None:
        pass

    def advanced(self, progress: Progress) -> None:
        pass


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
    """
    listener = progress or _Silent()
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
                offline = evaluate(
                    loaded.offline, samples, label=f"{source.label}, офлайн", progress=listener
                )
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
            for outcome in self._outcomes():
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
                self._truth.of(row, sample, _waveform(sample)[0])

    def _outcomes(self) -> Iterator[_Outcome | None]:
        """Outcomes as they come; None now and then, so that the caller can act."""
        todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        for row in range(len(self._samples)):
            todo.put(row)
        outcomes: queue.SimpleQueue[_Outcome] = queue.SimpleQueue()

        def work() -> None:
            while not self._stop.is_set():
                try:
                    row = todo.get_nowait()
                except queue.Empty:
                    return
                outcomes.put(self._outcome(row))

        for number in range(min(self._options.streams, len(self._samples))):
            threading.Thread(target=work, name=f"stream-{number}", daemon=True).start()
        waiting_for = len(self._samples)
        while waiting_for:
            try:
                yield outcomes.get(timeout=_TICK_S)
            except queue.Empty:
                yield None
            else:
                waiting_for -= 1

    def _outcome(self, row: int) -> _Outcome:
        sample = self._samples[row]
        duration_s: float | None = None
        try:
            waveform, warnings = _waveform(sample)
            duration_s = len(waveform) / SAMPLE_RATE
            history = self._history(row, sample, waveform)
            result = _result(sample, history, duration_s)
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
        said = tuple(f"{sample.audio}: {text}" for text in warnings)
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
        is_whole = bool(inputs) and inputs[-1].data is Signal.FINISH
        if not is_whole or math.isnan(inputs[-1].get_timestamp):
            raise StreamingError("модель закончила, не дослушав запись")
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


def _waveform(sample: Sample) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """The track of a row at 16 kHz, and what was repaired.

    Raises:
        AudioError: If it cannot be read, or has no such channel.
    """
    audio = load_audio(sample.path, sample_rate=SAMPLE_RATE)
    tracks = audio.waveform
    if all(np.array_equal(tracks[0], track) for track in tracks[1:]):
        return tracks[0], audio.warnings
    if sample.channel is None:
        mixed: NDArray[np.float32] = tracks.mean(axis=0, dtype=np.float32)
        return mixed, (*audio.warnings, "каналы разные, а channel не указан: отправлена их смесь")
    if sample.channel >= len(tracks):
        raise AudioError(
            f"в записи каналов: {len(tracks)}, канала {sample.channel} в ней нет (счёт с 0)"
        )
    return np.ascontiguousarray(tracks[sample.channel]), audio.warnings


def _result(sample: Sample, history: History, duration_s: float) -> StreamResult:
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
    return Signature(
        {
            "model": asr.name,
            **{str(name): str(value) for name, value in asr.settings.items()},
            **_how(options),
            "timings": "+".join(kinds),
            **({"aligner": truth.aligner} if {"alignment", "segments"} & set(kinds) else {}),
            "norm": NORMALIZER,
            "split": EDIT_SPLIT,
            "empty": "insertions",
            "rows": str(len(samples)),
            "refs": references_digest(samples),
            **{package: version(package) for package in ("stt-ru", "onnx-asr", "onnxruntime")},
        }
    )


@contextlib.contextmanager
def running(asr: StreamingASR) -> Iterator[StreamingASR]:
    """The model at work; stopped at the end.

    Raises:
        TimeoutError: If it does not stop.
    """
    asr.start_thread()
    try:
        yield asr
    finally:
        asr.stop_thread()
