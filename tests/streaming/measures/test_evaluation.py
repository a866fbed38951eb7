import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.errors import StreamingError, UsageError
from stt_ru.scoring.counts import count_edits
from stt_ru.streaming.measures.evaluation import (
    PartialText,
    StreamingEvaluationResults,
    evaluate_streaming,
    get_audio_seconds_processed,
    get_audio_seconds_sent,
    get_partial_alignments,
)
from stt_ru.streaming.measures.latency import Spread, spread, stream_figures
from stt_ru.streaming.queue.chunks import InputChunk, OutputChunk, Signal, TranscriptionChunk
from stt_ru.streaming.schedule.sender import Cutoff
from stt_ru.streaming.timing.transcription import Transcription, timed_transcription
from stt_ru.text.normalize import normalize
from tests.streaming.fakes import PATIENT, answer, finish, sent


def spoken(seconds: float, step: float = 0.1) -> tuple[list[Cutoff], list[InputChunk]]:
    """A schedule and chunks sent on it, on a clock that shows 50 when the speech begins."""
    ends = [round(step * n, 6) for n in range(1, round(seconds / step) + 1)]
    cutoffs = [Cutoff(0, 0, 0), *(Cutoff(end, end, round(end * 16_000)) for end in ends)]
    inputs = [sent(50 + end, end) for end in ends]
    return cutoffs, [*inputs, sent(50 + seconds, seconds, Signal.FINISH)]


THREE = timed_transcription(["раз", "два", "три"], [(0.1, 0.4), (0.5, 0.9), (1.0, 1.4)])


def evaluated(
    outputs: list[OutputChunk], reference: Transcription = THREE
) -> StreamingEvaluationResults:
    cutoffs, inputs = spoken(1.5)
    outputs = [
        replace(c, put_timestamp=c.put_timestamp + 50, get_timestamp=c.get_timestamp + 50)
        for c in outputs
    ]
    return evaluate_streaming(reference, np.zeros(24_000, np.float32), cutoffs, inputs, outputs)


ISSUE = [
    answer("раз", 0.6),
    answer("раз два", 1.1),
    answer("раз дву", 1.5),
    answer("раз два три", 1.9),
    finish(1.9),
]


def test_finalisation_comes_after_the_last_time_a_word_was_wrong() -> None:
    figures = stream_figures(evaluated(ISSUE))
    assert [word.first_s for word in figures.latencies] == pytest.approx([0.2, 0.2, 0.5])
    assert [word.final_s for word in figures.latencies] == pytest.approx([0.2, 1.0, 0.5])
    assert figures.first_text_s == pytest.approx(0.6)
    assert figures.final_delay_s == pytest.approx(0.5)


def test_only_words_correct_in_the_final_text_have_latencies() -> None:
    figures = stream_figures(
        evaluated([answer("раз два", 1.0), answer("раз дна", 2.0), finish(2.0)])
    )
    assert [word.position for word in figures.latencies] == [0]


@pytest.mark.parametrize(
    ("texts", "unstable", "final", "revisions"),
    [
        pytest.param(
            ["в", "в пред", "впереди", "впереди была", "впереди было поле"], 3, 3, 2, id="issue"
        ),
        pytest.param(["а", "а б", "а б в"], 0, 3, 0, id="grows"),
        pytest.param(["а б", ""], 2, 0, 1, id="withdrawn"),
        pytest.param(["А", "а,"], 0, 1, 0, id="only case and punctuation"),
    ],
)
def test_unstable_words_in_the_prefix_form(
    texts: list[str], unstable: int, final: int, revisions: int
) -> None:
    outputs = [answer(text, 0.1 * n) for n, text in enumerate(texts)]
    figures = stream_figures(evaluated([*outputs, finish(1.6)]))
    assert (figures.unstable_words, figures.shown_words, figures.revisions) == (
        unstable,
        final,
        revisions,
    )


def test_parts_that_arrive_at_the_same_moment_are_one_change() -> None:
    outputs = [
        answer("а б", 0.5, uid=1),
        answer("а", 0.9, uid=1),  # the tail moves to a separate part
        answer("б", 0.9002, uid=2),
        finish(1.6),
    ]
    assert stream_figures(evaluated(outputs)).unstable_words == 0


def test_without_answers_latencies_are_missing_rather_than_zero() -> None:
    figures = stream_figures(evaluated([finish(2.0)]))
    assert (figures.latencies, figures.first_text_s, figures.unstable_rate) == ([], None, None)
    assert spread([]) == Spread(0)


def test_each_emitted_word_has_its_delay() -> None:
    figures = stream_figures(evaluated(ISSUE))
    assert [word.at_s for word in figures.emitted] == pytest.approx([0.6, 1.9, 1.9])
    assert [word.sent_s for word in figures.emitted] == pytest.approx([0.6, 1.5, 1.5])


def test_times_are_relative_to_the_first_put_and_chunks_are_copies() -> None:
    results = evaluated(ISSUE)
    assert results.start_timestamp == 0
    assert results.finish_timestamp == pytest.approx(1.8)  # the first chunk was put at 0.1
    assert results.spoken_at(0) == pytest.approx(-0.1)
    assert results.spoken_at(1.45) == pytest.approx(1.35)
    assert results.partial_alignments[-1].is_final
    times = [partial.at_time for partial in results.partial_alignments]
    assert times == pytest.approx([0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 1.8])


def test_faster_speech_is_measured_in_wall_time() -> None:
    cutoffs = [Cutoff(0, 0, 0), Cutoff(1, 2, 2)]
    inputs = [sent(11, 2.0), sent(11, 2.0, Signal.FINISH)]
    reference = timed_transcription(["раз"], [(0.5, 1.0)])
    outputs = [answer("раз", 11.3), finish(11.3)]
    results = evaluate_streaming(reference, np.zeros(2), cutoffs, inputs, outputs)
    # The word ended after 0.5 s of wall time, the answer came after 1.3 s.
    assert stream_figures(results).latencies[0].final_s == pytest.approx(0.8)


def test_spoken_at_does_not_read_the_whole_schedule() -> None:
    class Counted(list[Cutoff]):
        read = 0

        def __getitem__(self, position):  # type: ignore[no-untyped-def]  # noqa: ANN001,ANN204
            self.read += 1
            return super().__getitem__(position)

        def __iter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204
            raise AssertionError("the whole schedule is read for each word")

    cutoffs, _ = spoken(1000)
    results = evaluated(ISSUE)
    counted = replace(results, cutoffs=Counted(cutoffs))
    assert counted.spoken_at(777.77) == pytest.approx(777.67)
    assert counted.spoken_at(777.77) == replace(results, cutoffs=cutoffs).spoken_at(777.77)
    assert counted.cutoffs.read < 60  # type: ignore[attr-defined]


def statuses(outputs: list[OutputChunk], at: float) -> list[str]:
    _, inputs = spoken(1.5)
    outputs = [replace(c, put_timestamp=c.put_timestamp + 50) for c in outputs]
    (partial,) = get_partial_alignments(inputs, outputs, THREE, [50 + at])
    return [position.status for position in partial.get_error_positions()]


def test_words_missing_at_the_end_are_not_yet_while_the_stream_runs() -> None:
    assert statuses([answer("раз", 0.6)], 1.5) == ["correct", "not_yet", "not_yet"]
    assert statuses([answer("раз", 0.6), finish(1.5)], 1.5) == ["correct", "deletion", "deletion"]
    assert statuses([], 1.5) == ["not_yet"] * 3
    assert statuses([finish(1.5)], 1.5) == ["deletion"] * 3
    assert statuses([answer("два", 1.0)], 1.0) == ["deletion", "correct"]


def test_a_word_partly_spoken_is_included_if_that_is_better() -> None:
    assert statuses([answer("раз два", 0.7)], 0.7) == ["correct", "correct"]
    assert statuses([answer("раз", 0.6)], 0.7) == ["correct"]
    assert statuses([answer("раз дверь", 0.7)], 0.7) == ["correct", "replacement"]


def test_an_insertion_lies_between_reference_words() -> None:
    _, inputs = spoken(1.5)
    outputs = [answer("ну раз вот два", 51.2, 1.1), answer("эх", 51.3, 1.2, uid=2)]
    (partial,) = get_partial_alignments(inputs, outputs, THREE, [51.3])
    spans = [(p.status, p.start_time, p.end_time) for p in partial.get_error_positions()]
    assert spans == [
        ("insertion", 0.0, 0.1),
        ("correct", 0.1, 0.4),
        ("insertion", 0.4, 0.5),
        ("correct", 0.5, 0.9),
        ("insertion", 0.9, 1.2),
    ]
    (partial,) = get_partial_alignments(inputs, outputs, THREE, [51.2])
    assert partial.get_error_positions()[-1].end_time == 0.9
    assert partial.get_error_positions()[0].center_time == 0.05
    (early,) = get_partial_alignments(inputs, [answer("ага", 50.05, 0.04)], THREE, [50.05])
    assert [(p.start_time, p.end_time) for p in early.get_error_positions()] == [(0, 0.04)]


def test_seconds_sent_and_processed() -> None:
    _, inputs = spoken(0.3)
    outputs = [answer("а", 51, 0.1), finish(52, 0.3)]
    assert [get_audio_seconds_sent(t, inputs) for t in (50, 50.1, 50.25, 60)] == [0, 0.1, 0.2, 0.3]
    assert [get_audio_seconds_processed(t, outputs) for t in (50, 51, 51.5, 60)] == [
        0,
        0.1,
        0.1,
        0.3,
    ]


words = st.sampled_from(["а", "б", "аб", "вг", ""])
chunk_lists = st.lists(
    st.tuples(st.integers(0, 3), st.lists(words, max_size=4), st.integers(1, 400)), max_size=10
)


def history(chunks: list[tuple[int, list[str], int]]) -> list[OutputChunk]:
    outputs = []
    now = 50.0
    for uid, parts, delay in chunks:
        now += delay / 1000
        outputs.append(answer(" ".join(parts), now, 0.1, uid))
    return [*outputs, finish(max(now, 53), 2.0)]


def reference_of(parts: list[str]) -> Transcription:
    parts = [part for part in parts if part]
    times = [(0.2 * n + 0.02, 0.2 * n + 0.17) for n in range(len(parts))]
    return timed_transcription(parts, times)


@PATIENT
@given(chunk_lists)
def test_the_words_of_a_growing_text_are_those_of_the_joined_text(
    chunks: list[tuple[int, list[str], int]],
) -> None:
    text = PartialText()
    outputs = history(chunks)[:-1]
    before: list[str] = []
    for number, output in enumerate(outputs):
        assert isinstance(output.data, TranscriptionChunk)
        same = text.apply(output.data)
        joined = normalize(TranscriptionChunk.join(outputs[: number + 1])).split()
        assert text.words == joined
        assert before[:same] == joined[:same]
        before = joined


@PATIENT
@given(st.lists(words, max_size=10), chunk_lists, st.lists(st.integers(0, 3000), max_size=6))
def test_alignments_made_together_equal_those_made_one_by_one(
    parts: list[str], chunks: list[tuple[int, list[str], int]], milliseconds: list[int]
) -> None:
    reference = reference_of(parts)
    _, inputs = spoken(2.0)
    outputs = history(chunks)
    times = [50 + ms / 1000 for ms in milliseconds]
    together = get_partial_alignments(inputs, outputs, reference, times)
    for time, partial in zip(times, together, strict=True):
        (alone,) = get_partial_alignments(inputs, outputs, reference, [time])
        assert partial.alignment == alone.alignment
        assert partial.at_time == time
        assert partial.audio_seconds_sent == get_audio_seconds_sent(time, inputs)
        assert partial.audio_seconds_processed == get_audio_seconds_processed(time, outputs)
        shown = [c for c in outputs if c.put_timestamp <= time]
        assert partial.pred.text == normalize(TranscriptionChunk.join(shown))
        assert len(partial.pred.tokens) == len(partial.pred.words)


@PATIENT
@given(st.lists(words, max_size=10), chunk_lists)
def test_the_final_alignment_has_as_many_errors_as_scoring_counts(
    parts: list[str], chunks: list[tuple[int, list[str], int]]
) -> None:
    reference = reference_of(parts)
    cutoffs, inputs = spoken(2.0)
    outputs = history(chunks)
    results = evaluate_streaming(reference, np.zeros(0), cutoffs, inputs, outputs)
    final = results.partial_alignments[-1]
    hypothesis = normalize(TranscriptionChunk.join(outputs)).split()
    wrong = [p for p in final.get_error_positions() if p.status != "correct"]
    assert len(wrong) == count_edits(reference.words, hypothesis).errors


@PATIENT
@given(st.lists(words, max_size=10), chunk_lists)
def test_figures_equal_those_found_by_examining_every_partial(
    parts: list[str], chunks: list[tuple[int, list[str], int]]
) -> None:
    reference = reference_of(parts)
    cutoffs, inputs = spoken(2.0)
    results = evaluate_streaming(reference, np.zeros(0), cutoffs, inputs, history(chunks))
    outputs = results.output_chunks
    right_at: list[tuple[float, set[int]]] = []
    for number, output in enumerate(outputs):
        if number + 1 < len(outputs) and (
            outputs[number + 1].put_timestamp - output.put_timestamp <= 0.001
            and outputs[number + 1].data is not Signal.FINISH
        ):
            continue
        (partial,) = get_partial_alignments(
            results.input_chunks, outputs[: number + 1], reference, [output.put_timestamp]
        )
        right = {p.reference for p in partial.alignment if p.is_correct and p.reference is not None}
        right_at.append((output.put_timestamp, right))
    expected = {}
    for word in right_at[-1][1]:
        wrong = [n for n, (_, right) in enumerate(right_at) if word not in right]
        first = next(time for time, right in right_at if word in right)
        stable = right_at[max(wrong, default=-1) + 1][0]
        end = results.spoken_at(reference.tokens[word].end_time)
        expected[word] = (first - end, stable - end)
    found = {w.position: (w.first_s, w.final_s) for w in stream_figures(results).latencies}
    assert sorted(found) == sorted(expected)
    for word, latencies in expected.items():
        assert found[word] == pytest.approx(latencies)


def test_several_processes_give_the_same_result() -> None:
    reference = reference_of(["а", "б", "аб", "вг"] * 2)
    _, inputs = spoken(2.0)
    outputs = history([(1, ["а", "б"], 300), (2, ["аб"], 300), (1, ["а", "вг"], 300)])
    times = [50 + 0.1 * n for n in range(35)]
    one = get_partial_alignments(inputs, outputs, reference, times)
    three = get_partial_alignments(inputs, outputs, reference, times, processes=3)
    assert [p.alignment for p in one] == [p.alignment for p in three]
    assert [(p.at_time, p.is_final) for p in one] == [(p.at_time, p.is_final) for p in three]


def test_without_timestamps_there_is_one_alignment_per_answer() -> None:
    _, inputs = spoken(1.5)
    outputs = [replace(c, put_timestamp=c.put_timestamp + 50) for c in ISSUE]
    partials = get_partial_alignments(inputs, outputs, THREE)
    assert [p.pred.text for p in partials] == ["раз", "раз два", "раз дву", "раз два три"]


def test_results_can_be_pickled() -> None:
    results = evaluated(ISSUE)
    again = pickle.loads(pickle.dumps(results))
    assert again.partial_alignments[-1].alignment == results.partial_alignments[-1].alignment
    assert again.partial_alignments[-1].pred.text == "раз два три"


def test_memory_is_linear_in_the_number_of_partials() -> None:
    # Every partial shares everything but its end with the previous one.
    n = 600
    reference = timed_transcription(
        [f"с{k}" for k in range(n)], [(k / 10, k / 10 + 0.1) for k in range(n)]
    )
    _, inputs = spoken(n / 10)
    outputs = [answer(f"с{k}", 50 + k / 10 + 0.2, uid=k) for k in range(n)]
    partials = get_partial_alignments(inputs, outputs, reference)
    seen = set()
    for partial in partials:
        step = partial.alignment.last
        while step is not None and id(step) not in seen:
            seen.add(id(step))
            step = step.before
    assert len(seen) < 4 * n


@pytest.mark.parametrize(
    ("outputs", "inputs", "message"),
    [
        pytest.param([answer("а", 1)], [sent(0, 1)], "не закончила", id="no end"),
        pytest.param([], [sent(0, 1)], "не закончила", id="no answers"),
        pytest.param([finish(1)], [], "ни одного куска", id="no audio"),
    ],
)
def test_a_history_without_an_end_is_an_error(
    outputs: list[OutputChunk], inputs: list[InputChunk], message: str
) -> None:
    with pytest.raises(StreamingError, match=message):
        evaluate_streaming(THREE, np.zeros(0), [], inputs, outputs)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        pytest.param([(0, 1)], "слов 2, а времён 1", id="count"),
        pytest.param([(0, 1), (0.5, 0.9)], "раньше предыдущего", id="order"),
        pytest.param([(0, 1), (3, 2)], "невозможно", id="backwards"),
        pytest.param([(0, 1), (math.nan, 2)], "нет времени", id="unknown"),
        pytest.param([(-1, 1), (1, 2)], "невозможно", id="negative"),
    ],
)
def test_words_with_invalid_times_are_refused(
    times: list[tuple[float, float]], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        timed_transcription(["раз", "два"], times)


@PATIENT
@given(chunk_lists)
def test_stability_equals_that_found_by_comparing_whole_texts(
    chunks: list[tuple[int, list[str], int]],
) -> None:
    cutoffs, inputs = spoken(2.0)
    outputs = history(chunks)
    results = evaluate_streaming(reference_of(["а"]), np.zeros(0), cutoffs, inputs, outputs)
    texts: list[list[str]] = []
    for number in range(len(outputs) - 1):
        if outputs[number + 1].put_timestamp - outputs[number].put_timestamp > 0.001 or (
            outputs[number + 1].data is Signal.FINISH
        ):
            joined = TranscriptionChunk.join(outputs[: number + 1])
            texts.append(normalize(joined).split())
    unstable = revisions = 0
    for before, after in zip([[], *texts], texts, strict=False):
        same = 0
        while same < min(len(before), len(after)) and before[same] == after[same]:
            same += 1
        unstable += len(before) - same
        revisions += len(before) > same
    figures = stream_figures(results)
    assert (figures.unstable_words, figures.revisions) == (unstable, revisions)
    assert figures.shown_words == (len(texts[-1]) if texts else 0)
