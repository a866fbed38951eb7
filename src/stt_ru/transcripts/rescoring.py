"""From files of texts to reports: who meets whom, and what was left alone."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from stt_ru.errors import UsageError
from stt_ru.files.reading import CSV_SUFFIXES, read_text
from stt_ru.files.wording import listed, shown
from stt_ru.manifest.csv_rows import read_csv as read_manifest_csv
from stt_ru.manifest.folder import read_folder
from stt_ru.manifest.jsonl_rows import read_jsonl as read_manifest_jsonl
from stt_ru.manifest.rows import Faults, UnreadMarks, text_fault
from stt_ru.manifest.sample import Sample
from stt_ru.provenance import SCORED_BY, sign, sign_again
from stt_ru.report.json_read import StoredReport, parse_report
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.multi_reference import score_reference
from stt_ru.text.marked_references import read_reference
from stt_ru.text.normalize import normalize
from stt_ru.transcripts.detection import FORMATS, detect, read_file
from stt_ru.transcripts.lines import read_kaldi, read_lines, read_trn
from stt_ru.transcripts.nist import (
    Segment,
    TimedWord,
    read_ctm,
    read_stm,
    recordings_as_texts,
    segments_as_texts,
    words_by_segment,
)
from stt_ru.transcripts.tables import ColumnNames, Table, read_csv, read_jsonl
from stt_ru.transcripts.texts import Key, StoredText, TextFile, by_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stt_ru.transcripts.tables import Side


@dataclass(frozen=True, slots=True)
class Scored:
    """Reports of stored texts.

    Attributes:
        reports: A report a system.
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
        file_format: How to read the files, one of `FORMATS`; None for by suffix and content.
        manifest: References to use instead of those stored; recordings need not be there.
        allow_empty: Take empty references of the manifest as recordings without speech.
        variants: Read «{тысяча|1000}», «{ну}» and «<*>» in the references; done also for all files
            when a report among them was made so.

    Raises:
        UsageError: If the files cannot be read or do not fit together.
    """
    if file_format is not None and file_format not in FORMATS:
        raise UsageError(f"формат «{file_format}»: есть {', '.join(FORMATS)}")
    files = [_open(str(path), file_format, columns) for path in paths]
    notices = [notice for file in files for notice in file.notices]
    places: list[_Place] = []
    if all(file.holds_both(columns) for file in files):
        if manifest is None:
            stored = [file.report for file in files if file.report is not None]
            notices += [warning for report in stored for warning in report.warnings]
        reports = [report for file in files for report in file.systems(columns, notices, places)]
        reports = _with_own_labels(reports)
        read_so = [report.label for report in reports if _has_variants(report)]
        if read_so and not variants:
            variants = True
            if len(read_so) < len(reports):
                notices.append(
                    f"варианты в эталонах прочитаны во всех файлах: с --variants сделан отчёт "
                    f"{listed(read_so)}"
                )
    elif len(files) == 1:
        (file,) = files
        there = "" if file.table is None else f" (колонки: {listed(file.table.names)})"
        raise UsageError(
            f"{file.path}{there}: здесь один текст на строку, а нужны два: укажите и эталоны, и "
            "тексты модели (stt-ru score ЭТАЛОНЫ ТЕКСТЫ), отчёт .json или таблицу с обоими "
            "(--ref-column, --hyp-column)"
        )
    else:
        reports = [
            _meet(files[0], file, columns, notices, places, variants=variants) for file in files[1:]
        ]
    if manifest is not None:
        samples = _references(str(manifest), notices, allow_empty=allow_empty, variants=variants)
        reports = [
            with_references(report, samples, notices, variants=variants) for report in reports
        ]
    else:
        _check_marks(places, notices, variants=variants)
        reports = [_scored_again(report, variants=variants) for report in reports]
    if len({_digest(report) for report in reports if report.error is None}) > 1:
        notices.append("эталоны в файлах различаются: WER систем посчитан на разных текстах")
    return Scored(reports, list(dict.fromkeys(notices)))


_Place: TypeAlias = tuple[str, str]
"""Where a true text stands, for messages, and the text."""


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    format: str
    text: str
    table: Table | None
    report: StoredReport | None
    notices: Sequence[str]

    def holds_both(self, columns: ColumnNames) -> bool:
        if self.format == "report":
            return True
        return self.table is not None and self.table.has_both(columns)

    def systems(
        self, columns: ColumnNames, notices: list[str], places: list[_Place]
    ) -> list[ModelReport]:
        if self.format == "report":
            assert self.report is not None
            models = self.report.models
            if not models:
                raise UsageError(f"{self.path}: в отчёте нет ни одной модели")
            places += [
                (f"{self.path}: запись {number} ({shown(row.audio)})", row.reference)
                for model in models
                for number, row in enumerate(model.results, start=1)
            ]
            return [
                replace(model, wall_s=0.0) for model in models
            ]  # the speed was not measured now
        assert self.table is not None
        references = self.table.texts("reference", columns, beside=True)
        hypotheses = self.table.texts("hypothesis", columns, beside=True)
        if not references.texts:
            raise UsageError(f"{self.path}: нет ни одной строки с обоими текстами")
        notices += references.notices
        if references.has_names:
            by_key(self.path, references.texts)  # ids are unique
        places += _places(references)
        pairs = zip(references.texts, hypotheses.texts, strict=True)
        return [_report(self.path, [_row(*pair, self.path) for pair in pairs])]

    def texts(self, side: Side, columns: ColumnNames, *, variants: bool = False) -> TextFile:
        """Its texts, when they have no times."""
        if self.format == "report":
            raise UsageError(
                f"{self.path}: отчёт хранит и эталоны, и тексты моделей: "
                "вместе с ним указываются только другие отчёты или таблицы с обоими текстами"
            )
        if self.table is not None:
            return self.table.texts(side, columns)
        if self.format == "trn":
            texts = read_trn(self.text, self.path, variants=variants)
        else:
            texts = read_kaldi(self.text) if self.format == "kaldi" else read_lines(self.text)
        return TextFile(path=self.path, side=side, texts=texts)

    def timed(self, *, variants: bool = False) -> list[Segment] | list[TimedWord] | None:
        if self.format == "stm":
            return read_stm(self.text, self.path, variants=variants)
        return read_ctm(self.text, self.path) if self.format == "ctm" else None


def _open(path: str, file_format: str | None, columns: ColumnNames) -> _File:
    text = read_file(path)
    notice = None
    wanted = (columns.reference, columns.hypothesis, columns.id)
    if file_format is None:
        file_format, notice = detect(path, text, wanted)
    table = None
    if file_format == "jsonl":
        table = read_jsonl(text, path)
    elif file_format == "csv":
        table = read_csv(text, path, wanted)
    report = parse_report(text, name=path) if file_format == "report" else None
    return _File(path, file_format, text, table, report, [notice] if notice else [])


def _places(references: TextFile) -> list[_Place]:
    return [(f"{references.path}:{text.line}", text.text or "") for text in references.texts]


def _check_marks(places: Iterable[_Place], notices: list[str], *, variants: bool) -> None:
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


def _meet(
    references: _File,
    hypotheses: _File,
    columns: ColumnNames,
    notices: list[str],
    places: list[_Place],
    *,
    variants: bool,
) -> ModelReport:
    """The report of one system against the references."""
    if references.format == "ctm":
        raise UsageError(
            f"{references.path}: CTM – это слова модели, эталоном нужен STM, trn или «id текст»"
        )
    true, heard = references.timed(variants=variants), hypotheses.timed()
    if true is not None and heard is not None:
        segments = [item for item in true if isinstance(item, Segment)]
        true_file = TextFile(
            path=references.path, side="reference", texts=segments_as_texts(segments)
        )
        if hypotheses.format == "ctm":
            words = [item for item in heard if isinstance(item, TimedWord)]
            heard_file = words_by_segment(words, segments, hypotheses.path)
        else:
            others = [item for item in heard if isinstance(item, Segment)]
            heard_file = TextFile(
                path=hypotheses.path, side="hypothesis", texts=segments_as_texts(others)
            )
    else:
        true_file = (
            references.texts("reference", columns, variants=variants)
            if true is None
            else recordings_as_texts(true, references.path)
        )
        heard_file = (
            hypotheses.texts("hypothesis", columns)
            if heard is None
            else recordings_as_texts(heard, hypotheses.path)
        )
    notices += [*true_file.notices, *heard_file.notices]
    if not true_file.texts:
        raise UsageError(f"{references.path}: нет ни одного эталона")
    places += _places(true_file)
    if true_file.has_names and (heard_file.has_names or not heard_file.texts):
        rows = _by_name(true_file, heard_file, notices)
    elif not true_file.has_names and not (heard_file.texts and heard_file.has_names):
        rows = _by_order(true_file, heard_file)
    else:
        named, plain = (true_file, heard_file) if true_file.has_names else (heard_file, true_file)
        raise UsageError(
            f"в {named.path} у текстов есть id, а в {plain.path} их нет: нужны id в обоих файлах "
            "или ни в одном (как читать файлы, говорит --format)"
        )
    return _report(hypotheses.path, rows)


def _by_order(references: TextFile, hypotheses: TextFile) -> list[FileResult]:
    numbers = [len(references.texts), len(hypotheses.texts)]
    if numbers[0] != numbers[1]:
        raise UsageError(
            f"в {references.path} строк {numbers[0]}, а в {hypotheses.path} {numbers[1]}: "
            "построчно они не сравнимы; добавьте недостающие строки (пустая строка – пустой текст) "
            "или возьмите файлы с id"
        )
    pairs = zip(references.texts, hypotheses.texts, strict=True)
    return [_row(*pair, hypotheses.path) for pair in pairs]


def _by_name(references: TextFile, hypotheses: TextFile, notices: list[str]) -> list[FileResult]:
    wanted = by_key(references.path, references.texts)
    heard = by_key(hypotheses.path, hypotheses.texts)
    extra = [str(text.name) for key, text in heard.items() if key not in wanted]
    if extra and len(extra) == len(heard):
        raise UsageError(
            f"ни один id из {hypotheses.path} ({listed(extra)}) не встречается в {references.path} "
            f"({listed([str(text.name) for text in references.texts])})"
        )
    if extra:
        notices.append(
            f"{hypotheses.path}: не сравниваются тексты без эталона ({len(extra)}): {listed(extra)}"
        )
    return [_row(text, heard.get(key), hypotheses.path) for key, text in wanted.items()]


def _row(reference: StoredText, hypothesis: StoredText | None, path: str) -> FileResult:
    assert reference.text is not None
    text = None if hypothesis is None else hypothesis.text
    error = None
    if hypothesis is None:
        error = f"в {path} нет текста с этим id"
    elif text is None:
        error = f"в {path} у этой записи нет текста"
    return _result(
        FileResult(
            audio=reference.name if reference.name is not None else f"строка {reference.line}",
            channel=reference.channel,
            reference=reference.text,
            error=error or "",
            duration=reference.duration_s,
            extra=reference.extra,
        ),
        text,
        error,
    )


def _result(
    row: FileResult, hypothesis: str | None, error: str | None, *, variants: bool = False
) -> FileResult:
    """The row with this hypothesis or error, scored."""
    if hypothesis is None or error is not None:
        return replace(row, chosen=None, hypothesis=None, score=None, error=error)
    reference = read_reference(row.reference) if variants else normalize(row.reference)
    score, chosen = score_reference(reference, normalize(hypothesis))
    return replace(row, chosen=chosen, hypothesis=hypothesis, score=score, error=None)


def _report(path: str, rows: Sequence[FileResult]) -> ModelReport:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(repr(row.hypothesis).encode("utf-8", "surrogatepass"))
    return ModelReport(
        model=path,
        label=path,
        rows=len(rows),
        results=rows,
        audio_s=sum(row.duration or 0.0 for row in rows if row.error is None),
        # The rows are signed when it is known how they are scored.
        signature=sign({"model": path, "texts": digest.hexdigest()[:12]}, (), packages=SCORED_BY),
    )


def _has_variants(report: ModelReport) -> bool:
    return report.signature is not None and "variants" in report.signature.fields


def _digest(report: ModelReport) -> str | None:
    return report.signature.fields["refs"] if report.signature else None


def _samples(report: ModelReport) -> list[Sample]:
    return [Sample(result.audio, result.reference, result.channel) for result in report.results]


def _scored_again(report: ModelReport, *, variants: bool) -> ModelReport:
    """The report as this version counts it, its signature saying so."""
    if report.error is not None:
        return report
    results = [_result(row, row.hypothesis, row.error, variants=variants) for row in report.results]
    report = replace(report, rows=len(results), results=results)
    fields = report.signature.fields if report.signature else {"model": report.model}
    return replace(report, signature=sign_again(fields, _samples(report), variants=variants))


def _with_own_labels(reports: Sequence[ModelReport]) -> list[ModelReport]:
    """The reports, with numbers where two would have one name."""
    times = Counter(report.label for report in reports)
    seen: Counter[str] = Counter()
    named = []
    for report in reports:
        seen[report.label] += 1
        label = report.label
        named.append(
            replace(report, label=f"{label} [{seen[label]}]") if times[label] > 1 else report
        )
    return named


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


def with_references(
    report: ModelReport, samples: Sequence[Sample], notices: list[str], *, variants: bool = False
) -> ModelReport:
    """The report with other references: its texts meet the samples by recording and channel.

    Args:
        report: With the texts.
        samples: The rows of the new report, in its order.
        notices: Told which recordings of the report have no row.
        variants: Whether marks of `stt_ru.text.marked_references` are read in the samples.

    Raises:
        UsageError: If no recording of the report has a row.
    """
    if report.error is not None:
        return replace(report, rows=len(samples))
    stored: dict[Key, FileResult] = {}
    for result in report.results:
        stored.setdefault(_place(result.audio, result.channel), result)
    results = []
    for sample in samples:
        row = stored.get(_place(sample.audio, sample.channel))
        base = FileResult(
            audio=sample.audio,
            channel=sample.channel,
            reference=sample.text,
            duration=row.duration if row else None,
            seconds=row.seconds if row else None,
            error="",
            extra=sample.extra,
        )
        if row is None:
            results.append(_result(base, None, "в отчёте нет текста этой записи и канала"))
        else:
            results.append(_result(base, row.hypothesis, row.error))
    _say_what_is_left(report, samples, notices)
    return _scored_again(replace(report, rows=len(results), results=results), variants=variants)


def _say_what_is_left(report: ModelReport, samples: Iterable[Sample], notices: list[str]) -> None:
    wanted = {_place(sample.audio, sample.channel) for sample in samples}
    rows: Mapping[Key, str] = {
        _place(result.audio, result.channel): result.audio for result in report.results
    }
    left = [name for key, name in rows.items() if key not in wanted]
    if left and len(left) == len(rows):
        raise UsageError(
            f"{report.label}: ни одной записи отчёта ({listed(left)}) в манифесте нет: "
            "пути должны быть записаны так же, как в отчёте"
        )
    if left:
        notices.append(
            f"{report.label}: в манифесте нет записей отчёта, они не сравниваются ({len(left)}): "
            f"{listed(left)}"
        )


def _place(audio: str, channel: int | None) -> Key:
    return (os.path.normpath(audio), channel)
