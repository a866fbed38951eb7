"""What a user asks of a run, before it starts."""

from __future__ import annotations

from argparse import ArgumentParser
from inspect import signature
from pathlib import Path

import pytest

from stt_ru.cli.simul import simul
from stt_ru.errors import SttRuError, UsageError
from stt_ru.simultaneous.run.request import (
    _DECIDED_BY_SERVER,
    RunRequest,
    check_remote,
    make_agent,
    prepare_run,
)
from tests.simultaneous.fakes import WaitK

AGENT = """
from stt_ru.simultaneous import TextToTextAgent, WriteAction, entrypoint

@entrypoint
class Agent(TextToTextAgent):
    @staticmethod
    def add_args(parser):
        parser.add_argument("--waitk", type=int, required=True)
        parser.add_argument("--mode", choices=["soft", "hard"])
        {more}

    def policy(self, states=None):
        return WriteAction("да", finished=True)
"""


def request(folder: Path, *agent_args: str, more: str = "") -> RunRequest:
    (folder / "agent.py").write_text(AGENT.format(more=more), "utf-8")
    (folder / "source.txt").write_text("а б\n", "utf-8")
    return RunRequest(
        source=folder / "source.txt",
        agent=str(folder / "agent.py"),
        agent_args=agent_args,
        quality_metrics=("WER",),
        own_options=("--waitfor",),
    )


def test_an_agent_gets_its_options_and_those_of_the_run(tmp_path: Path) -> None:
    args = prepare_run(request(tmp_path, "--waitk", "3")).agent.args

    assert args is not None
    assert (args.waitk, args.mode) == (3, None)
    assert args.source_segment_size == 1
    assert args.latency_metrics == ["AL", "AP", "DAL"]
    assert (args.source_type, args.device) == ("text", "cpu")


@pytest.mark.parametrize(
    ("agent_args", "sentence"),
    [
        (["--waitk", "три"], "--waitk: 'три' не годится, нужно целое число"),
        (["--waitk"], "после --waitk нужно значение"),
        ([], "не указано: --waitk"),
        (["--waitk", "1", "--mode", "x"], "--mode: нет 'x'; есть: "),
        (["--waitk", "1", "--waitfo", "2"], "нет параметра --waitfo .*похожие: --waitfor"),
        (["--waitk", "1", "лишнее"], "нет параметра лишнее"),
    ],
)
def test_what_is_wrong_with_the_agents_options_is_a_sentence(
    tmp_path: Path, agent_args: list[str], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        prepare_run(request(tmp_path, *agent_args))


def test_an_agent_may_not_take_an_option_of_the_run(tmp_path: Path) -> None:
    taking = request(tmp_path, "--waitk", "1", more='parser.add_argument("--output")')
    with pytest.raises(UsageError, match="заняты самим simul: --output"):
        prepare_run(taking)


def test_an_agent_that_cannot_be_made_is_said() -> None:
    class Broken(WaitK):
        def __init__(self, args: object) -> None:
            raise KeyError("веса")

    with pytest.raises(SttRuError, match="агент не создан: KeyError: 'веса'"):
        make_agent(Broken, ArgumentParser().parse_args([]))


def test_a_server_decides_what_is_scored() -> None:
    agent = RunRequest(agent="agent.py")
    check_remote(agent, {"agent", "max_tail_steps", "source_segment_size", "remote_port"})
    with pytest.raises(UsageError, match=r"не нужны: --latency-metrics, --eval-latency-unit$"):
        check_remote(agent, {"agent", "eval_latency_unit", "latency_metrics"})
    with pytest.raises(UsageError, match="не указан --agent"):
        check_remote(RunRequest(), ())


def test_what_a_server_decides_are_parameters_of_the_command() -> None:
    assert set(_DECIDED_BY_SERVER) < set(signature(simul).parameters)
