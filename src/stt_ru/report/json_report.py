"""The report as JSON: everything a later tool needs, a line a manifest row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from stt_ru.results import FileResult, ModelReport

SCHEMA_VERSION: Final = 1


def json_report(
    reports: Sequence[ModelReport], *, manifest: str, created_at: datetime
) -> Iterator[str]:
    """The report's text in pieces, so that a hundred thousand rows are never held as one string.

    Rates are fractions, null where there is no denominator or no result.

    Args:
        reports: Models that were evaluated in full, in the order of the table.
        manifest: Its path as the user gave it.
        created_at: With a time zone.
    """
    head = {
        "schema_version": SCHEMA_VERSION,
        "created_at": created_at.isoformat(timespec="seconds"),
        "manifest": manifest,
    }
    yield _dump(head)[:-1] + ', "models": ['
    for number, report in enumerate(reports):
        yield (",\n" if number else "\n") + _dump(_model_fields(report))[:-1] + ', "results": ['
        for row, result in enumerate(report.results):
            yield (",\n" if row else "\n") + _dump(_row(result))
        yield "\n]}" if report.results else "]}"
    yield "\n]}\n"


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _model_fields(report: ModelReport) -> dict[str, Any]:
    score = report.score
    return {
        "model": report.model,
        "label": report.label,
        "error": report.error,
        "wer": score.words.rate,
        "cer": score.chars.rate,
        "speed": report.speed,
        "files": report.files,
        "failed": report.failed,
        "digits_mismatch": report.digits_mismatch,
        "audio_seconds": report.audio_s,
        "wall_seconds": report.wall_s,
        "signature": None if report.signature is None else str(report.signature),
        "warnings": list(report.warnings),
    }


def _row(result: FileResult) -> dict[str, Any]:
    score = result.score
    return {
        "audio": result.audio,
        "channel": result.channel,
        "reference": result.reference,
        "hypothesis": result.hypothesis,
        "duration": result.duration,
        "seconds": result.seconds,
        "words": score and score.words.length,
        "substitutions": score and score.words.substitutions,
        "deletions": score and score.words.deletions,
        "insertions": score and score.words.insertions,
        "chars": score and score.chars.length,
        "char_errors": score and score.chars.errors,
        "wer": result.wer,
        "cer": result.cer,
        "error": result.error,
        "extra": dict(result.extra),
    }
