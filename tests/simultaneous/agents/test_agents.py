"""Agents as SimulEval's users write them: memory, pipelines, and where they are loaded from."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest

from stt_ru.errors import UsageError
from stt_ru.simultaneous import (
    Action,
    AgentPipeline,
    AgentStates,
    EmptySegment,
    GenericAgent,
    ReadAction,
    SpeechSegment,
    SpeechToSpeechAgent,
    SpeechToTextAgent,
    TextSegment,
    TextToTextAgent,
    WriteAction,
    entrypoint,
)
from stt_ru.simultaneous.agents.loading import load_agent_class
from tests.simultaneous.fakes import WaitK


def test_an_agent_remembers_what_it_read_and_wrote() -> None:
    agent = WaitK()

    outputs = [agent.pushpop(TextSegment(content=word)) for word in "абвг"]

    assert agent.states.source == ["а", "б", "в", "г"]
    assert agent.states.target == ["А", "Б"]
    assert [output.is_empty for output in outputs] == [True, True, False, False]
    agent.reset()
    assert (agent.states.source, agent.states.target) == ([], [])


def test_several_words_of_one_segment_are_several_words_of_the_source() -> None:
    agent = WaitK()
    agent.push(TextSegment(content="а б", finished=True))

    assert agent.states.source == ["а", "б"]
    assert agent.states.source_finished


def test_samples_add_up_and_their_rate_is_known() -> None:
    agent = SpeechToTextAgent()
    assert agent.states.source_sample_rate == 0
    agent.push(SpeechSegment(content=[0.1, 0.2], sample_rate=8_000))
    agent.push(SpeechSegment(content=[0.3], sample_rate=8_000, finished=True))

    assert agent.states.source == [0.1, 0.2, 0.3]
    assert agent.states.source_sample_rate == 8_000


def test_an_agent_that_is_done_is_not_asked_again() -> None:
    class Once(TextToTextAgent):
        asked = 0

        def policy(self, states: AgentStates | None = None) -> Action:
            self.asked += 1
            return WriteAction("раз", finished=True)

    agent = Once()
    agent.pushpop(TextSegment(content="а"))
    output = agent.pushpop(TextSegment(content="б"))

    assert (output.is_empty, output.finished, agent.asked) == (True, True, 1)


def test_a_policy_may_ask_for_no_states_or_demand_them() -> None:
    class WithoutStates(TextToTextAgent):
        def policy(self) -> Action:  # type: ignore[override]  # as in SimulEval 1.0
            return WriteAction(str(len(self.states.source)), finished=False)

    class WithStates(TextToTextAgent):
        def policy(self, states: AgentStates) -> Action:  # type: ignore[override]  # no default
            return WriteAction(str(len(states.source)), finished=False)

    for kind in (WithoutStates, WithStates):
        assert kind().pushpop(TextSegment(content="а")).content == "1"


def test_states_may_be_kept_by_the_caller() -> None:
    agent, states = WaitK(), AgentStates()
    agent.pushpop(TextSegment(content="а"), states)

    assert (states.source, agent.states.source) == (["а"], [])


@pytest.mark.parametrize("answer", [None, "слово", WriteAction(["а"], finished=False)])
def test_a_policy_that_returns_no_action_is_told_what_is_expected(answer: object) -> None:
    class Wrong(TextToTextAgent):
        def policy(self, states: AgentStates | None = None) -> Action:
            return answer  # type: ignore[return-value]  # the point

    with pytest.raises(TypeError, match="Wrong"):
        Wrong().pushpop(TextSegment(content="а"))


def test_speech_may_be_written_as_samples_or_as_a_segment() -> None:
    class Echo(SpeechToSpeechAgent):
        as_segment = False

        def policy(self, states: AgentStates | None = None) -> Action:
            if self.as_segment:
                return WriteAction(SpeechSegment(content=[0.5], sample_rate=22_050), finished=True)
            return WriteAction([0.5], finished=False)

    echo = Echo()
    plain = echo.pushpop(SpeechSegment(content=[0.1], sample_rate=8_000))
    echo.as_segment = True
    segment = echo.pushpop(SpeechSegment(content=[0.1], sample_rate=8_000))

    assert isinstance(plain, SpeechSegment)
    assert isinstance(segment, SpeechSegment)
    assert (plain.sample_rate, plain.finished) == (8_000, False)
    assert (segment.sample_rate, segment.finished) == (22_050, True)


class Twice(TextToTextAgent):
    def policy(self, states: AgentStates | None = None) -> Action:
        states = states or self.states
        if len(states.target) < len(states.source):
            word = states.source[len(states.target)]
            done = states.source_finished and len(states.target) + 1 == len(states.source)
            return WriteAction(word + word, finished=done)
        if states.source_finished:
            return WriteAction("", finished=True)
        return ReadAction()


class Pair(AgentPipeline):
    pipeline = (WaitK, Twice)


@pytest.mark.parametrize("pipeline", [Pair(), AgentPipeline([WaitK(), Twice()])])
def test_a_pipeline_passes_on_what_each_agent_writes(pipeline: AgentPipeline) -> None:
    outputs = []
    words = ["а", "б", "в", "г"]
    for i, word in enumerate(words):
        outputs.append(pipeline.pushpop(TextSegment(content=word, finished=i == 3)))
    while not outputs[-1].finished:
        outputs.append(pipeline.pushpop(EmptySegment(finished=True)))

    assert [o.content for o in outputs if not o.is_empty] == ["АА", "ББ", "ВВ", "ГГ"]
    assert (pipeline.source_type, pipeline.target_type) == ("text", "text")
    pipeline.reset()
    assert pipeline.modules[0].states.source == []


def test_a_pipeline_of_agents_that_do_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="WaitK пишет text, а SpeechToTextAgent читает speech"):
        AgentPipeline([WaitK(), SpeechToTextAgent()])


def test_options_of_all_agents_of_a_pipeline_reach_the_parser() -> None:
    class WithOption(WaitK):
        @staticmethod
        def add_args(parser: ArgumentParser) -> None:
            parser.add_argument("--k", type=int, default=2)

        def __init__(self, args: Namespace | None = None) -> None:
            super().__init__(args)
            self.k = args.k if args else 3

    class Both(AgentPipeline):
        pipeline = (WithOption, Twice)

    parser = ArgumentParser()
    Both.add_args(parser)
    made = Both.from_args(parser.parse_args(["--k", "7"])).modules[0]

    assert isinstance(made, WithOption)
    assert made.k == 7


AGENT = """
from stt_ru.simultaneous import entrypoint, ReadAction, TextToTextAgent

class Base(TextToTextAgent):
    pass

@entrypoint
class Mine(Base):
    def policy(self, states=None):
        return ReadAction()
"""


class TestLoading:
    def file(self, folder: Path, text: str) -> str:
        path = folder / "agent.py"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def test_the_marked_class_of_a_file_is_loaded(self, tmp_path: Path) -> None:
        assert load_agent_class(self.file(tmp_path, AGENT)).__name__ == "Mine"

    def test_a_class_of_a_file_or_module_is_loaded_by_its_name(self, tmp_path: Path) -> None:
        assert load_agent_class(self.file(tmp_path, AGENT) + ":Base").__name__ == "Base"
        assert load_agent_class("tests.simultaneous.fakes:WaitK") is WaitK

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("x = 1", "нет класса с @entrypoint"),
            (AGENT + "\n@entrypoint\nclass Other(Base):\n    pass\n", "Mine, Other"),
            ("import нет_такого", "ModuleNotFoundError"),
            ("1 / 0", "ZeroDivisionError"),
            ("from stt_ru.simultaneous import entrypoint\n@entrypoint\ndef f(): pass", "не класс"),
        ],
    )
    def test_a_file_without_an_agent_says_why(self, tmp_path: Path, text: str, reason: str) -> None:
        with pytest.raises(UsageError, match=reason):
            load_agent_class(self.file(tmp_path, text))

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("нет.py", "нет файла"),
            ("agent", "МОДУЛЬ:КЛАСС"),
            ("argparse:Namespace", "не происходит"),
            ("argparse:Нет", "нет класса Нет"),
            ("нет_такого_модуля:A", "ModuleNotFoundError"),
        ],
    )
    def test_a_wrong_name_says_why(self, name: str, reason: str) -> None:
        with pytest.raises(UsageError, match=reason):
            load_agent_class(name)


def test_only_agents_can_be_entrypoints() -> None:
    assert entrypoint(WaitK) is WaitK
    with pytest.raises(UsageError):
        entrypoint(int)  # type: ignore[type-var]  # the point
    assert issubclass(WaitK, GenericAgent)
