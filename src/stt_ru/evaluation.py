"""The loop: recognise every recording of a manifest, score its rows, a model after another."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from stt_ru.errors import ModelLoadError, SttRuError, UsageError, sentence_of
from stt_ru.manifest import Sample, load_manifest
from stt_ru.provenance import sign
from stt_ru.recognition.threads import call_in_background, map_in_background
from stt_ru.recognition.transcriber import Recognizer, Transcript
from stt_ru.report.table import format_table
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.counts import EditCounts
from stt_ru.scoring.multi_reference import score_reference
from stt_ru.text.marked_references import Marked, VariantsError, read_reference
from stt_ru.text.normalize import has_digits, has_mixed_scripts, normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from stt_ru.provenance import Signature

__all__ = [
    "FileResult",
    "ModelReport",
    "ModelSource",
    "Progress",
    "Sample",
    "evaluate",
    "evaluate_models",
    "format_table",
    "has_digits",
    "load_manifest",
    "normalize",
]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model that can be loaded when its turn comes.

    Attributes:
        name: What the user asked for.
        label: The name for the table.
        load: Loads it; its exception becomes the report's error.
        concurrency: Recordings at a time; None for what the recogniser says of itself.
    """

    name: str
    label: str
    load: Callable[[], Recognizer]
    concurrency: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where the loop of one model stands.

    Attributes:
        model: Its label.
        recordings_done: Recognised or failed.
        recordings: All of them.
        audio_s: Seconds of audio recognised.
        wall_s: Wall seconds since the loop began.
        words: Word errors of the rows recognised so far.
        finished: Whether this is the loop's last word.
        bytes_done: Size of the files recognised or failed; the largest come first, so that their
            number tells little of the time that is left.
        bytes_total: Size of all files; 0 when it is not known.
    """

    model: str
    recordings_done: int
    recordings: int
    audio_s: float
    wall_s: float
    words: EditCounts
    finished: bool = False
    bytes_done: int = 0
    bytes_total: int = 0

    @property
    def share(self) -> float:
        """How much of the work is done, from 0 to 1: by size, or by number without sizes."""
        if self.bytes_total:
            return self.bytes_done / self.bytes_total
        return self.recordings_done / self.recordings if self.recordings else 1.0


class ProgressListener(Protocol):
    """Told where the evaluation stands; called in the caller's thread."""

    def loading(self, label: str) -> None:
        """A model is being loaded."""
        ...

    def advanced(self, progress: Progress) -> None:
        """A recording is done, or some time has passed."""
        ...


class SilentListener:
    """A `ProgressListener` that says nothing."""

    def loading(self, label: str) -> None:
        """Say nothing."""

    def advanced(self, progress: Progress) -> None:
        """Say nothing."""


def evaluate_models(
    sources: Iterable[ModelSource],
    samples: Sequence[Sample],
    *,
    variants: bool = False,
    progress: ProgressListener | None = None,
) -> Iterator[ModelReport]:
    """Load the models one after another, evaluate each on the samples, and let it go.

    Args:
        sources: Models in the order of the reports.
        samples: Manifest rows.
        variants: As in `evaluate`.
        progress: Told about every step.

    Yields:
        A report a model, as soon as it is complete; one that did not load has its ``error`` set.

    Raises:
        UsageError: If the samples are none, as the path of a manifest.
    """
    listener = progress or SilentListener()
    # A recogniser may change the current folder.
    samples = [replace(sample, path=sample.path.absolute()) for sample in checked_samples(samples)]
    for source in sources:
        listener.loading(source.label)
        try:
            recognizer = call_in_background(partial(_load, source))
        except SttRuError as error:
            yield _not_loaded(source, samples, str(error))
            continue
        yield evaluate(
            recognizer,
            samples,
            label=source.label,
            concurrency=source.concurrency,
            variants=variants,
            progress=listener,
        )
        del recognizer  # its memory is free before the next one loads


def evaluate(
    recognizer: Recognizer,
    samples: Sequence[Sample],
    *,
    label: str | None = None,
    concurrency: int | None = None,
    variants: bool = False,
    progress: ProgressListener | None = None,
) -> ModelReport:
    """Recognise every recording once and score its rows.

    A recording that fails is a row's error, never an exception of this function.

    Args:
        recognizer: A `stt_ru.Transcriber` or anything that is a `Recognizer`.
        samples: Manifest rows; rows of one file are one recording.
        label: The name for the table; None for the recogniser's ``label`` or ``name``.
        concurrency: Recordings at a time, each in a thread of its own; None for the recogniser's
            ``concurrency``, or 1 when it has none.
        variants: Read «{тысяча|1000}», «{ну}» and «<*>» in the samples' texts: the branch with the
            fewest errors is what the hypothesis is compared with.
        progress: Told about every recording.

    Returns:
        A report with a result a sample, in their order.

    Raises:
        UsageError: If the recogniser, the samples or ``concurrency`` is not what it should be, or
            the marks of a text cannot be read.
    """
    listener = progress or SilentListener()
    check_recognizer(recognizer)
    samples = checked_samples(samples)
    if concurrency is not None and not _is_count(concurrency):
        raise UsageError(f"concurrency = {concurrency!r}: нужно целое число не меньше 1")
    label = label or str(getattr(recognizer, "label", recognizer.name))
    recordings = _recordings(samples)
    n_bytes = sum(recording.size for recording in recordings)
    references = _references(samples, variants=variants)
    threads: int = getattr(recognizer, "concurrency", 1) if concurrency is None else concurrency
    results: list[FileResult | None] = [None] * len(samples)
    warnings: list[str] = []
    words = EditCounts()
    audio_s = 0.0
    done = bytes_done = 0
    started = time.perf_counter()

    def state(*, finished: bool = False) -> Progress:
        return Progress(
            model=label,
            recordings_done=done,
            recordings=len(recordings),
            audio_s=audio_s,
            wall_s=time.perf_counter() - started,
            words=words,
            finished=finished,
            bytes_done=bytes_done,
            bytes_total=n_bytes,
        )

    listener.advanced(state())
    for outcome in _recognized(recognizer, recordings, threads):
        if outcome is None:  # some time has passed
            listener.advanced(state())
            continue
        done += 1
        bytes_done += outcome.recording.size
        rows = outcome.recording.rows
        is_recognized = False
        for row, result in zip(rows, _score_rows(outcome, samples, references), strict=True):
            results[row] = result
            if result.score is not None:
                words += result.score.words
                is_recognized = True
        if outcome.transcript is not None:
            if is_recognized and not outcome.transcript.from_cache:
                audio_s += outcome.transcript.duration or 0.0
            name = samples[rows[0]].audio
            warnings += [f"{name}: {warning}" for warning in outcome.transcript.warnings]
        listener.advanced(state())
    wall_s = time.perf_counter() - started
    listener.advanced(state(finished=True))
    complete = [result for result in results if result is not None]
    assert len(complete) == len(samples), "every recording has an outcome"
    return ModelReport(
        model=recognizer.name,
        label=label,
        rows=len(samples),
        results=complete,
        audio_s=audio_s,
        wall_s=wall_s,
        warnings=(
            *getattr(recognizer, "warnings", ()),
            *_manifest_warnings(recognizer, samples, references),
            *warnings,
        ),
        signature=_signature(recognizer, samples, variants=variants),
    )


def _load(source: ModelSource) -> Recognizer:
    """The model, checked; whatever its code raises is a `SttRuError`.

    It runs in a thread of its own, where no Ctrl+C of the user's arrives: also an exception that
    would end the program is the model's own, e.g. the `SystemExit` of a library.
    """
    try:
        recognizer = source.load()
    except SttRuError:
        raise
    except BaseException as error:
        logger.debug("model %s did not load", source.name, exc_info=True)
        raise ModelLoadError(sentence_of(error)) from error
    check_recognizer(recognizer)
    return recognizer


def check_recognizer(recognizer: object) -> None:
    """Refuse an object that cannot be evaluated, before its recordings fail one by one.

    Raises:
        UsageError: Saying what is wrong with it.
    """
    kind = type(recognizer).__name__
    try:
        name = getattr(recognizer, "name", None)
        concurrency = getattr(recognizer, "concurrency", 1)
        settings = getattr(recognizer, "settings", {})
        warnings = getattr(recognizer, "warnings", ())
    except Exception as error:
        raise UsageError(f"{kind}: {sentence_of(error)}") from error
    if isinstance(recognizer, type) or not callable(getattr(recognizer, "transcribe", None)):
        raise UsageError(f"{kind} – не распознаватель: нужен объект с name и transcribe(path)")
    if not isinstance(name, str) or not name:
        raise UsageError(f"{kind}.name: нужна непустая строка, а не {name!r}")
    if not _is_count(concurrency):
        raise UsageError(f"{kind}.concurrency: нужно целое число не меньше 1, а не {concurrency!r}")
    if not isinstance(settings, Mapping):
        raise UsageError(f"{kind}.settings: нужен словарь, а не {settings!r}")
    if isinstance(warnings, str) or not isinstance(warnings, Sequence):
        raise UsageError(f"{kind}.warnings: нужен список строк, а не {warnings!r}")
    if strange := [warning for warning in warnings if not isinstance(warning, str)]:
        raise UsageError(f"{kind}.warnings: нужны строки, а не {strange[0]!r}")


def checked_samples(samples: object) -> list[Sample]:
    """The samples as a list.

    Raises:
        UsageError: If they are something else, as the path of a manifest or one sample alone.
    """
    if isinstance(samples, (str, os.PathLike, Sample)) or not isinstance(samples, Iterable):
        raise UsageError(
            f"samples: нужен список Sample, а не {type(samples).__name__}; манифест читает "
            "load_manifest(путь)"
        )
    found = list(samples)
    if strange := [sample for sample in found if not isinstance(sample, Sample)]:
        raise UsageError(f"samples: нужны Sample, а не {strange[0]!r}")
    return found


def _references(samples: Sequence[Sample], *, variants: bool) -> list[str | Marked]:
    if not variants:
        return [normalize(sample.text) for sample in samples]
    references = []
    for sample in samples:
        try:
            references.append(read_reference(sample.text))
        except VariantsError as error:
            raise UsageError(f"{sample.audio}: {error}") from error
    return references


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


@dataclass(frozen=True, slots=True)
class _Recording:
    """One audio file, the manifest rows about it, and its size in bytes."""

    path: Path
    rows: list[int]
    size: int


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of one recording: a transcript or an error, and the wall seconds it took."""

    recording: _Recording
    transcript: Transcript | None
    error: str | None
    seconds: float


def _recordings(samples: Sequence[Sample]) -> list[_Recording]:
    rows_of: dict[object, list[int]] = {}
    files: dict[Path, tuple[object, int]] = {}
    for row, sample in enumerate(samples):
        file = files.get(sample.path)
        if file is None:
            file = files[sample.path] = _file(sample.path)
        rows_of.setdefault(file[0], []).append(row)
    return [
        _Recording(samples[rows[0]].path.absolute(), rows, files[samples[rows[0]].path][1])
        for rows in rows_of.values()
    ]


def _file(path: Path) -> tuple[object, int]:
    """What is equal for the names of one file («./», links), and its size in bytes."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return path, 0  # its turn will tell what is wrong with it
    return (status.st_dev, status.st_ino), status.st_size


def _recognized(
    recognizer: Recognizer, recordings: Sequence[_Recording], threads: int
) -> Iterator[_Outcome | None]:
    """Outcomes as they come; None now and then while nothing does."""
    # The largest first, so that a long one at the end does not leave cores idle.
    largest_first = sorted(recordings, key=lambda recording: recording.size, reverse=True)
    return map_in_background(
        partial(_transcribe, recognizer),
        largest_first if threads > 1 else recordings,
        threads=threads,
        name="recognizer",
    )


def _transcribe(recognizer: Recognizer, recording: _Recording) -> _Outcome:
    started = time.perf_counter()
    transcript = error = None
    try:
        transcript = recognizer.transcribe(recording.path)
        if not isinstance(transcript, Transcript):
            kind = type(transcript).__name__
            transcript = None
            error = f"{recognizer.name}.transcribe вернул {kind}, а нужен Transcript"
    except SttRuError as failure:
        error = str(failure)
    except BaseException as failure:  # as in _load; the outcome of a dead thread would never come
        logger.debug("%s failed", recording.path, exc_info=True)
        error = sentence_of(failure)
    return _Outcome(recording, transcript, error, time.perf_counter() - started)


def _score_rows(
    outcome: _Outcome, samples: Sequence[Sample], references: Sequence[str | Marked]
) -> Iterator[FileResult]:
    transcript = outcome.transcript
    for row in outcome.recording.rows:
        sample = samples[row]
        hypothesis, error = None, outcome.error
        if transcript is not None:
            try:
                hypothesis = transcript.text_of(sample.channel)
            except SttRuError as failure:
                error = str(failure)
        if hypothesis is None:
            yield FileResult(
                audio=sample.audio,
                channel=sample.channel,
                reference=sample.text,
                duration=transcript.duration if transcript else None,
                error=error,
                extra=sample.extra,
            )
            continue
        assert transcript is not None
        score, chosen = score_reference(references[row], normalize(hypothesis))
        yield FileResult(
            audio=sample.audio,
            channel=sample.channel,
            reference=sample.text,
            chosen=chosen,
            hypothesis=hypothesis,
            score=score,
            duration=transcript.duration,
            seconds=_seconds(outcome.seconds, transcript),
            from_cache=transcript.from_cache,
            segments=transcript.segments_of(sample.channel),
            extra=sample.extra,
        )


def _seconds(measured_s: float, transcript: Transcript) -> float | None:
    if transcript.from_cache:
        return None
    return measured_s if transcript.seconds is None else transcript.seconds


def _manifest_warnings(
    recognizer: Recognizer, samples: Sequence[Sample], references: Sequence[str | Marked]
) -> Iterator[str]:
    settings = getattr(recognizer, "settings", {})
    if settings.get("channel") == "mono" and any(sample.channel is not None for sample in samples):
        yield "с --mono эталон каждого канала сравнивается со смесью всех каналов"
    mixed = sum(
        has_mixed_scripts(text if isinstance(text, str) else text.text) for text in references
    )
    if mixed:
        yield f"латинские буквы внутри русских слов, в эталонах: {mixed}; такие слова не совпадут"


def _signature(recognizer: Recognizer, samples: Sequence[Sample], *, variants: bool) -> Signature:
    settings = getattr(recognizer, "settings", {})
    own = {name: value for name, value in settings.items() if name != "model"}
    return sign({"model": recognizer.name, **own}, samples, variants=variants)


def _not_loaded(source: ModelSource, samples: Sequence[Sample], error: str) -> ModelReport:
    return ModelReport(model=source.name, label=source.label, rows=len(samples), error=error)
