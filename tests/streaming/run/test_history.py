import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.errors import ReportError
from stt_ru.streaming.measures.latency import stream_figures
from stt_ru.streaming.queue.chunks import InputChunk, Signal
from stt_ru.streaming.run.history import (
    History,
    history_from_json,
    history_to_json,
    load_history,
    save_history,
)
from tests.streaming.fakes import PATIENT, answer, finish, sent
from tests.streaming.measures.test_evaluation import ISSUE, THREE, spoken


def example() -> History:
    cutoffs, inputs = spoken(1.5)
    outputs = [replace(c, put_timestamp=c.put_timestamp + 50) for c in ISSUE]
    return History(
        audio="a.wav",
        channel=0,
        model="m",
        reference="раз два три",
        cutoffs=cutoffs,
        input_chunks=inputs,
        output_chunks=outputs,
        timed_transcription=THREE,
        compute_s=0.25,
        is_remapped=True,
        settings={"interval": "0.1"},
    )


def test_a_history_can_be_evaluated_later_without_audio_or_model(tmp_path: Path) -> None:
    history = example()
    save_history(history, tmp_path / "h.json")
    again = load_history(tmp_path / "h.json")
    assert again.text == history.text == "раз два три"
    assert stream_figures(again.evaluate()) == stream_figures(
        history.evaluate(np.zeros(24_000, np.float32))
    )
    assert again.compute_s == 0.25


def test_a_history_of_schema_version_1_can_still_be_read() -> None:
    folder = Path(__file__).parents[3] / "fixtures" / "streaming"
    figures = stream_figures(load_history(folder / "history-v1.json").evaluate())
    assert [round(word.final_s, 6) for word in figures.latencies] == [0.2, 1.0, 0.5]


@PATIENT
@given(
    st.lists(st.tuples(st.floats(0, 10), st.text(max_size=5), st.integers(0, 3)), max_size=6),
    st.lists(st.floats(0, 10), max_size=5),
    st.none() | st.floats(0, 5),
)
def test_a_loaded_history_equals_the_saved_one(
    answers: list[tuple[float, str, int]], puts: list[float], compute_s: float | None
) -> None:
    history = replace(
        example(),
        input_chunks=[*(sent(put, put) for put in puts), sent(11, 11, Signal.FINISH)],
        output_chunks=[*(answer(text, at, at, uid) for at, text, uid in answers), finish(11)],
        compute_s=compute_s,
    )
    loaded = history_from_json(json.loads(json.dumps(history_to_json(history))))
    is_end = Signal.FINISH
    silent = [c if c.data is is_end else replace(c, data=None) for c in history.input_chunks]
    assert loaded == replace(history, input_chunks=silent)


def test_a_chunk_never_taken_stays_so(tmp_path: Path) -> None:
    never = InputChunk(data=b"", end_time=1.0, put_timestamp=1.0)
    save_history(replace(example(), input_chunks=[never]), tmp_path / "h.json")
    (chunk,) = load_history(tmp_path / "h.json").input_chunks
    assert math.isnan(chunk.get_timestamp)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(None, "не прочитана", id="missing"),
        pytest.param("{", "не JSON", id="not JSON"),
        pytest.param("[]", "schema_version None", id="other JSON"),
        pytest.param('{"schema_version": 9}', "читается только 1", id="newer"),
        pytest.param('{"schema_version": 1}', "испорчена", id="incomplete"),
    ],
)
def test_loading_a_file_that_is_not_a_history_is_an_error(
    tmp_path: Path, text: str | None, message: str
) -> None:
    file = tmp_path / "h.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ReportError, match=message):
        load_history(file)


def test_a_history_without_word_timings_cannot_be_evaluated() -> None:
    with pytest.raises(ReportError, match="нет времени слов"):
        replace(example(), timed_transcription=None).evaluate()
