"""The structure of the plots; their appearance was checked by eye."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from stt_ru.streaming.measures.evaluation import StreamingEvaluationResults, evaluate_streaming
from stt_ru.streaming.queue.chunks import OutputChunk
from stt_ru.streaming.run.plots import (
    COLOURS,
    MOST_LINES,
    NOT_YET,
    RIGHT,
    WRONG,
    draw_partial_alignment,
    error_shares,
    latency_plot,
    partial_alignments_plot,
    save_recording_plot,
    show_last_alignments,
    streaming_error_vs_latency_histogram,
    visualize_history,
)
from stt_ru.streaming.timing.transcription import timed_transcription
from tests.streaming.fakes import answer, finish
from tests.streaming.measures.test_evaluation import ISSUE, evaluated, spoken

WORDS = "добрый день хочу узнать когда приедет курьер с посылкой номер".split()  # noqa: SIM905


def conversation(seconds: float) -> StreamingEvaluationResults:
    """2.5 words per second; every fifth is wrong at first, every seventh stays wrong."""
    n = int(seconds * 2.5)
    times = [(0.4 * k + 0.02, 0.4 * k + 0.36) for k in range(n)]
    reference = timed_transcription([WORDS[k % len(WORDS)] for k in range(n)], times)
    cutoffs, inputs = spoken(seconds)
    outputs: list[OutputChunk] = []
    for k, (_, end) in enumerate(times):
        word = WORDS[k % len(WORDS)]
        at = 50 + end + 0.5
        hypothesis = word[:-1] + "ъ" if k % 5 == 0 or k % 7 == 0 else word
        outputs.append(answer(hypothesis, at, end, uid=k))
        if k % 5 == 0 and k % 7:
            outputs.append(answer(word, at + 0.9, end, uid=k))
        if k % 9 == 0:
            outputs.append(answer("э", at + 0.05, end, uid=f"extra{k}"))
    outputs.sort(key=lambda chunk: chunk.put_timestamp)
    outputs.append(finish(outputs[-1].put_timestamp + 0.2, seconds))
    return evaluate_streaming(reference, np.zeros(0, np.float32), cutoffs, inputs, outputs)


def segments(ax: Axes, colour: str) -> int:
    """The number of words drawn in a colour."""
    from matplotlib.colors import to_rgba

    drawn = [lines for lines in ax.collections if isinstance(lines, LineCollection)]
    return sum(
        len(lines.get_segments())
        for lines in drawn
        if np.allclose(np.asarray(lines.get_colors())[0], to_rgba(colour))
    )


def test_each_word_of_a_moment_is_drawn_in_its_colour() -> None:
    results = evaluated(ISSUE)
    moment = next(m for m in results.partial_alignments if m.pred.text == "раз дву")
    ax = draw_partial_alignment(moment)
    assert (segments(ax, RIGHT), segments(ax, WRONG), segments(ax, NOT_YET)) == (1, 1, 1)


def test_insertions_are_dots() -> None:
    results = evaluated([answer("ну раз вот два три", 1.5), finish(1.9)])
    ax = draw_partial_alignment(results.partial_alignments[-1], override_y_pos=7)
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert sum(np.size(line.get_xdata()) for line in dots) == 2
    assert np.all(np.concatenate([np.asarray(line.get_ydata()) for line in dots]) == 7)


@pytest.mark.parametrize("seconds", [5, 60])
def test_the_words_of_the_reference_do_not_overlap(seconds: float) -> None:
    ax = partial_alignments_plot(conversation(seconds))
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.canvas.draw()
    boxes = sorted(
        (text.get_window_extent() for text in ax.texts if text.get_text()), key=lambda box: box.x0
    )
    assert len(boxes) == int(seconds * 2.5)
    for left, right in itertools.pairwise(boxes):
        assert left.x1 <= right.x0 + 0.5
    width, height = figure.canvas.get_width_height()
    assert all(box.x0 >= 0 and box.x1 <= width and box.y1 <= height for box in boxes)


def test_a_long_run_shows_a_sample_of_its_moments_including_the_last() -> None:
    results = conversation(60)
    ax = partial_alignments_plot(results)
    moments = {
        float(segment[0][1])
        for lines in ax.collections
        if isinstance(lines, LineCollection)
        for segment in lines.get_segments()
    }
    assert len(moments) <= MOST_LINES + 1
    assert max(moments) == pytest.approx(results.finish_timestamp)


def test_shares_of_right_wrong_and_not_yet_sum_to_one() -> None:
    shares, edges = error_shares([conversation(5)], max_latency=4)
    totals = shares.sum(axis=0)
    assert len(edges) == shares.shape[1] + 1
    assert set(np.round(totals, 9)) <= {0.0, 1.0}
    assert shares[2, 0] == 1.0  # no word is there as soon as it is spoken
    assert shares[2, -1] < 0.1


def test_the_latency_lines_end_at_the_share_of_correct_words() -> None:
    results = conversation(5)
    ax = latency_plot([results])
    final = results.partial_alignments[-1].get_error_positions()
    right = [position.status for position in final].count("correct")
    total = len(results.timed_transcription.tokens)
    lines = [line for line in ax.lines if np.size(line.get_xdata()) > 2]
    tops = [float(np.max(np.asarray(line.get_ydata()))) for line in lines]
    assert tops == pytest.approx([right / total] * 2)


def test_every_plot_draws_on_the_given_axes() -> None:
    results = conversation(5)
    figure = Figure()
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 3).ravel()
    assert draw_partial_alignment(results.partial_alignments[-1], ax=axes[0]) is axes[0]
    assert partial_alignments_plot(results, ax=axes[1]) is axes[1]
    assert visualize_history(results.input_chunks, results.output_chunks, axes[2]) is axes[2]
    assert streaming_error_vs_latency_histogram([results], ax=axes[3]) is axes[3]
    assert latency_plot([results], ax=axes[4]) is axes[4]
    assert show_last_alignments([results, results], ax=axes[5]) is axes[5]
    figure.canvas.draw()


def test_runs_without_words_or_answers_can_be_drawn() -> None:
    silent = evaluated([finish(2.0)])
    empty = replace(silent, timed_transcription=timed_transcription([], []))
    for results in (silent, evaluated([finish(2.0)], timed_transcription([], []))):
        partial_alignments_plot(results)
        latency_plot([results])
    assert empty.timed_transcription.text == ""
    show_last_alignments([])
    visualize_history([])


def test_the_colours_also_differ_in_lightness() -> None:
    from matplotlib.colors import to_rgb

    grey = [np.dot(to_rgb(colour), [0.299, 0.587, 0.114]) for colour in (RIGHT, WRONG, NOT_YET)]
    assert set(COLOURS.values()) == {RIGHT, WRONG, NOT_YET}
    assert min(abs(a - b) for a, b in itertools.pairwise(grey)) > 0.1


def test_a_plot_is_written_atomically(tmp_path: Path) -> None:
    save_recording_plot(evaluated(ISSUE), tmp_path / "a.png", title="запись")
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
