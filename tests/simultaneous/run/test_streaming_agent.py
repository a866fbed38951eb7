"""A streaming recogniser as an agent: delays that do not depend on the computer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stt_ru.simultaneous.core.dataset import SpeechDataset, SpeechItem
from stt_ru.simultaneous.run.evaluator import EvaluationOptions, SentenceLevelEvaluator
from stt_ru.simultaneous.run.streaming_agent import StreamingAgent
from stt_ru.streaming.engines.model import DummyASR, StreamingASR
from stt_ru.streaming.queue.chunks import OutputChunk, Signal, TranscriptionChunk
from tests.conftest import tone, write_wav


class Revising(StreamingASR):
    """Says a word every 0.2 s; the last one is always wrong until the next comes."""

    def _run(self) -> None:
        heard: dict[object, int] = {}
        while True:
            id, audio, is_end, end_s = self.input_buffer.get_with_rechunking(3200)
            count = heard.get(id, 0)
            if audio is not None and len(audio) == 3200:
                time.sleep(0.002)  # computing takes time, which no delay may show
                count = heard[id] = count + 1
                if count > 1:
                    self._say(id, count - 1, f"слово{count - 1}", end_s)
                self._say(id, count, "лово", end_s)
            if is_end:
                if count:
                    self._say(id, count, f"слово{count}", end_s)
                end = OutputChunk(data=Signal.FINISH, seconds_processed=end_s)
                self.output_buffer.put(end, id)

    def _say(self, id: object, uid: int, text: str, end_s: float) -> None:
        chunk = OutputChunk(data=TranscriptionChunk(uid=uid, text=text), seconds_processed=end_s)
        self.output_buffer.put(chunk, id)  # type: ignore[arg-type]  # as it came


class Failing(StreamingASR):
    """Cannot recognise the first recording; dies in the third."""

    def _run(self) -> None:
        seen: list[object] = []
        while True:
            chunk, id = self.input_buffer.get()
            if id not in seen:
                seen.append(id)
                if len(seen) == 1:
                    self.fail(id, RuntimeError("не вышло"))
                    continue
                if len(seen) == 3:
                    raise RuntimeError("модель умерла")
            if chunk.data is Signal.FINISH:
                end = OutputChunk(data=Signal.FINISH, seconds_processed=chunk.end_time)
                self.output_buffer.put(end, id)


@pytest.fixture
def agents() -> Iterator[list[StreamingAgent]]:
    made: list[StreamingAgent] = []
    yield made
    for agent in made:
        agent.close()


def run(agent: StreamingAgent, *paths: Path, size: float = 50) -> SentenceLevelEvaluator:
    data = SpeechDataset([SpeechItem(path.name, path, "слово1") for path in paths])
    evaluator = SentenceLevelEvaluator(
        data, {}, {}, EvaluationOptions(source_segment_size=size, max_tail_steps=5)
    )
    evaluator(agent)
    return evaluator


@pytest.mark.parametrize("rate", [16_000, 8_000])
@pytest.mark.parametrize("size", [10, 50, 70, 1000])
def test_a_word_is_written_when_the_model_has_gone_past_it(
    tmp_path: Path, agents: list[StreamingAgent], rate: int, size: float
) -> None:
    path = write_wav(tmp_path / "a.wav", tone(1.1, sample_rate=rate), sample_rate=rate)
    agents.append(StreamingAgent(model=Revising()))
    first = run(agents[0], path, path, size=size).instances

    assert first[0].error is None
    assert first[0].prediction == "слово1 слово2 слово3 слово4 слово5"
    assert first[1].delays == first[0].delays
    if rate == 16_000:  # word k is past when word k + 1 has begun; pieces round upwards
        expected = [min(1100, -(-ms // size) * size) for ms in (400, 600, 800, 1000)]
        assert list(first[0].delays) == [*expected, 1100]


def test_the_dummy_counts_seconds(tmp_path: Path, agents: list[StreamingAgent]) -> None:
    path = write_wav(tmp_path / "a.wav", tone(3.5))
    agents.append(StreamingAgent(model=DummyASR(), hold_back=0))
    instance = run(agents[0], path, size=500).instances[0]

    assert (instance.prediction, instance.delays) == ("1 2 3", (1000, 2000, 3000))


def test_a_recording_that_fails_fails_alone_and_a_dead_model_is_started_again(
    tmp_path: Path, agents: list[StreamingAgent]
) -> None:
    path = write_wav(tmp_path / "a.wav", tone(0.2))
    agents.append(StreamingAgent(model=Failing()))
    instances = run(agents[0], *[path] * 3).instances

    assert "не вышло" in (instances[0].error or "")
    # The model was started anew after the failure, so that the second is its first again.
    assert all(instance.error for instance in instances.values())


class Stuck(StreamingASR):
    """Takes a piece and never asks for another, until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def _run(self) -> None:
        self.input_buffer.get()
        self.let_go.wait(60)


def test_a_model_that_is_stuck_is_an_error_and_no_hang(
    tmp_path: Path, agents: list[StreamingAgent]
) -> None:
    path = write_wav(tmp_path / "a.wav", tone(0.2))
    model = Stuck()
    agents.append(StreamingAgent(model=model, timeout_s=0.5))
    try:
        instance = run(agents[0], path).instances[0]
    finally:
        model.let_go.set()

    assert "не обработала кусок" in (instance.error or "")


def test_the_base_class_says_what_to_override() -> None:
    with pytest.raises(NotImplementedError, match="build_model"):
        StreamingAgent()
