"""Plots of runs (extra ``plots``): what was right, wrong or not yet there, and when.

Audio time runs to the right, wall time upwards. Right is blue, wrong is orange, not yet there is
grey: colours of Okabe and Ito (2008), which colour-blind people can tell apart and which also
differ in lightness. Every function draws on the axes it is given, or on new ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stt_ru.errors import MissingExtraError, ReportError
from stt_ru.files.writing import reason, replacing
from stt_ru.streaming.queue.chunks import Signal, TranscriptionChunk

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
except ImportError as missing:
    raise MissingExtraError("рисунки", "plots") from missing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from stt_ru.streaming.measures.evaluation import (
        ErrorStatus,
        PartialAlignment,
        StreamingASRErrorPosition,
        StreamingEvaluationResults,
    )
    from stt_ru.streaming.queue.chunks import InputChunk, OutputChunk
    from stt_ru.streaming.run.results import StreamReport

RIGHT: Final = "#0072B2"
WRONG: Final = "#D55E00"
NOT_YET: Final = "#BBBBBB"
SENT: Final = "#000000"
PROCESSED: Final = "#009E73"

COLOURS: Final[dict[ErrorStatus, str]] = {
    "correct": RIGHT,
    "deletion": WRONG,
    "insertion": WRONG,
    "replacement": WRONG,
    "not_yet": NOT_YET,
}

_STYLES: Final[dict[ErrorStatus, str]] = {"deletion": "dotted"}  # errors also differ in shape

MOST_LINES: Final = 60
"""The most moments drawn; if there are more, every second, third … one is, to keep lines apart."""

_WORD_FONT: Final = 8.0  # points
_LETTER_WIDTH: Final = 0.62  # average, relative to the font size
_DPI: Final = 120


def _axes(ax: Axes | None, width: float = 10.0, height: float = 6.0) -> Axes:
    if ax is not None:
        return ax
    figure = Figure(figsize=(width, height), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def draw_partial_alignment(
    partial_alignment: PartialAlignment,
    override_y_pos: float | None = None,
    ax: Axes | None = None,
    show_processed_time: bool = True,
    show_send_time: bool = True,
    *,
    line_width: float = 3.0,
) -> Axes:
    """Draw one moment as a line of words: segments, and dots for insertions.

    Args:
        partial_alignment: The moment.
        override_y_pos: Vertical position; None for its wall time.
        ax: Axes to draw on; None for new ones.
        show_processed_time: Mark how much audio the model had processed.
        show_send_time: Mark how much audio had been sent.
        line_width: Line width of the words, points.

    Returns:
        The axes.
    """
    ax = _axes(ax, 10.0, 2.0)
    y = partial_alignment.at_time if override_y_pos is None else override_y_pos
    _draw_words(
        ax, [(y, position) for position in partial_alignment.get_error_positions()], line_width
    )
    if show_send_time:
        ax.plot([partial_alignment.audio_seconds_sent], [y], "|", color=SENT, markersize=8)
    if show_processed_time:
        ax.plot(
            [partial_alignment.audio_seconds_processed], [y], "|", color=PROCESSED, markersize=8
        )
    return ax


def _draw_words(
    ax: Axes, words: Sequence[tuple[float, StreamingASRErrorPosition]], line_width: float
) -> None:
    for status, colour in COLOURS.items():
        found = [(y, word) for y, word in words if word.status == status]
        if status == "insertion":
            ax.plot(
                [word.center_time for _, word in found],
                [y for y, _ in found],
                linestyle="none",
                marker="o",
                markersize=max(2.0, line_width),
                markerfacecolor="white",
                markeredgecolor=colour,
                markeredgewidth=0.8,
            )
            continue
        lines = [[(word.start_time, y), (word.end_time, y)] for y, word in found]
        ax.add_collection(
            LineCollection(
                lines,
                colors=colour,
                linewidths=line_width,
                linestyles=_STYLES.get(status, "solid"),
                capstyle="butt",
            )
        )


def partial_alignments_plot(eval: StreamingEvaluationResults, ax: Axes | None = None) -> Axes:
    """Draw a run: one line of words per moment, the audio sent and processed, the reference on top.

    Args:
        eval: The run.
        ax: Axes to draw on; None for new ones, wide enough for the recording.

    Returns:
        The axes.
    """
    audio_s = eval.audio_s
    ax = _axes(ax, min(40.0, max(9.0, 0.45 * audio_s)), 7.0)
    moments = _thinned(eval.partial_alignments)
    height_s = max(moment.at_time for moment in moments) or 1.0
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure_height = figure.get_size_inches()[1]
    line_width = float(np.clip(72 * figure_height * 0.55 / max(len(moments), 1) * 0.6, 0.8, 5.0))
    words = [
        (moment.at_time, position)
        for moment in moments
        for position in moment.get_error_positions()
    ]
    _draw_words(ax, words, line_width)
    _draw_audio(ax, eval.input_chunks, eval.output_chunks)
    ax.set_xlim(-0.01 * audio_s, audio_s * 1.01)
    top = height_s * 1.03
    ax.set_ylim(-0.03 * height_s, top)
    ax.set_xlabel("время в записи, с")
    ax.set_ylabel("время, с")
    _write_reference(ax, eval)
    _add_legend(ax)
    return ax


def _thinned(moments: Sequence[PartialAlignment]) -> Sequence[PartialAlignment]:
    """At most `MOST_LINES` of the moments, always including the last."""
    step = max(1, math.ceil(len(moments) / MOST_LINES))
    return moments[::-1][::step][::-1]


def _draw_audio(
    ax: Axes, inputs: Sequence[InputChunk], outputs: Sequence[OutputChunk] | None
) -> None:
    ax.step(
        [0.0, *(chunk.end_time for chunk in inputs)],
        [inputs[0].put_timestamp if inputs else 0.0, *(chunk.put_timestamp for chunk in inputs)],
        where="pre",
        color=SENT,
        linewidth=1.0,
    )
    if outputs:
        ax.plot(
            [chunk.seconds_processed for chunk in outputs],
            [chunk.put_timestamp for chunk in outputs],
            color=PROCESSED,
            linewidth=1.0,
            linestyle="dashed",
        )


def _write_reference(ax: Axes, eval: StreamingEvaluationResults) -> None:
    """Write the reference above the axes, vertically; words that would overlap are moved right."""
    tokens = eval.timed_transcription.tokens
    if not tokens:
        return
    figure = ax.get_figure(root=True)
    assert figure is not None
    left, right = ax.get_xlim()
    width_points = 72 * figure.get_size_inches()[0] * ax.get_position().width
    letter_s = _WORD_FONT * _LETTER_WIDTH / max(width_points, 1.0) * (right - left)
    # Vertical text is as wide as a line is high, however long the word is.
    needed_s = 1.9 * letter_s
    free_from = -math.inf
    for token in tokens:
        center = (token.start_time + token.end_time) / 2
        place = max(center, free_from)
        ax.annotate(
            token.value,
            xy=(center, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(place, 1.025),
            textcoords=("data", "axes fraction"),
            rotation=90,
            ha="center",
            va="bottom",
            fontsize=_WORD_FONT,
            style="italic" if token.is_interpolated else "normal",
            arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": "#888888", "shrinkB": 0},
            annotation_clip=False,
        )
        free_from = place + needed_s


def _add_legend(ax: Axes) -> None:
    ax.legend(
        handles=[
            Line2D([], [], color=RIGHT, linewidth=3, label="верно"),
            Line2D([], [], color=WRONG, linewidth=3, label="замена"),
            Line2D([], [], color=WRONG, linewidth=3, linestyle="dotted", label="удаление"),
            Line2D(
                [],
                [],
                linestyle="none",
                marker="o",
                markerfacecolor="none",
                markeredgecolor=WRONG,
                label="вставка",
            ),
            Line2D([], [], color=NOT_YET, linewidth=3, label="ещё не показано"),
            Line2D([], [], color=SENT, linewidth=1, label="отправлено"),
            Line2D([], [], color=PROCESSED, linewidth=1, linestyle="dashed", label="обработано"),
        ],
        loc="lower right",  # nothing is drawn below the line of audio sent
        fontsize=_WORD_FONT,
        framealpha=0.9,
    )


def visualize_history(
    input_chunks: Sequence[InputChunk],
    output_chunks: Sequence[OutputChunk] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw when audio was sent and taken, and when answers arrived.

    Args:
        input_chunks: The chunks sent.
        output_chunks: The model's answers; None to leave them out.
        ax: Axes to draw on; None for new ones.

    Returns:
        The axes.
    """
    ax = _axes(ax, 9.0, 5.0)
    if not input_chunks:
        return ax
    start = input_chunks[0].put_timestamp
    ends = [chunk.end_time for chunk in input_chunks]
    sent = [chunk.put_timestamp - start for chunk in input_chunks]
    taken = [chunk.get_timestamp - start for chunk in input_chunks]
    ax.plot(ends, sent, color=SENT, marker="|", linewidth=1.0, label="отправлено")
    ax.plot(ends, taken, color=RIGHT, marker=".", linewidth=1.0, label="взято моделью")
    if output_chunks:
        answers = [c for c in output_chunks if isinstance(c.data, TranscriptionChunk)]
        ends_ = [c for c in output_chunks if c.data is Signal.FINISH]
        ax.plot(
            [chunk.seconds_processed for chunk in answers],
            [chunk.put_timestamp - start for chunk in answers],
            linestyle="none",
            marker="o",
            markerfacecolor="none",
            markeredgecolor=WRONG,
            label="ответ",
        )
        ax.plot(
            [chunk.seconds_processed for chunk in ends_],
            [chunk.put_timestamp - start for chunk in ends_],
            linestyle="none",
            marker="s",
            color=PROCESSED,
            label="конец",
        )
    ax.set_xlabel("время в записи, с")
    ax.set_ylabel("время от первой отправки, с")
    ax.legend(fontsize=_WORD_FONT)
    return ax


def streaming_error_vs_latency_histogram(
    evals: Sequence[StreamingEvaluationResults],
    ax: Axes | None = None,
    max_latency: float = 10,
) -> Axes:
    """Draw the shares of words that are right, wrong and not yet there, by how long ago they were.

    Every word of every moment is counted at its latency: audio sent by that moment minus the middle
    of the word.

    Args:
        evals: The runs.
        ax: Axes to draw on; None for new ones.
        max_latency: Right edge of the plot, seconds.

    Returns:
        The axes.
    """
    ax = _axes(ax, 8.0, 4.5)
    shares, edges = error_shares(evals, max_latency)
    ax.stackplot(
        edges[:-1],
        shares,
        step="post",
        colors=[RIGHT, WRONG, NOT_YET],
        labels=["верно", "неверно", "ещё не показано"],
    )
    ax.set_xlim(0, max_latency)
    ax.set_ylim(0, 1)
    ax.set_xlabel("прошло после слова, с")
    ax.set_ylabel("доля слов")
    ax.legend(loc="lower right", fontsize=_WORD_FONT)
    return ax


def error_shares(
    evals: Sequence[StreamingEvaluationResults], max_latency: float = 10, step_s: float = 0.25
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]:
    """Shares of right, wrong and not-yet words by latency.

    Returns:
        Shares of shape (3, bins), which sum to 1, or to 0 in bins without words; the bin edges.
    """
    edges = np.arange(0, max_latency + step_s, step_s)
    kinds: tuple[list[float], list[float], list[float]] = ([], [], [])
    for run in evals:
        for moment in run.partial_alignments:
            for word in moment.get_error_positions():
                latency = word.sent_time - word.center_time
                kind = 0 if word.status == "correct" else 2 if word.status == "not_yet" else 1
                kinds[kind].append(latency)
    counts = np.array([np.histogram(kind, edges)[0] for kind in kinds], np.float64)
    totals = counts.sum(axis=0)
    return np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0), edges


def latency_plot(evals: Sequence[StreamingEvaluationResults], ax: Axes | None = None) -> Axes:
    """Draw the shares of words on the screen and of final words against time since the word.

    Args:
        evals: The runs.
        ax: Axes to draw on; None for new ones.

    Returns:
        The axes, with two lines that end at the share of words correct in the final text.
    """
    from stt_ru.streaming.measures.latency import stream_figures

    ax = _axes(ax, 8.0, 4.5)
    words = [word for run in evals for word in stream_figures(run).latencies]
    total = sum(len(run.timed_transcription.tokens) for run in evals)
    _latency_lines(ax, [w.first_s for w in words], [w.final_s for w in words], total, RIGHT, "")
    _finish_latency_plot(ax)
    return ax


def _latency_lines(
    ax: Axes,
    first_s: Sequence[float],
    final_s: Sequence[float],
    total: int,
    colour: str,
    label: str,
) -> None:
    for values, style, name in (
        (first_s, "dashed", "первый показ"),
        (final_s, "solid", "стабилизация"),
    ):
        ordered = np.sort(np.asarray(values, np.float64))
        shares = np.arange(1, len(ordered) + 1) / max(total, 1)
        if len(ordered):  # starting at zero, so that even a single word is visible
            ordered = np.concatenate([ordered[:1], ordered])
            shares = np.concatenate([[0.0], shares])
        text = f"{label}: {name}" if label else name
        ax.step(ordered, shares, where="post", color=colour, linestyle=style, label=text)


def _finish_latency_plot(ax: Axes) -> None:
    ax.axvline(0, color="#888888", linewidth=0.8)
    ax.set_ylim(0, 1)
    ax.set_xlabel("от конца слова, с")
    ax.set_ylabel("доля слов эталона")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="lower right", fontsize=_WORD_FONT)


def show_last_alignments(
    evals: Sequence[StreamingEvaluationResults], ax: Axes | None = None
) -> Axes:
    """Draw the final alignment of each run, one above another.

    Args:
        evals: The runs; the first is on top.
        ax: Axes to draw on; None for new ones.

    Returns:
        The axes.
    """
    ax = _axes(ax, 10.0, max(2.0, 0.5 * len(evals) + 1.2))
    for number, run in enumerate(evals):
        draw_partial_alignment(
            run.partial_alignments[-1],
            override_y_pos=-number,
            ax=ax,
            show_processed_time=False,
            show_send_time=False,
            line_width=5.0,
        )
    longest = max((run.audio_s for run in evals), default=1.0)
    ax.set_xlim(-0.01 * longest, 1.01 * longest)
    ax.set_ylim(-len(evals) + 0.4, 0.6)
    ax.set_yticks([-number for number in range(len(evals))])
    ax.set_yticklabels([str(number + 1) for number in range(len(evals))])
    ax.set_xlabel("время в записи, с")
    ax.set_ylabel("запись")
    return ax


def save_recording_plot(results: StreamingEvaluationResults, path: Path, *, title: str) -> None:
    """Write the plot of a run as PNG.

    Raises:
        ReportError: If it cannot be written.
    """
    ax = partial_alignments_plot(results)
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.suptitle(title, fontsize=10)
    _save(figure, path)


_LINE_COLOURS: Final = (RIGHT, WRONG, PROCESSED, "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def save_summary_plot(reports: Sequence[StreamReport], path: Path) -> None:
    """Write a plot of the latencies of several models as PNG.

    Raises:
        ReportError: If it cannot be written.
    """
    ax = _axes(None, 9.0, 5.0)
    for number, report in enumerate(reports):
        words = [
            word
            for result in report.results
            if result.figures is not None
            for word in result.figures.latencies
        ]
        total = report.score.words.length
        colour = _LINE_COLOURS[number % len(_LINE_COLOURS)]
        first, final = [w.first_s for w in words], [w.final_s for w in words]
        _latency_lines(ax, first, final, total, colour, report.label)
    _finish_latency_plot(ax)
    figure = ax.get_figure(root=True)
    assert figure is not None
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    try:
        with replacing(path) as stream:
            figure.savefig(stream, format="png")
    except OSError as error:
        raise ReportError(f"рисунок {path} не записан: {reason(error)}") from error
