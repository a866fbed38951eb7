"""The loop: recognise every recording of a manifest and score its rows, one model at a time."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from stt_ru.errors import ModelLoadError, SttRuError, UsageError, sentence_of
from stt_ru.manifest import Sample, load_manifest
from stt_ru.provenance import sign
from stt_ru.recognition.by_channel import transcribe_by_channel
from stt_ru.recognition.progress import Progress, ProgressListener, SilentListener, Tally
from stt_ru.recognition.recognizer import LoadedRecognizer, Recognizer, Transcript, is_count
from stt_ru.recognition.threads import call_in_background, map_in_background
from stt_ru.report.model_report import NotebookReport
from stt_ru.report.table import format_table
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.counts import total_score
from stt_ru.scoring.multi_reference import score_reference
from stt_ru.text.marked_references import Marked, VariantsError, read_references
from stt_ru.text.normalize import has_digits, has_mixed_scripts, normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from stt_ru.provenance import Signature
    from stt_ru.recognition.recognizer import RecognizerInfo

__all__ = [
    "FileResult",
    "ModelReport",
    "ModelSource",
    "Progress",
    "ProgressListener",
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
    """A model to be loaded when its turn comes.

    Attributes:
        name: The name the user asked for.
        label: The name for the table.
        load: Loads it; its exception becomes the report's error.
        concurrency: Recordings at a time; None for the recogniser's own ``concurrency``.
    """

    name: str
    label: str
    load: Callable[[], Recognizer]
    concurrency: int | None = None


def evaluate_models(
    sources: Iterable[ModelSource],
    samples: Sequence[Sample],
    *,
    variants: bool = False,
    progress: ProgressListener | None = None,
) -> Iterator[ModelReport]:
    """Load the models one by one, evaluate each on the samples, and free it.

    Args:
        sources: Models in the order of the reports.
        samples: Manifest rows.
        variants: As in `evaluate`.
        progress: Told about every step.

    Yields:
        One report per model, as soon as it is complete; if the model did not load, with ``error``.

    Raises:
        UsageError: If ``samples`` is not a list of samples but, say, the path of a manifest.
    """
    listener = progress or SilentListener()
    # A recogniser may change the current directory.
    samples = [replace(sample, path=sample.path.absolute()) for sample in checked_samples(samples)]
    references = _references(samples, variants=variants)
    for source in sources:
        listener.loading(source.label)
        try:
            loaded = call_in_background(partial(_load, source))
        except SttRuError as error:
            yield _not_loaded(source, samples, str(error))
            continue
        yield evaluate(
            loaded,
            samples,
            label=source.label,
            concurrency=source.concurrency,
            variants=variants,
            references=references,
            progress=listener,
        )
        del loaded  # frees its memory before the next one loads


def evaluate(
    recognizer: Recognizer | LoadedRecognizer,
    samples: Sequence[Sample],
    *,
    label: str | None = None,
    concurrency: int | None = None,
    variants: bool = False,
    references: Sequence[str | Marked] | None = None,
    progress: ProgressListener | None = None,
) -> ModelReport:
    """Recognise every recording once and score its rows.

    A recording that fails becomes an error of its rows, never an exception of this function.

    Args:
        recognizer: A `stt_ru.Transcriber` or any other `Recognizer`; or a `LoadedRecognizer`.
        samples: Manifest rows; rows of one file are one recording.
        label: The name for the table; None for the recogniser's ``label`` or ``name``.
        concurrency: Recordings at a time, each in its own thread; None for the recogniser's
            ``concurrency``, or 1 if it has none.
        variants: Read «{тысяча|1000}», «{ну}» and «<*>» in the samples' texts: the hypothesis is
            compared with the branch that gives the fewest errors.
        references: The samples' texts as compared; None to read them here.
        progress: Told about every recording.

    Returns:
        A report with one result per sample, in order.

    Raises:
        UsageError: If the recogniser, the samples or ``concurrency`` is invalid, or the marks of
            a text cannot be read.
    """
    loaded = recognizer
    if not isinstance(loaded, LoadedRecognizer):
        loaded = LoadedRecognizer.of(loaded)
    info = loaded.info
    samples = checked_samples(samples)
    if concurrency is not None and not is_count(concurrency):
        raise UsageError(f"concurrency = {concurrency!r}: нужно целое число не меньше 1")
    label = label or info.label
    recordings = _recordings(samples)
    if references is None:
        references = _references(samples, variants=variants)
    results: list[FileResult | None] = [None] * len(samples)
    durations_s: list[float] = []
    warnings: dict[int, list[str]] = {}  # per recording, keyed by its first row
    tally = Tally(
        progress or SilentListener(),
        label,
        recordings=len(recordings),
        bytes_total=sum(recording.size for recording in recordings),
    )
    tally.tell()
    for outcome in _recognized(loaded, recordings, concurrency or info.concurrency):
        if outcome is None:  # nothing finished, but time has passed
            tally.tell()
            continue
        rows = outcome.recording.rows
        scored = list(_score_rows(outcome, samples, references))
        for row, result in zip(rows, scored, strict=True):
            results[row] = result
        scores = [result.score for result in scored if result.score is not None]
        audio_s = 0.0
        if outcome.transcript is not None:
            if scores and not outcome.transcript.from_cache:
                audio_s = outcome.transcript.duration or 0.0
            name = samples[rows[0]].audio
            warnings[rows[0]] = [f"{name}: {text}" for text in outcome.transcript.warnings]
        durations_s.append(audio_s)
        tally.add(total_score(scores).words, audio_s, outcome.recording.size)
        tally.tell()
    wall_s = tally.finish()
    complete = [result for result in results if result is not None]
    assert len(complete) == len(samples), "every recording has an outcome"
    return NotebookReport(
        model=info.name,
        label=label,
        rows=len(samples),
        results=complete,
        audio_s=math.fsum(durations_s),  # the same in whatever order they finished
        wall_s=wall_s,
        warnings=(
            *loaded.warnings(),
            *_manifest_warnings(info, samples, references),
            *(text for row in sorted(warnings) for text in warnings[row]),
        ),
        signature=_signature(info, samples, references, variants=variants),
    )


def _load(source: ModelSource) -> LoadedRecognizer:
    """The model, loaded and checked; whatever its code raises becomes an `SttRuError`.

    It runs in its own thread, where the user's Ctrl+C never arrives: so even an exception that
    would end the program comes from the model, e.g. the `SystemExit` of a library.
    """
    try:
        return LoadedRecognizer.of(source.load())
    except SttRuError:
        raise
    except BaseException as error:
        logger.debug("model %s did not load", source.name, exc_info=True)
        raise ModelLoadError(sentence_of(error)) from error


def checked_samples(samples: object) -> list[Sample]:
    """The samples as a list.

    Raises:
        UsageError: If they are anything else, e.g. the path of a manifest or a single sample.
    """
    if isinstance(samples, (str, os.PathLike, Sample)) or not isinstance(samples, Iterable):
        raise UsageError(
            f"samples: нужен список Sample, а не {type(samples).__name__}; манифест читает "
            "load_manifest(путь)"
        )
    found = list(samples)
    if invalid := [sample for sample in found if not isinstance(sample, Sample)]:
        raise UsageError(f"samples: нужны Sample, а не {invalid[0]!r}")
    return found


def _references(samples: Sequence[Sample], *, variants: bool) -> list[str | Marked]:
    try:
        texts = ((sample.audio, sample.text) for sample in samples)
        return read_references(texts, variants=variants)
    except VariantsError as error:
        raise UsageError(str(error)) from error


@dataclass(frozen=True, slots=True)
class _Recording:
    """One audio file, the manifest rows about it, and its size in bytes."""

    path: Path
    rows: list[int]
    names_channels: bool
    size: int


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of one recording: a transcript or an error, and the wall seconds it took."""

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
        _Recording(
            path=samples[rows[0]].path.absolute(),
            rows=rows,
            names_channels=any(samples[row].channel is not None for row in rows),
            size=files[samples[rows[0]].path][1],
        )
        for rows in rows_of.values()
    ]


def _file(path: Path) -> tuple[object, int]:
    """A key that is equal for all names of one file («./», links), and its size in bytes."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return path, 0  # what is wrong is reported when it is read
    return (status.st_dev, status.st_ino), status.st_size


def _recognized(
    loaded: LoadedRecognizer, recordings: Sequence[_Recording], threads: int
) -> Iterator[_Outcome | None]:
    """Outcomes as they come; None now and then while there are none."""
    # Largest first, so that a long one at the end does not leave cores idle.
    largest_first = sorted(recordings, key=lambda recording: recording.size, reverse=True)
    return map_in_background(
        partial(_transcribe, loaded),
        largest_first if threads > 1 else recordings,
        threads=threads,
        name="recognizer",
    )


def _transcribe(loaded: LoadedRecognizer, recording: _Recording) -> _Outcome:
    started = time.perf_counter()
    transcript = error = None
    try:
        if recording.names_channels and not loaded.info.knows_channels:
            transcript = transcribe_by_channel(loaded, recording.path)
        else:
            transcript = loaded.recognizer.transcribe(recording.path)
        if not isinstance(transcript, Transcript):
            kind = type(transcript).__name__
            transcript = None
            error = f"{loaded.info.name}.transcribe вернул {kind}, а нужен Transcript"
    except SttRuError as failure:
        error = str(failure)
    except BaseException as failure:  # as in _load; a dead thread would never deliver an outcome
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
        reference, normalized = references[row], normalize(hypothesis)
        score, chosen = score_reference(reference, normalized)
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
            compared=(reference, normalized) if isinstance(reference, str) else None,
        )


def _seconds(measured_s: float, transcript: Transcript) -> float | None:
    if transcript.from_cache:
        return None
    return measured_s if transcript.seconds is None else transcript.seconds


def _manifest_warnings(
    info: RecognizerInfo, samples: Sequence[Sample], references: Sequence[str | Marked]
) -> Iterator[str]:
    is_mono = (info.settings or {}).get("channel") == "mono"
    if is_mono and any(sample.channel is not None for sample in samples):
        yield "с --mono эталон каждого канала сравнивается со смесью всех каналов"
    mixed = sum(
        has_mixed_scripts(text if isinstance(text, str) else text.text) for text in references
    )
    if mixed:
        yield f"латинские буквы внутри русских слов, в эталонах: {mixed}; такие слова не совпадут"


def _signature(
    info: RecognizerInfo,
    samples: Sequence[Sample],
    references: Sequence[str | Marked],
    *,
    variants: bool,
) -> Signature:
    own = {name: value for name, value in (info.settings or {}).items() if name != "model"}
    return sign({"model": info.name, **own}, samples, references=references, variants=variants)


def _not_loaded(source: ModelSource, samples: Sequence[Sample], error: str) -> ModelReport:
    return NotebookReport(model=source.name, label=source.label, rows=len(samples), error=error)
