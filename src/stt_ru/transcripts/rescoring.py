"""From files of texts to reports: pairs of texts are scored, and signed as counted now."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from stt_ru.defaults import TRANSCRIPT_FORMATS
from stt_ru.errors import UsageError
from stt_ru.files.reading import CSV_SUFFIXES, read_text
from stt_ru.files.wording import listed
from stt_ru.manifest.csv_rows import read_csv as read_manifest_csv
from stt_ru.manifest.folder import read_folder
from stt_ru.manifest.jsonl_rows import read_jsonl as read_manifest_jsonl
from stt_ru.manifest.rows import Faults, UnreadMarks, text_fault
from stt_ru.manifest.sample import Sample
from stt_ru.provenance import SCORED_BY, sign, sign_again
from stt_ru.report.model_report import NotebookReport
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.multi_reference import score_reference
from stt_ru.text.marked_references import Marked, read_references
from stt_ru.text.normalize import normalize
from stt_ru.transcripts.pairing import (
    pair_columns,
    pair_files,
    pair_report,
    pair_samples,
)
from stt_ru.transcripts.stored_file import open_file
from stt_ru.transcripts.tables import ColumnNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stt_ru.transcripts.pairing import Paired, PairedTexts, Place
    from stt_ru.transcripts.stored_file import StoredFile


@dataclass(frozen=True, slots=True)
class Scored:
    """Reports of stored texts.

    Attributes:
        reports: One per system.
        notices: What was skipped or taken for granted, sentences in Russian.
    """

    reports: Sequence[ModelReport]
    notices: Sequence[str]


def score_files(
    paths: Sequence[str | Path],
    *,
    columns: ColumnNames = ColumnNames(),  # noqa: B008 - frozen
    file_format: str | None = None,
    manifest: str | Path | None = None,
    allow_empty: bool = False,
    variants: bool = False,
) -> Scored:
    """Score stored texts.

    When every file holds both texts (a report, or columns of both) each is one or more systems;
    otherwise the first file holds the references, and each of the others one system's texts.

    Args:
        paths: The files.
        columns: Names of columns in CSV and JSON Lines.
        file_format: How to read the files, one of `TRANSCRIPT_FORMATS`; None for by suffix and
            content.
        manifest: References to use instead of those stored; recordings need not be there.
        allow_empty: Take empty references of the manifest as recordings without speech.
        variants: Read «{тысяча|1000}», «{ну}» and «<*>» in the references; done also for all files
            when a report among them was made so.

    Raises:
        UsageError: If the files cannot be read or do not fit together.
    """
    if file_format is not None and file_format not in TRANSCRIPT_FORMATS:
        raise UsageError(f"формат «{file_format}»: есть {', '.join(TRANSCRIPT_FORMATS)}")
    files = [open_file(str(path), file_format, columns) for path in paths]
    notices = [notice for file in files for notice in file.notices]
    if all(file.holds_both(columns) for file in files):
        if manifest is None:
            stored = [file.report for file in files if file.report is not None]
            notices += [warning for report in stored for warning in report.warnings]
        systems = _numbered([system for file in files for system in _systems(file, columns)])
    elif len(files) == 1:
        raise _one_sided(files[0])
    else:
        references, *others = files
        systems = [
            _new_system(file, pair_files(references, file, columns, variants=variants))
            for file in others
        ]
    notices += [notice for system in systems for notice in system.paired.notices]
    read_so = [system.report.label for system in systems if system.has_variants]
    if read_so and not variants:
        variants = True
        if len(read_so) < len(systems):
            notices.append(
                f"варианты в эталонах прочитаны во всех файлах: с --variants сделан отчёт "
                f"{listed(read_so)}"
            )
    if manifest is not None:
        samples = _references(str(manifest), notices, allow_empty=allow_empty, variants=variants)
        systems = [_with_references(system, samples) for system in systems]
        notices += [notice for system in systems for notice in system.paired.notices]
    else:
        places = (place for system in systems for place in system.paired.places)
        _check_marks(places, notices, variants=variants)
    reports = [_scored(system, variants=variants) for system in systems]
    if len({_digest(report) for report in reports if report.error is None}) > 1:
        notices.append("эталоны в файлах различаются: WER систем посчитан на разных текстах")
    return Scored(reports, list(dict.fromkeys(notices)))


@dataclass(frozen=True, slots=True)
class _System:
    """One system, its texts not yet scored.

    Attributes:
        report: What its report says beside the rows.
        paired: Its texts.
    """

    report: ModelReport
    paired: Paired

    @property
    def has_variants(self) -> bool:
        signature = self.report.signature
        return signature is not None and "variants" in signature.fields


def _systems(file: StoredFile, columns: ColumnNames) -> list[_System]:
    """The systems of a file that holds both texts."""
    if file.report is None:
        assert file.table is not None
        return [_new_system(file, pair_columns(file.table, columns))]
    models = file.report.models
    if not models:
        raise UsageError(f"{file.path}: в отчёте нет ни одной модели")
    return [  # the speed was not measured now
        _System(replace(model, results=(), wall_s=0.0), pair_report(model, file.path))
        for model in models
    ]


def _one_sided(file: StoredFile) -> UsageError:
    there = "" if file.table is None else f" (колонки: {listed(file.table.names)})"
    return UsageError(
        f"{file.path}{there}: здесь один текст на строку, а нужны два: укажите и эталоны, и "
        "тексты модели (stt-ru score ЭТАЛОНЫ ТЕКСТЫ), отчёт .json или таблицу с обоими "
        "(--ref-column, --hyp-column)"
    )


def _new_system(file: StoredFile, paired: Paired) -> _System:
    """A system that is known by its file alone, whose signature names its texts."""
    digest = hashlib.sha256()
    for row in paired.rows:
        digest.update(repr(row.hypothesis).encode("utf-8", "surrogatepass"))
    report = NotebookReport(
        model=file.path,
        label=file.path,
        rows=len(paired.rows),
        audio_s=math.fsum(row.duration or 0.0 for row in paired.rows if row.error is None),
        # The rows are signed when it is known how they are scored.
        signature=sign(
            {"model": file.path, "texts": digest.hexdigest()[:12]}, (), packages=SCORED_BY
        ),
    )
    return _System(report, paired)


def _numbered(systems: Sequence[_System]) -> list[_System]:
    """The systems, with numbers where two would have one name."""
    times = Counter(system.report.label for system in systems)
    seen: Counter[str] = Counter()
    named = []
    for system in systems:
        label = system.report.label
        seen[label] += 1
        if times[label] > 1:
            report = replace(system.report, label=f"{label} [{seen[label]}]")
            system = replace(system, report=report)
        named.append(system)
    return named


def _check_marks(places: Iterable[Place], notices: list[str], *, variants: bool) -> None:
    """Refuse marks that cannot be read, or tell that marks are not read."""
    unread = UnreadMarks()
    faults = Faults("эталоны")
    for place, text in dict.fromkeys(places):
        if not variants:
            unread.see(place, text)
        elif (fault := text_fault(text, allow_empty=True, variants=True)) is not None:
            faults.add(place, fault)
    faults.raise_if_any()
    notices += unread.warnings()


def _references(
    path: str, notices: list[str], *, allow_empty: bool, variants: bool
) -> list[Sample]:
    """Rows of a manifest whose recordings need not be there."""
    faults = Faults(path)
    if Path(path).is_dir():
        rows = list(read_folder(path, faults, notices.append))
    else:
        text = read_text(path)
        is_csv = Path(path).suffix.lower() in CSV_SUFFIXES
        read = read_manifest_csv if is_csv else read_manifest_jsonl
        rows = list(read(text, faults))
    unread = UnreadMarks()
    for row in rows:
        if row.text is None:
            continue
        fault = text_fault(row.text, allow_empty=allow_empty, variants=variants)
        if fault is not None:
            faults.add(row.place, fault)
        if not variants:
            unread.see(faults.place(row.place), row.text)
    faults.raise_if_any()
    notices += unread.warnings()
    return [
        Sample(row.audio, row.text, row.channel, row.extra)
        for row in rows
        if row.audio is not None and row.text is not None
    ]


def _with_references(system: _System, samples: Sequence[Sample]) -> _System:
    """The system with the references of a manifest."""
    report = replace(system.report, rows=len(samples))
    if report.error is not None:
        return _System(report, replace(system.paired, notices=()))
    return _System(report, pair_samples(report.label, system.paired.rows, samples))


def _scored(system: _System, *, variants: bool) -> ModelReport:
    """The report as this version counts it, its signature saying so."""
    report = system.report
    if report.error is not None:
        return report
    rows = system.paired.rows
    texts = ((row.audio, row.reference) for row in rows)
    references = read_references(texts, variants=variants)
    results = [_result(row, one) for row, one in zip(rows, references, strict=True)]
    report = replace(report, rows=len(results), results=results)
    fields = report.signature.fields if report.signature else {"model": report.model}
    samples = [Sample(row.audio, row.reference, row.channel) for row in results]
    return replace(
        report, signature=sign_again(fields, samples, references=references, variants=variants)
    )


def _result(row: PairedTexts, reference: str | Marked) -> FileResult:
    hypothesis = score = chosen = compared = None
    if row.error is None:
        assert row.hypothesis is not None, "a pair has either an error or a hypothesis"
        hypothesis = row.hypothesis
        hypothesis_words = normalize(hypothesis)
        score, chosen = score_reference(reference, hypothesis_words)
        compared = (reference, hypothesis_words) if isinstance(reference, str) else None
    return FileResult(
        audio=row.audio,
        channel=row.channel,
        reference=row.reference,
        chosen=chosen,
        hypothesis=hypothesis,
        score=score,
        duration=row.duration,
        seconds=row.seconds,
        error=row.error,
        from_cache=row.from_cache,
        segments=row.segments,
        extra=row.extra,
        compared=compared,
    )


def _digest(report: ModelReport) -> str | None:
    return report.signature.fields["refs"] if report.signature else None
