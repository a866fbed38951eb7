"""Which text belongs to which row: by id, by order, by time, or by recording and channel."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from stt_ru.errors import UsageError
from stt_ru.files.wording import listed, shown
from stt_ru.transcripts.nist import (
    Segment,
    TimedWord,
    recordings_as_texts,
    segments_as_texts,
    words_by_segment,
)
from stt_ru.transcripts.texts import Key, StoredText, TextFile, by_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stt_ru.manifest import Sample
    from stt_ru.results import ModelReport
    from stt_ru.results import Segment as HeardSegment
    from stt_ru.transcripts.stored_file import StoredFile
    from stt_ru.transcripts.tables import ColumnNames, Table

Place: TypeAlias = tuple[str, str]
"""Where a reference stands, for messages, and its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTexts:
    """A reference and what one system made of it, not yet compared.

    Attributes:
        audio: The recording or the text's id, for people.
        channel: Channel of the row, from 0; None for the whole recording.
        reference: As written.
        hypothesis: As the system wrote it; None when there is none.
        error: Why there is none, a sentence in Russian; None when there is one.
        duration: Seconds of audio; None when unknown.
        seconds: Wall seconds of recognising it; None when unknown.
        from_cache: Whether it was recognised in an earlier run than the stored one.
        segments: Where the text was heard; empty when that is not known.
        extra: Other fields of the row.
    """

    audio: str
    channel: int | None
    reference: str
    hypothesis: str | None
    error: str | None
    duration: float | None = None
    seconds: float | None = None
    from_cache: bool = False
    segments: Sequence[HeardSegment] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The texts of one system with their references.

    Attributes:
        rows: In the order of the references.
        places: Of the references as they stand in their file.
        notices: What was skipped or taken for granted, sentences in Russian.
    """

    rows: Sequence[PairedTexts]
    places: Sequence[Place] = ()
    notices: Sequence[str] = ()


def pair_report(model: ModelReport, path: str) -> Paired:
    """The texts of a model of a stored report, each with the reference it was compared with."""
    return Paired(
        rows=[
            PairedTexts(
                audio=row.audio,
                channel=row.channel,
                reference=row.reference,
                hypothesis=row.hypothesis,
                error=row.error,
                duration=row.duration,
                seconds=row.seconds,
                from_cache=row.from_cache,
                segments=row.segments,
                extra=row.extra,
            )
            for row in model.results
        ],
        places=[
            (f"{path}: запись {number} ({shown(row.audio)})", row.reference)
            for number, row in enumerate(model.results, start=1)
        ],
    )


def pair_columns(table: Table, columns: ColumnNames) -> Paired:
    """The texts of a table with both in each row.

    Raises:
        UsageError: If it has no such row, or two of one id.
    """
    references = table.texts("reference", columns, beside=True)
    hypotheses = table.texts("hypothesis", columns, beside=True)
    if not references.texts:
        raise UsageError(f"{table.path}: нет ни одной строки с обоими текстами")
    if references.has_names:
        by_key(table.path, references.texts)  # ids are unique
    pairs = zip(references.texts, hypotheses.texts, strict=True)
    return Paired(
        rows=[_paired(*pair, table.path) for pair in pairs],
        places=_places(references),
        notices=references.notices,
    )


def pair_files(
    references: StoredFile, hypotheses: StoredFile, columns: ColumnNames, *, variants: bool
) -> Paired:
    """The texts of one file with the references of another.

    Raises:
        UsageError: If they do not fit together.
    """
    if references.format == "ctm":
        raise UsageError(
            f"{references.path}: CTM – это слова модели, эталоном нужен STM, trn или «id текст»"
        )
    said, hypothesis = _both_sides(references, hypotheses, columns, variants=variants)
    if not said.texts:
        raise UsageError(f"{references.path}: нет ни одного эталона")
    notices = [*said.notices, *hypothesis.notices]
    if said.has_names and (hypothesis.has_names or not hypothesis.texts):
        rows, strangers = _by_name(said, hypothesis)
        notices += strangers
    elif not said.has_names and not (hypothesis.texts and hypothesis.has_names):
        rows = _by_order(said, hypothesis)
    else:
        named, plain = (said, hypothesis) if said.has_names else (hypothesis, said)
        raise UsageError(
            f"в {named.path} у текстов есть id, а в {plain.path} их нет: нужны id в обоих файлах "
            "или ни в одном (как читать файлы, говорит --format)"
        )
    return Paired(rows=rows, places=_places(said), notices=notices)


def pair_samples(label: str, rows: Sequence[PairedTexts], samples: Sequence[Sample]) -> Paired:
    """The texts with the references of a manifest: they meet by recording and channel.

    Args:
        label: Of the system, for messages.
        rows: Its texts with the references they had.
        samples: Rows of the manifest.

    Raises:
        UsageError: If the manifest has none of the recordings.
    """
    known: dict[Key, PairedTexts] = {}
    for text in rows:
        known.setdefault(_recording(text.audio, text.channel), text)
    found = []
    for sample in samples:
        row = known.get(_recording(sample.audio, sample.channel))
        found.append(
            PairedTexts(
                audio=sample.audio,
                channel=sample.channel,
                reference=sample.text,
                hypothesis=row.hypothesis if row else None,
                error=row.error if row else "в отчёте нет текста этой записи и канала",
                duration=row.duration if row else None,
                seconds=row.seconds if row else None,
                extra=sample.extra,
            )
        )
    return Paired(rows=found, notices=_notices_of_leftovers(label, rows, samples))


def _both_sides(
    references: StoredFile, hypotheses: StoredFile, columns: ColumnNames, *, variants: bool
) -> tuple[TextFile, TextFile]:
    """The texts of both files under ids that mean the same: segments where both have times."""
    said, hypothesis = references.timed(variants=variants), hypotheses.timed()
    if said is not None and hypothesis is not None:
        segments = [item for item in said if isinstance(item, Segment)]
        texts = segments_as_texts(segments)
        reference_file = TextFile(path=references.path, side="reference", texts=texts)
        if hypotheses.format == "ctm":
            words = [item for item in hypothesis if isinstance(item, TimedWord)]
            return reference_file, words_by_segment(words, segments, hypotheses.path)
        texts = segments_as_texts(item for item in hypothesis if isinstance(item, Segment))
        return reference_file, TextFile(path=hypotheses.path, side="hypothesis", texts=texts)
    return (
        references.texts("reference", columns, variants=variants)
        if said is None
        else recordings_as_texts(said, references.path),
        hypotheses.texts("hypothesis", columns)
        if hypothesis is None
        else recordings_as_texts(hypothesis, hypotheses.path),
    )


def _by_order(references: TextFile, hypotheses: TextFile) -> list[PairedTexts]:
    numbers = [len(references.texts), len(hypotheses.texts)]
    if numbers[0] != numbers[1]:
        raise UsageError(
            f"в {references.path} строк {numbers[0]}, а в {hypotheses.path} {numbers[1]}: "
            "построчно они не сравнимы; добавьте недостающие строки (пустая строка – пустой текст) "
            "или возьмите файлы с id"
        )
    pairs = zip(references.texts, hypotheses.texts, strict=True)
    return [_paired(*pair, hypotheses.path) for pair in pairs]


def _by_name(references: TextFile, hypotheses: TextFile) -> tuple[list[PairedTexts], Sequence[str]]:
    """The rows, and what to say of texts without a reference.

    Raises:
        UsageError: If there are no others.
    """
    wanted = by_key(references.path, references.texts)
    hypothesis = by_key(hypotheses.path, hypotheses.texts)
    extra = [str(text.name) for key, text in hypothesis.items() if key not in wanted]
    if extra and len(extra) == len(hypothesis):
        raise UsageError(
            f"ни один id из {hypotheses.path} ({listed(extra)}) не встречается в {references.path} "
            f"({listed([str(text.name) for text in references.texts])})"
        )
    rows = [_paired(text, hypothesis.get(key), hypotheses.path) for key, text in wanted.items()]
    if not extra:
        return rows, ()
    return rows, [
        f"{hypotheses.path}: не сравниваются тексты без эталона ({len(extra)}): {listed(extra)}"
    ]


def _notices_of_leftovers(
    label: str, rows: Sequence[PairedTexts], samples: Sequence[Sample]
) -> list[str]:
    """What to say of recordings that the manifest lacks.

    Raises:
        UsageError: If there are no others.
    """
    wanted = {_recording(sample.audio, sample.channel) for sample in samples}
    names = {_recording(row.audio, row.channel): row.audio for row in rows}
    left = [name for key, name in names.items() if key not in wanted]
    if not left:
        return []
    if len(left) == len(names):
        raise UsageError(
            f"{label}: ни одной записи отчёта ({listed(left)}) в манифесте нет: "
            "пути должны быть записаны так же, как в отчёте"
        )
    return [
        f"{label}: в манифесте нет записей отчёта, они не сравниваются ({len(left)}): "
        f"{listed(left)}"
    ]


def _paired(reference: StoredText, hypothesis: StoredText | None, path: str) -> PairedTexts:
    assert reference.text is not None
    text = None if hypothesis is None else hypothesis.text
    error = None
    if hypothesis is None:
        error = f"в {path} нет текста с этим id"
    elif text is None:
        error = f"в {path} у этой записи нет текста"
    return PairedTexts(
        audio=reference.name if reference.name is not None else f"строка {reference.line}",
        channel=reference.channel,
        reference=reference.text,
        hypothesis=text,
        error=error,
        duration=reference.duration_s,
        extra=reference.extra,
    )


def _places(references: TextFile) -> list[Place]:
    return [(f"{references.path}:{text.line}", text.text or "") for text in references.texts]


def _recording(audio: str, channel: int | None) -> Key:
    return (os.path.normpath(audio), channel)
