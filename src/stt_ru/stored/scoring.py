"""From files of texts to reports: who meets whom, and what was left alone."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stt_ru.errors import UsageError
from stt_ru.manifest.csv_rows import read_csv as read_manifest_csv
from stt_ru.manifest.files import CSV_SUFFIXES, read_text
from stt_ru.manifest.folder import read_folder
from stt_ru.manifest.jsonl_rows import read_jsonl as read_manifest_jsonl
from stt_ru.manifest.messages import listed
from stt_ru.manifest.rows import Faults
from stt_ru.manifest.sample import Sample
from stt_ru.normalize import NORMALIZER, normalize
from stt_ru.report.reading import parse_report
from stt_ru.results import FileResult, ModelReport, Signature, references_digest
from stt_ru.scoring import EDIT_SPLIT, score_texts
from stt_ru.stored.columns import ColumnNames, Table, read_csv, read_jsonl
from stt_ru.stored.detection import FORMATS, detect, read_file
from stt_ru.stored.plain import read_kaldi, read_lines, read_trn
from stt_ru.stored.texts import Key, StoredText, TextFile, by_key
from stt_ru.stored.timed import (
    Segment,
    TimedWord,
    read_ctm,
    read_stm,
    recordings_as_texts,
    segments_as_texts,
    words_by_segment,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stt_ru.stored.columns import Side

_EMPTY_RULE: Final = "insertions"  # words against an empty reference are insertions


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

    Raises:
        UsageError: If the files cannot be read or do not fit together.
    """
    if file_format is not None and file_format not in FORMATS:
        raise UsageError(f"формат «{file_format}»: есть {', '.join(FORMATS)}")
    files = [_open(str(path), file_format, columns) for path in paths]
    notices = [notice for file in files for notice in file.notices]
    if all(file.holds_both(columns) for file in files):
        reports = [report for file in files for report in file.systems(columns, notices)]
        reports = _with_own_labels(reports)
    elif len(files) == 1:
        (file,) = files
        there = "" if file.table is None else f" (колонки: {listed(file.table.names)})"
        raise UsageError(
            f"{file.path}{there}: здесь один текст на строку, а нужны два: укажите и эталоны, и "
            "тексты модели (stt-ru score ЭТАЛОНЫ ТЕКСТЫ), отчёт .json или таблицу с обоими "
            "(--ref-column, --hyp-column)"
        )
    else:
        reports = [_meet(files[0], file, columns, notices) for file in files[1:]]
    if manifest is not None:
        samples = _references(str(manifest), notices, allow_empty=allow_empty)
        reports = [with_references(report, samples, notices) for report in reports]
    else:
        reports = [_scored_again(report) for report in reports]
    if len({_digest(report) for report in reports if report.error is None}) > 1:
        notices.append("эталоны в файлах различаются: WER систем посчитан на разных текстах")
    return Scored(reports, list(dict.fromkeys(notices)))


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    format: str
    text: str
    table: Table | None
    notices: Sequence[str]

    def holds_both(self, columns: ColumnNames) -> bool:
        if self.format == "report":
            return True
        return self.table is not None and self.table.has_both(columns)

    def systems(self, columns: ColumnNames, notices: list[str]) -> list[ModelReport]:
        if self.format == "report":
            models = parse_report(self.text, name=self.path).models
            if not models:
                raise UsageError(f"{self.path}: в отчёте нет ни одной модели")
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
        pairs = zip(references.texts, hypotheses.texts, strict=True)
        return [_report(self.path, [_row(*pair, self.path) for pair in pairs])]

    def texts(self, side: Side, columns: ColumnNames) -> TextFile:
        """Its texts, when they have no times."""
        if self.format == "report":
            raise UsageError(
                f"{self.path}: отчёт хранит и эталоны, и тексты моделей: "
                "вместе с ним указываются только другие отчёты или таблицы с обоими текстами"
            )
        if self.table is not None:
            return self.table.texts(side, columns)
        if self.format == "trn":
            texts = read_trn(self.text, self.path)
        else:
            texts = read_kaldi(self.text) if self.format == "kaldi" else read_lines(self.text)
        return TextFile(path=self.path, side=side, texts=texts)

    def timed(self) -> list[Segment] | list[TimedWord] | None:
        if self.format == "stm":
            return read_stm(self.text, self.path)
        return read_ctm(self.text, self.path) if self.format == "ctm" else None


def _open(path: str, file_format: str | None, columns: ColumnNames) -> _File:
    text = read_file(path)
    notice = None
    if file_format is None:
        file_format, notice = detect(path, text)
    table = None
    if file_format == "jsonl":
        table = read_jsonl(text, path)
    elif file_format == "csv":
        table = read_csv(text, path, (columns.reference, columns.hypothesis, columns.id))
    return _File(path, file_format, text, table, [notice] if notice else [])


def _meet(
    references: _File, hypotheses: _File, columns: ColumnNames, notices: list[str]
) -> ModelReport:
    """The report of one system against the references."""
    if references.format == "ctm":
        raise UsageError(
            f"{references.path}: CTM – это слова модели, эталоном нужен STM, trn или «id текст»"
        )
    true, heard = references.timed(), hypotheses.timed()
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
            references.texts("reference", columns)
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


def _result(row: FileResult, hypothesis: str | None, error: str | None) -> FileResult:
    """The row with this hypothesis or error, scored."""
    if hypothesis is None or error is not None:
        return replace(row, hypothesis=None, score=None, error=error)
    score = score_texts(normalize(row.reference), normalize(hypothesis))
    return replace(row, hypothesis=hypothesis, score=score, error=None)


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
        signature=Signature(
            {
                "model": path,
                "texts": digest.hexdigest()[:12],
                "norm": NORMALIZER,
                "split": EDIT_SPLIT,
                "empty": _EMPTY_RULE,
                "rows": str(len(rows)),
                "refs": "",
                "stt-ru": version("stt-ru"),
            }
        ),
    )


def _digest(report: ModelReport) -> str:
    return references_digest(
        Sample(result.audio, result.reference, result.channel) for result in report.results
    )


def _scored_again(report: ModelReport) -> ModelReport:
    """The report as this version counts it, its signature saying so."""
    if report.error is not None:
        return report
    results = [_result(row, row.hypothesis, row.error) for row in report.results]
    report = replace(report, rows=len(results), results=results)
    fields = dict(report.signature.fields) if report.signature else {"model": report.model}
    now = {
        "norm": NORMALIZER,
        "split": EDIT_SPLIT,
        "empty": _EMPTY_RULE,
        "rows": str(len(results)),
        "refs": _digest(report),
    }
    return replace(report, signature=Signature({**fields, **now}))


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


def _references(path: str, notices: list[str], *, allow_empty: bool) -> list[Sample]:
    """Rows of a manifest whose recordings need not be there."""
    faults = Faults(path)
    if Path(path).is_dir():
        rows = list(read_folder(path, faults, notices.append))
    else:
        text = read_text(path)
        is_csv = Path(path).suffix.lower() in CSV_SUFFIXES
        read = read_manifest_csv if is_csv else read_manifest_jsonl
        rows = list(read(text, faults))
    for row in rows:
        if row.text is not None and not allow_empty and not normalize(row.text):
            faults.add(
                row.place,
                "в тексте нет ни букв, ни цифр: впишите, что сказано; если речи в записи нет, "
                "добавьте --allow-empty",
            )
    faults.raise_if_any()
    return [
        Sample(row.audio, row.text, row.channel, row.extra)
        for row in rows
        if row.audio is not None and row.text is not None
    ]


def with_references(
    report: ModelReport, samples: Sequence[Sample], notices: list[str]
) -> ModelReport:
    """The report with other references: its texts meet the samples by recording and channel.

    Args:
        report: With the texts.
        samples: The rows of the new report, in its order.
        notices: Told which recordings of the report have no row.

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
    return _scored_again(replace(report, rows=len(results), results=results))


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
