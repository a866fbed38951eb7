"""The report as JSON: everything a later tool needs, one line per manifest row."""

from __future__ import annotations

from dataclasses import asdict
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal

from stt_ru.analysis.significance import CONFIDENCE, RESAMPLES, SEED, macro_average
from stt_ru.report.envelope import envelope, json_pieces
from stt_ru.report.fields import json_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from stt_ru.analysis.punctuation import Writing
    from stt_ru.analysis.significance import Comparison, Interval, Statistics, Uncertainty
    from stt_ru.analysis.spelling import Spelling
    from stt_ru.results import ModelReport


def json_report(
    reports: Sequence[ModelReport],
    *,
    manifest: str,
    created_at: datetime,
    kind: Literal["evaluate", "score"] = "evaluate",
    warnings: Sequence[str] = (),
    statistics: Statistics | None = None,
    spellings: Sequence[Spelling | None] | None = None,
    writings: Sequence[Writing | None] | None = None,
) -> Iterator[str]:
    """The report's text in pieces, so that a hundred thousand rows are never held as one string.

    Rates are fractions, null where there is no denominator or no result.

    Args:
        reports: Models that were evaluated in full, in the order of the table.
        manifest: Its path as the user gave it.
        created_at: With a time zone.
        kind: The command whose results they are.
        warnings: Of the manifest and the request, not of a model.
        statistics: Intervals and comparisons of the reports; None for null in their places.
        spellings: Rates of the reports under the spelling rules; None for null in their places.
        writings: Punctuation and case of the reports; None for null in their places.
    """
    head = envelope(kind, manifest=manifest, created_at=created_at, warnings=warnings)
    head["statistics"] = _statistics_fields(statistics)
    figures = zip(
        reports,
        statistics.uncertainties if statistics else repeat(None),
        spellings or repeat(None),
        writings or repeat(None),
        strict=False,
    )
    return json_pieces(
        head, ((_model_fields(*each), map(json_row, each[0].results)) for each in figures)
    )


def _statistics_fields(statistics: Statistics | None) -> dict[str, Any] | None:
    if statistics is None:
        return None
    return {
        "confidence": CONFIDENCE,
        "resamples": RESAMPLES,
        "seed": SEED,
        "group_by": statistics.group_by,
        "comparisons": [_comparison(pair) for pair in statistics.comparisons],
    }


def _comparison(pair: Comparison) -> dict[str, Any]:
    return {
        **asdict(pair),
        "difference": pair.difference,
        "interval": _interval(pair.interval),
        "significant": pair.is_significant,
    }


def _interval(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _model_fields(
    report: ModelReport,
    exactness: Uncertainty | None,
    spelling: Spelling | None,
    writing: Writing | None,
) -> dict[str, Any]:
    score = report.score
    return {
        "model": report.model,
        "label": report.label,
        "error": report.error,
        "wer": score.words.rate,
        "cer": score.chars.rate,
        "wer_interval": _interval(exactness.wer) if exactness else None,
        "cer_interval": _interval(exactness.cer) if exactness else None,
        "macro_wer": macro_average(result.wer for result in report.results),
        "macro_cer": macro_average(result.cer for result in report.results),
        "spelling": None if spelling is None else _spelling_fields(spelling),
        "writing": None if writing is None else _writing_fields(writing),
        "speed": report.speed,
        "files": report.files,
        "failed": report.failed,
        "digits_mismatch": report.digits_mismatch,
        "audio_seconds": report.audio_s,
        "wall_seconds": report.wall_s,
        "signature": None if report.signature is None else str(report.signature),
        "warnings": list(report.warnings),
    }


def _spelling_fields(found: Spelling) -> dict[str, Any]:
    """For the JSON report."""
    return {
        "rules": {
            name: {"errors": counts.errors, "words": counts.length, "wer": counts.rate}
            for name, counts in found.counts.items()
        },
        "rows_without_speech": found.without_speech,
        "words_without_speech": found.inserted,
        "rows_with_loops": found.loops,
    }


def _writing_fields(found: Writing) -> dict[str, Any]:
    """For the JSON report."""
    return {
        "marks": {
            mark: {
                "right": counts.right,
                "extra": counts.extra,
                "missing": counts.missing,
                "f1": counts.f1,
            }
            for mark, counts in found.marks.items()
        },
        "case_errors": found.case_errors,
        "case_words": found.case_words,
        "case_error_rate": found.case_rate,
    }
