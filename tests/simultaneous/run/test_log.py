"""instances.log: what was written is read, SimulEval's lines too, anything else is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stt_ru.errors import UsageError
from stt_ru.simultaneous.core.record import InstanceRecord
from stt_ru.simultaneous.run.log import log_line, read_log

numbers = st.floats(0, 1e9)
texts = st.text('абвг «»"\\\n\t\u2028', max_size=10)
records = st.builds(
    InstanceRecord,
    index=st.just(0),
    source_type=st.sampled_from(["text", "speech"]),
    target_type=st.sampled_from(["text", "speech"]),
    source=texts,
    source_length=numbers,
    reference=st.none() | texts.map(str.rstrip),
    prediction=texts,
    delays=st.lists(numbers, max_size=5).map(tuple),
    elapsed=st.lists(numbers, max_size=5).map(tuple),
    durations=st.none() | st.lists(numbers, max_size=3).map(tuple),
    is_finished=st.booleans(),
    error=st.none() | texts,
)


@settings(deadline=None)
@given(records)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, record: InstanceRecord
) -> None:
    path = tmp_path_factory.mktemp("log") / "instances.log"
    path.write_text(log_line(record), encoding="utf-8", newline="")

    assert read_log(path, latency_unit="word") == {0: record}


def read(folder: Path, text: str, unit: str = "word") -> dict[int, InstanceRecord]:
    path = folder / "instances.log"
    path.write_text(text, encoding="utf-8")
    return read_log(path, latency_unit=unit)  # type: ignore[arg-type]  # a plain string


def test_lines_of_simuleval_are_read(tmp_path: Path) -> None:
    # As SimulEval 1.1.4 wrote them on texts and recordings of ours.
    text = (
        '{"index": 0, "prediction": "A B", "delays": [3, 4], "elapsed": [0, 0], '
        '"prediction_length": 2, "reference": "A B\\n", "source": "a b c d", "source_length": 4}\n'
    )
    speech = (
        '{"index": 1, "prediction": "\\u0440\\u0430\\u0437", "delays": [500.0], '
        '"elapsed": [554.93], "prediction_length": 1, "reference": "\\u0440\\u0430\\u0437", '
        '"source": ["a.wav", "samplerate: 16000 Hz", "channels: 1"], "source_length": 1000.0}\n'
    )
    found = read(tmp_path, text + speech)

    assert found[0].source_type == "text"
    assert found[0].reference == "A B"
    assert (found[1].source_type, found[1].source) == ("speech", "a.wav")
    assert found[1].delays == (500,)


def test_the_last_line_of_an_instance_counts(tmp_path: Path) -> None:
    lines = [log_line(InstanceRecord(index=0, prediction=text)) for text in ("раз", "два")]

    assert read(tmp_path, "".join(lines))[0].prediction == "два"


def test_a_torn_last_line_is_left_out_and_a_whole_one_is_not(tmp_path: Path) -> None:
    line = log_line(InstanceRecord(index=0)) + log_line(InstanceRecord(index=1))

    assert list(read(tmp_path, line[:-1])) == [0, 1]
    assert list(read(tmp_path, line[:-2])) == [0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("нет\n{}\n", ":1: это не строка JSON"),
        ("[]\n", "нужен объект"),
        ("{}\n", "нет поля 'index'"),
        ('{"index": -1}\n', "index = -1"),
        ('{"index": 0, "delays": ["а"]}\n', "'а' – не число"),
        ('{"index": 0, "delays": [NaN]}\n', "не число"),
        ('{"index": 0, "source_type": "video"}\n', "video"),
        ('{"index": 0, "latency_unit": "char"}\n', "--eval-latency-unit char"),
    ],
)
def test_what_is_no_log_is_refused_with_its_line(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        read(tmp_path, text)


def test_a_missing_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"instances\.log: такого файла или каталога нет"):
        read_log(tmp_path / "instances.log", latency_unit="word")
