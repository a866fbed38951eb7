import io
import math
import wave

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stt_ru.streaming.queue.chunks import (
    ASRStreamingQueue,
    InputBuffer,
    InputChunk,
    OutputBuffer,
    Signal,
    TranscriptionChunk,
    check_consistency,
    convert_audio_format,
    wav_header,
)
from tests.fakes import FakeClock
from tests.streaming.fakes import PATIENT, answer, finish, sent


def parts(*pairs: tuple[int | str, str]) -> list[TranscriptionChunk]:
    return [TranscriptionChunk(uid=uid, text=text) for uid, text in pairs]


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        pytest.param([TranscriptionChunk(text="а"), TranscriptionChunk(text="б")], "а б", id="new"),
        pytest.param(
            [
                TranscriptionChunk(text="word1"),
                *parts((1, "word2"), (2, "word3"), (1, "word2a word2b"), (2, "")),
            ],
            "word1 word2a word2b",
            id="replaced, added and removed",
        ),
        pytest.param(parts((1, "а"), (2, "б"), (1, ""), (1, "в")), "в б", id="position is kept"),
        pytest.param(parts((1, " а "), (2, "")), "а", id="spaces"),
        pytest.param([], "", id="nothing"),
    ],
)
def test_parts_are_joined_by_uid(chunks: list[TranscriptionChunk], text: str) -> None:
    assert TranscriptionChunk.join(chunks) == text


def test_the_finish_signal_adds_no_text() -> None:
    assert TranscriptionChunk.join([answer("раз", 1), finish(2)]) == "раз"


def chunk(end_time: float, data: object = b"ab") -> InputChunk:
    return InputChunk(data=data, end_time=end_time)  # type: ignore[arg-type]


def test_chunks_are_timestamped_when_put_and_when_taken() -> None:
    clock = FakeClock(5.0)
    queue: ASRStreamingQueue[InputChunk] = ASRStreamingQueue(clock=clock)
    queue.put(chunk(1.0))
    clock.sleep(2.5)
    taken, _ = queue.get()
    assert (taken.put_timestamp, taken.get_timestamp) == (5.0, 7.5)


def test_after_the_end_of_a_recording_its_id_is_refused_and_the_others_continue() -> None:
    queue = InputBuffer("q")
    told: list[object] = []
    queue.on_misuse = lambda error, id: told.append(id)
    queue.put(chunk(1.0, Signal.FINISH), 1)
    queue.put(chunk(1.0), 2)
    with pytest.raises(RuntimeError, match="уже кончилась"):
        queue.put(chunk(2.0), 1)
    with pytest.raises(RuntimeError, match="уже кончилась"):
        queue.get(1)
    assert queue.get(2)[0].end_time == 1.0
    assert told == [1]


def test_an_id_can_be_claimed_only_once() -> None:
    queue = InputBuffer("q")
    queue.claim("a")
    with pytest.raises(RuntimeError, match="нужен новый"):
        queue.claim("a")


def test_an_answer_after_the_end_fails_its_recording_but_not_the_model() -> None:
    buffer = OutputBuffer()
    buffer.put(finish(1), "a")
    buffer.put(answer("поздно", 2), "a")  # must not raise: it would end the model
    assert "ответила после конца" in str(buffer.error_of("a"))
    assert buffer.error_of("b") is None


@PATIENT
@given(
    st.lists(st.integers(0, 7), max_size=8),
    st.integers(1, 9),
    st.sampled_from(["float", "int", "bytes"]),
)
def test_rechunked_audio_is_the_same_audio(sizes: list[int], size: int, kind: str) -> None:
    buffer = InputBuffer()
    n = sum(sizes)
    numbers = np.arange(n, dtype=np.int16)
    position = 0
    for length in sizes:
        piece = numbers[position : position + length]
        position += length
        data = (
            piece.tobytes()
            if kind == "bytes"
            else piece.astype(np.int16 if kind == "int" else np.float32)
        )
        buffer.put(chunk(position / 10, data), "a")
    buffer.put(chunk(n / 10, Signal.FINISH), "a")
    width = 2 if kind == "bytes" else 1
    pieces = []
    is_end = False
    while not is_end:
        id, audio, is_end, end_s = buffer.get_with_rechunking(size * width, timeout=0)
        assert id == "a"
        if audio is not None:
            if not is_end:
                assert len(audio) == size * width
            pieces.append(audio)
        assert end_s == pytest.approx(sum(map(len, pieces)) / width / 10)
    joined = b"".join(
        np.asarray(p, np.int16).tobytes() if not isinstance(p, bytes) else p for p in pieces
    )
    assert joined == numbers.tobytes()
    with pytest.raises(RuntimeError, match="get_with_rechunking"):
        buffer.get()


def test_recordings_take_turns_when_rechunked() -> None:
    buffer = InputBuffer()
    for id in ("a", "b"):
        buffer.put(chunk(1.0, b"0123456789"), id)
    assert [buffer.get_with_rechunking(2, timeout=0)[0] for _ in range(2)] == ["a", "a"]
    buffer.put(chunk(1.1, b"01"), "b")
    order = [buffer.get_with_rechunking(2, "b", timeout=0)[0] for _ in range(1)]
    order += [buffer.get_with_rechunking(2, timeout=0)[0] for _ in range(4)]
    assert set(order[1:3]) == {"a", "b"}


def test_a_piece_must_have_at_least_one_sample() -> None:
    with pytest.raises(ValueError, match="size"):
        InputBuffer().get_with_rechunking(0)


def test_a_possible_history_is_accepted() -> None:
    check_consistency([sent(1, 0.5), sent(2, 1.0)], [answer("а", 1.5, 0.5), finish(2, 1.0)])
    check_consistency([], [])


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        pytest.param([sent(1, 0.5)], [answer("а", 1.5, 0.6)], "had processed", id="too much"),
        pytest.param([sent(2, 0.5)], [answer("а", 1.5, 0.5)], "had processed", id="too early"),
        pytest.param(
            [InputChunk(data=b"", end_time=1, put_timestamp=2, get_timestamp=1)],
            [],
            "taken",
            id="order",
        ),
        pytest.param([InputChunk(data=b"", end_time=1)], [], "never put", id="not stamped"),
    ],
)
def test_an_impossible_history_is_refused(
    inputs: list[InputChunk], outputs: list[object], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check_consistency(inputs, outputs)  # type: ignore[arg-type]


@PATIENT
@given(st.lists(st.floats(-3, 3, width=32), max_size=30))
def test_integers_saturate_instead_of_wrapping(samples: list[float]) -> None:
    waveform = np.array(samples, np.float32)
    integers = convert_audio_format(waveform, "int")
    assert isinstance(integers, np.ndarray)
    assert integers.dtype == np.int16
    for sample, integer in zip(samples, integers.tolist(), strict=True):
        assert abs(integer / 32768 - min(max(sample, -1), 1)) <= 1 / 32768
    assert convert_audio_format(waveform, "bytes") == integers.astype("<i2").tobytes()


def test_wav_can_be_read_by_the_standard_library() -> None:
    data = convert_audio_format(np.array([0, 0.5, -0.5], np.float32), "wav", 8_000)
    assert isinstance(data, bytes)
    with wave.open(io.BytesIO(data)) as file:
        assert (file.getframerate(), file.getnframes(), file.getnchannels()) == (8_000, 3, 1)
        assert np.frombuffer(file.readframes(3), "<i2").tolist() == [0, 16384, -16384]
    assert data.startswith(wav_header(3, 8_000))


@pytest.mark.parametrize(
    ("waveform", "kind", "message"),
    [
        pytest.param(np.array([math.nan]), "int", "finite", id="nan"),
        pytest.param(np.zeros((2, 3)), "int", "shape", id="stereo"),
        pytest.param(np.zeros(3), "mp3", "есть: float, int, bytes, wav", id="unknown"),
    ],
)
def test_invalid_input_is_refused(waveform: NDArray[np.float64], kind: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convert_audio_format(waveform, kind)  # type: ignore[arg-type]
