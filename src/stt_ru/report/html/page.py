"""The report as one HTML page: no network, opens from a mail, everything in it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from stt_ru.analysis.error_analysis import find_confusions
from stt_ru.analysis.significance import macro_average
from stt_ru.analysis.slices import slice_groups
from stt_ru.errors import MissingExtraError
from stt_ru.report.html.audio_links import Players
from stt_ru.report.html.charts import interval_chart, scatter_chart
from stt_ru.report.table import COLUMNS, cells, interval, percent, spelling_rows
from stt_ru.text.normalize import normalize
from stt_ru.text.numbers import split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from stt_ru.analysis.aligned_rows import AlignedRow
    from stt_ru.analysis.error_analysis import Confusion, Confusions
    from stt_ru.analysis.slices import SliceGroup
    from stt_ru.report.findings import Findings
    from stt_ru.results import ModelReport

MOST_CONFUSIONS: Final = 20
"""Lines of each list of confusions."""

MOST_POINTS: Final = 3_000
"""Recordings in the chart of error rate against duration; of more, every n-th."""

_SCRIPT_ESCAPES: Final = {
    "<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"
}  # fmt: skip

_AROUND: Final = ".,:;!?…–—-«»„“\"'()"
"""Marks beside a word that leave it one word when it is compared."""


def html_report(
    findings: Findings,
    *,
    target: Path,
    embed_audio: bool = False,
    warn: Callable[[str], None] | None = None,
) -> Iterator[str]:
    """The page, in pieces.

    A recording that is not found or cannot be embedded loses its player, and the page says so.

    Args:
        findings: What to show.
        target: Where the page will be: recordings are linked relative to it.
        embed_audio: Put the recordings into the page.
        warn: Told what the page says of players, a Russian sentence each.

    Raises:
        MissingExtraError: If jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise MissingExtraError("отчёт .html", "report") from error
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    source = files("stt_ru.report.html").joinpath("templates/page.html.j2").read_text("utf-8")
    players = Players(
        findings.folder, target, embed_audio=embed_audio, only_inside=findings.is_read_back
    )
    rows, positions = _rows(findings, players)
    silent = list(players.warnings())
    if warn is not None:
        for sentence in silent:
            warn(sentence)
    slices = [
        slice_groups(report, group_by=findings.group_by) if report.error is None else []
        for report in findings.reports
    ]
    first = next((n for n, report in enumerate(findings.reports) if report.error is None), None)
    groups = [] if first is None else slices[first]
    filters = [] if first is None else _filters(groups, positions[first])
    data = {
        "models": [report.label for report in findings.reports],
        "rows": rows,
        "filters": [numbers for _, _, numbers in filters],
    }
    page = environment.from_string(source).render(
        manifest=findings.manifest,
        created_at=findings.created_at.strftime("%d.%m.%Y %H:%M"),
        rows_total=max((report.rows for report in findings.reports), default=0),
        group_by=findings.group_by,
        columns=COLUMNS,
        models=_models(findings, slices, positions),
        verdicts=findings.conclusions,
        warnings=[*findings.cautions, *silent],
        spelling=_spelling(findings),
        charts=[
            {"title": title, "svg": Markup(svg)} for title, svg in _charts(findings.reports, groups)
        ],
        filters=[{"title": title, "value": value} for title, value, _ in filters],
        data=Markup(_script_json(data)),
    )
    return players.fill(page)


def _models(
    findings: Findings, slices: Sequence[list[SliceGroup]], positions: Sequence[list[int]]
) -> list[dict[str, Any]]:
    """What the page shows of each model: its line of the table, confusions, slices."""
    lines = zip(findings.aligned, findings.statistics.uncertainties, slices, positions, strict=True)
    return [
        {
            "number": number,
            "label": one.report.label,
            "error": one.report.error,
            "cells": cells(one.report, exactness),
            "macro": percent(macro_average(row.wer for row in one.report.results)),
            "lists": [] if one.report.error else _lists(find_confusions(one), places),
            "slices": _slice_tables(groups),
        }
        for number, (one, exactness, groups, places) in enumerate(lines)
    ]


def _spelling(findings: Findings) -> dict[str, Any]:
    head, *rows = spelling_rows(findings.reports, findings.spellings)
    return {
        "titles": head[1:],
        "rows": [
            (row[0], row[1:]) for row, one in zip(rows, findings.spellings, strict=True) if one
        ],
    }


def _script_json(value: object) -> str:
    """JSON that nothing in it can end the script element of."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character, escape in _SCRIPT_ESCAPES.items():  # str.translate takes seconds on megabytes
        text = text.replace(character, escape)
    return text


def _rows(findings: Findings, players: Players) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """The page's rows with every model's words, and for each model where its results went.

    Results of one recording, channel and reference stand side by side.
    """
    keys: dict[tuple[str, int | None, str, int], int] = {}
    rows: list[dict[str, Any]] = []
    n_models = len(findings.aligned)
    positions: list[list[int]] = []
    for number, aligned in enumerate(findings.aligned):
        seen: dict[tuple[str, int | None, str], int] = {}
        positions.append([])
        for row in aligned.rows:
            result = row.result
            question = (result.audio, result.channel, result.reference)
            seen[question] = seen.get(question, -1) + 1
            position = keys.setdefault((*question, seen[question]), len(rows))
            if position == len(rows):
                rows.append(_row(row, n_models, players.source(result.audio)))
            rows[position]["models"][number] = _model_row(row)
            positions[-1].append(position)
    return rows, positions


def _row(row: AlignedRow, n_models: int, source: str | None) -> dict[str, Any]:
    result = row.result
    # A branch has words of its own; the reference's are those of all its variants.
    words = row.reference if result.chosen is None else normalize(result.reference)
    return {
        "audio": result.audio,
        "channel": result.channel,
        "duration": result.duration,
        "ref": result.reference,
        "words": len(words.split()),
        "extra": [
            [name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)]
            for name, value in result.extra.items()
        ],
        "src": source,
        "models": [{"skipped": True}] * n_models,
    }


def _model_row(row: AlignedRow) -> dict[str, Any]:
    result = row.result
    if result.score is None:
        return {"error": result.error}
    branch = {"branch": result.chosen, "words": result.score.words.length}
    return {
        "errors": result.score.words.errors,
        "text": result.hypothesis,
        **(branch if result.chosen is not None else {}),
        # An equal pair is [word, 0]: half the size of the page is such words.
        "pairs": [[true, 0] if true == heard else [true, heard] for true, heard in row.pairs],
        **_times(row),
    }


def _times(row: AlignedRow) -> dict[str, Any]:
    """Where each compared word of the text was heard, and whether that is the word's own time.

    Without times of words it is the start of the word's segment; nothing when that is not known
    either, as for a recogniser that tells the text of the whole recording only.
    """
    segments = [segment for segment in row.result.segments if segment.text.strip()]
    is_exact = all(segment.word_starts for segment in segments)
    is_cut = len(segments) > 1 or any(segment.start for segment in segments)
    if not segments or not (is_exact or is_cut):
        return {}
    times: list[float] = []
    for segment in segments:
        written = segment.text.split()
        starts = segment.word_starts if is_exact else [segment.start] * len(written)
        for word, start_s in zip(written, starts, strict=True):
            # «кто-то» is two words when it is compared, «–» none.
            is_one = word.strip(_AROUND).isalnum()
            times += [round(start_s, 2)] * (1 if is_one else len(split_words(word).words))
    if len(times) != len(row.hypothesis.split()):
        return {}
    return {"times": times, "exact": is_exact}


def _lists(found: Confusions, positions: Sequence[int]) -> list[dict[str, Any]]:
    def places(rows: Iterable[int]) -> str:
        return " ".join(str(positions[row]) for row in rows)

    def rows_of(items: Sequence[Confusion]) -> list[dict[str, Any]]:
        return [
            {
                "text": " → ".join(word for word in (one.reference, one.hypothesis) if word),
                "count": one.count,
                "rows": places(one.rows),
            }
            for one in items[:MOST_CONFUSIONS]
        ]

    by_word: dict[str, dict[int, None]] = {}
    for one in (*found.substitutions, *found.deletions):
        by_word.setdefault(one.reference or "", {}).update(dict.fromkeys(one.rows))
    return [
        {"title": "Замены", "rows": rows_of(found.substitutions)},
        {"title": "Удаления", "rows": rows_of(found.deletions)},
        {"title": "Вставки", "rows": rows_of(found.insertions)},
        {
            "title": "Слова, в которых чаще ошибаются",
            "rows": [
                {
                    "text": one.word,
                    "count": f"{one.errors} из {one.occurrences}",
                    "rows": places(by_word.get(one.word, {})),
                }
                for one in found.words[:MOST_CONFUSIONS]
            ],
        },
    ]


def _slice_tables(groups: Sequence[SliceGroup]) -> list[dict[str, Any]]:
    return [
        {
            "title": group.title,
            "rows": [
                {
                    "value": one.value,
                    "wer": percent(one.words.rate),
                    "interval": interval(one.interval),
                    "rows": one.rows,
                    "words": one.words.length,
                }
                for one in group.slices
            ],
        }
        for group in groups
    ]


def _filters(
    groups: Sequence[SliceGroup], positions: Sequence[int]
) -> list[tuple[str, str, list[int]]]:
    """Slices of a model as filters: title, value, numbers of the page's rows."""
    return [
        (group.title, one.value, [positions[row] for row in one.numbers])
        for group in groups
        for one in group.slices
    ]


def _charts(reports: Sequence[ModelReport], groups: Sequence[SliceGroup]) -> list[tuple[str, str]]:
    loaded = [report for report in reports if report.error is None]
    found = [
        (f"WER, %: {group.title} ({loaded[0].label})", interval_chart(group)) for group in groups
    ]
    speeds = [
        (report.speed, report.wer, report.label)
        for report in loaded
        if report.speed is not None and report.wer is not None
    ]
    if len(speeds) > 1:
        chart = scatter_chart(speeds, x_title="секунд звука в секунду", title="WER и скорость")
        found.append(("WER, % и скорость", chart))
    for report in loaded[:1]:
        points = [
            (row.duration, row.wer, row.audio)
            for row in report.results
            if row.duration is not None and row.wer is not None
        ]
        points = points[:: max(1, len(points) // MOST_POINTS)]
        if len(points) > 1:
            chart = scatter_chart(
                points, x_title="секунд", title="WER и длительность записи", small=True
            )
            found.append((f"WER, % и длительность ({report.label})", chart))
    return [(title, svg) for title, svg in found if svg]
