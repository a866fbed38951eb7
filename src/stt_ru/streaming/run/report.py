"""Rendering of a streaming evaluation: the table, the notes and the JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from stt_ru.analysis.aligned_rows import AlignedReport
from stt_ru.report.envelope import envelope, json_pieces
from stt_ru.report.fields import score_values
from stt_ru.report.sentences import Note, notes
from stt_ru.report.table import NO_DENOMINATOR, NO_FIGURE, NOT_LOADED, aligned, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from stt_ru.analysis.significance import Comparison
    from stt_ru.results import FileResult
    from stt_ru.streaming.measures.lagging import Lagging
    from stt_ru.streaming.measures.latency import Spread, StreamFigures
    from stt_ru.streaming.run.results import StreamReport, StreamResult

FEW_WORDS: Final = 30
"""Latencies of fewer words are shown with a warning: a p95 of them is one word or two."""

_MANY_INSERTIONS: Final = 10
_MUCH: Final = 0.3  # insertions per reference word that are worth a warning

COLUMNS: Final = (
    "Модель",
    "WER, %",
    "ΔWER",
    "Первый показ, с",
    "Стабилизация p50",
    "p95",
    "Правок, %",
    "RTF",
    "Записей",
    "Ошибок",
)


def format_stream_table(reports: Sequence[StreamReport]) -> str:
    """The table of the reports, one line per model and way of sending, without a final newline.

    WER of the final text; its difference from the same model offline, percentage points; time from
    the end of a word to its first appearance (median) and to the moment from which it stays correct
    (p50, p95), seconds; unstable words divided by words of the final text; seconds of computation
    per second of audio.
    """
    return aligned([COLUMNS, *(_cells(report) for report in reports)])


def _cells(report: StreamReport) -> tuple[str, ...]:
    counts = (str(report.rows), str(report.failed))
    if report.error is not None:
        return (f"{report.label} ({NOT_LOADED})", *[NO_FIGURE] * 7, *counts)
    cost = report.cost
    difference = None if cost is None else cost.difference
    final = report.finalisation
    return (
        report.label,
        percent(report.score.words.rate),
        NO_DENOMINATOR if difference is None else _points(difference),
        _seconds(report.first_word.p50),
        _seconds(final.p50),
        _seconds(final.p95),
        percent(report.unstable_rate),
        _seconds(report.compute_per_audio),
        *counts,
    )


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}".replace("-", "−")


def _seconds(value: float | None) -> str:
    return NO_DENOMINATOR if value is None else f"{value:.2f}"


def stream_notes(reports: Sequence[StreamReport]) -> list[Note]:
    """What a reader of the table needs to know."""
    found = notes([AlignedReport(report.as_model_report()) for report in reports])
    for report in reports:
        prefix = f"{report.label}: " if len(reports) > 1 else ""
        found += [Note("warning", prefix + text) for text in _warnings(report)]
    return found


def stream_remarks(reports: Sequence[StreamReport]) -> list[str]:
    """What the figures are based on, as sentences in Russian."""
    several = len(reports) > 1
    return [
        f"{report.label}: {text}" if several else text
        for report in reports
        for text in _remarks(report)
    ]


def _warnings(report: StreamReport) -> Iterator[str]:
    compute = report.compute_per_audio
    if compute is not None and compute > 1:
        yield (f"модель не успевает за речью: RTF {compute:.2f}, отставание растёт до конца записи")
    counts = report.score.words
    if counts.length and counts.insertions >= max(_MANY_INSERTIONS, _MUCH * counts.length):
        yield (
            f"модель пишет слова, которых никто не говорил: вставок {counts.insertions} на "
            f"{counts.length} слов эталонов; обычно это шум и паузы"
        )
    timed = report.finalisation.count
    if counts.length and any(result.figures is not None for result in report.results):
        if timed < FEW_WORDS <= counts.length:
            yield (
                f"задержки посчитаны всего по {timed} словам из {counts.length}: остальные не "
                f"стали верными, а меньше чем по {FEW_WORDS} верить им рано"
            )
        elif timed < FEW_WORDS:
            yield f"задержки посчитаны всего по {timed} словам (нужно хотя бы {FEW_WORDS})"
    failures = Counter(
        row.error for row in (report.offline.results if report.offline else ()) if row.error
    )
    for error, times in failures.items():
        yield f"офлайн не распознано строк: {times} ({error})"


def _remarks(report: StreamReport) -> Iterator[str]:
    if report.error is not None or not report.results:
        return
    figures = [result.figures for result in report.results if result.figures is not None]
    final = report.finalisation
    said = report.score.words.length
    if figures:
        guessed = report.interpolated_words
        yield (
            f"задержки – по верным в итоге словам: {final.count} из {said}"
            + (f", у {guessed} из них время угадано по соседям" if guessed else "")
        )
    cost = report.cost
    if cost is None or cost.difference is None:
        return
    if cost.interval is None:
        yield f"записей {cost.blocks}: для интервала ΔWER этого мало"
    else:
        low, high = _points(cost.interval.low), _points(cost.interval.high)
        yield (
            f"поток против той же модели офлайн: ΔWER {_points(cost.difference)} п. п., "
            f"интервал 95 % от {low} до {high} (записей {cost.blocks})"
        )


def stream_json(
    reports: Sequence[StreamReport],
    *,
    manifest: str,
    created_at: datetime,
    warnings: Sequence[str] = (),
) -> Iterator[str]:
    """The report as JSON, in pieces. Times are in seconds, rates are fractions; null if undefined.

    Args:
        reports: One report per model and level.
        manifest: Path of the manifest as given by the user.
        created_at: Time of creation, with a time zone.
        warnings: Warnings about the manifest and the request, not about a model.
    """
    head = envelope("stream", manifest=manifest, created_at=created_at, warnings=warnings)
    return json_pieces(head, ((_model(report), _rows(report)) for report in reports))


def _rows(report: StreamReport) -> Iterator[dict[str, Any]]:
    whole = report.offline.results if report.offline is not None else repeat(None)
    return map(_row, report.results, whole)


def _model(report: StreamReport) -> dict[str, Any]:
    score, options = report.score, report.options
    return {
        "model": report.model,
        "label": report.label,
        "error": report.error,
        "send": "realtime" if options.realtime else "remap",
        "interval_s": options.interval_s,
        "speed": options.speed,
        "streams": options.streams,
        "wer": score.words.rate,
        "cer": score.chars.rate,
        "files": report.rows,
        "failed": report.failed,
        "first_word_s": _spread(report.first_word),
        "finalisation_s": _spread(report.finalisation),
        "first_text_s": _spread(report.first_text),
        "final_delay_s": _spread(report.final_delay),
        "interpolated_words": report.interpolated_words,
        "unstable_words": report.unstable_words,
        "shown_words": report.shown_words,
        "unstable_rate": report.unstable_rate,
        "revisions_per_minute": report.revisions_per_minute,
        **_lags(report.lags),
        "lagging_rows": report.lags_count,
        "compute_per_audio": report.compute_per_audio,
        "offline": None if report.cost is None else _cost(report.cost),
        "audio_seconds": report.audio_s,
        "wall_seconds": report.wall_s,
        "signature": None if report.signature is None else str(report.signature),
        "warnings": list(report.warnings),
    }


def _cost(cost: Comparison) -> dict[str, Any]:
    interval = cost.interval
    return {
        "wer": cost.wer_a,
        "difference": cost.difference,
        "interval": None if interval is None else [interval.low, interval.high],
        "rows": cost.rows,
        "recordings": cost.blocks,
    }


def _spread(values: Spread) -> dict[str, Any]:
    return {
        "count": values.count,
        "p50": values.p50,
        "p90": values.p90,
        "p95": values.p95,
        "mean": values.mean,
    }


def _lags(lags: Lagging | None) -> dict[str, Any]:
    if lags is None:
        return {"lagging_s": None, "proportion": None}
    figures = asdict(lags)
    proportion = {name: figures.pop(name) for name in ("ap", "ap_elapsed")}
    return {"lagging_s": figures, "proportion": proportion}


def _row(result: StreamResult, offline: FileResult | None) -> dict[str, Any]:
    row = result.row
    return {
        "audio": row.audio,
        "channel": row.channel,
        "reference": row.reference,
        "hypothesis": row.hypothesis,
        "duration": row.duration,
        "compute_s": result.compute_s,
        **score_values(row.score),
        **_figures(result.figures),
        **_lags(result.lags),
        "offline": None if offline is None else _offline_row(offline),
        "error": row.error,
        "extra": dict(row.extra),
    }


def _offline_row(row: FileResult) -> dict[str, Any]:
    return {"hypothesis": row.hypothesis, **score_values(row.score), "error": row.error}


def _figures(figures: StreamFigures | None) -> dict[str, Any]:
    if figures is None:
        return {"latencies": None}
    return {
        "first_text_s": figures.first_text_s,
        "final_delay_s": figures.final_delay_s,
        "unstable_words": figures.unstable_words,
        "shown_words": figures.shown_words,
        "revisions": figures.revisions,
        "latencies": [
            {
                "word": word.position,
                "first_s": round(word.first_s, 4),
                "final_s": round(word.final_s, 4),
                **({"interpolated": True} if word.is_interpolated else {}),
            }
            for word in figures.latencies
        ],
    }
