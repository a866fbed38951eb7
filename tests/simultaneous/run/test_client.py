"""A local agent against a server: the same delays and scores as in process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from stt_ru.errors import UsageError
from stt_ru.simultaneous import Action, AgentStates, GenericAgent, ReadAction, WriteAction
from stt_ru.simultaneous.core.dataset import SpeechDataset, SpeechItem, TextDataset
from stt_ru.simultaneous.run.client import RemoteError, RemoteSession, evaluate_remotely
from stt_ru.simultaneous.run.evaluator import EvaluationOptions, SentenceLevelEvaluator
from stt_ru.simultaneous.scorers import ALScorer, APScorer, DALScorer, WERScorer
from stt_ru.simultaneous.server import running as server_process
from stt_ru.simultaneous.server.corpus import Corpus
from stt_ru.simultaneous.server.session import SessionSettings
from stt_ru.simultaneous.server.store import SessionStore
from tests.conftest import ROOT, tone, write_wav
from tests.simultaneous.fakes import WaitK, WordEvery
from tests.simultaneous.server.data import SETTINGS, TEXTS
from tests.simultaneous.server.running import running

FIXTURES = ROOT / "fixtures" / "simul"
LATENCY = {"AL": ALScorer(), "AP": APScorer(), "DAL": DALScorer()}


class Loud(WordEvery):
    """Writes what it hears: the loudest sample so far."""

    every_ms = 70

    def policy(self, states: AgentStates | None = None) -> Action:
        states = states or self.states
        action = super().policy(states)
        if isinstance(action, WriteAction):
            return WriteAction(f"{max(states.source, default=0):.6f}", finished=action.finished)
        return ReadAction()


def both(
    data: TextDataset | SpeechDataset, agent: GenericAgent, size: float | None = None
) -> tuple[
    SentenceLevelEvaluator, dict[str, float | None], dict[int, list[float]], dict[str, float]
]:
    options = EvaluationOptions(source_segment_size=size)
    local = SentenceLevelEvaluator(data, {"WER": WERScorer()}, LATENCY, options)
    scores = {score.name: score.value for score in local(agent).all}
    store = SessionStore(
        Corpus(data), SessionSettings(quality_scorers={"WER": WERScorer()}, latency_scorers=LATENCY)
    )
    with running(store) as server, RemoteSession("127.0.0.1", server.port) as session:
        remote = evaluate_remotely(agent, session, options)
        delays = {i: session.result(i)["delays"] for i in range(len(data))}
    assert remote.errors == {}
    return local, scores, delays, {**remote.result["Quality"], **remote.result["Latency"]}


def test_a_text_agent_has_the_same_delays_and_scores_in_process_and_over_rest() -> None:
    data = TextDataset(["а б в г д", "е", "ж з"], ["А Б В Г Д", "Е", "Ж"])
    local, scores, delays, remote = both(data, WaitK())

    assert {i: list(record.delays) for i, record in local.instances.items()} == delays
    assert delays[0] == [3, 4, 5, 5, 5]
    assert remote == scores


@pytest.mark.slow
@pytest.mark.parametrize("size", [None, 50, 320])
def test_a_speech_agent_has_the_same_delays_and_scores_in_process_and_over_rest(
    tmp_path: Path, size: float | None
) -> None:
    paths = [
        write_wav(tmp_path / f"{i}.wav", tone(seconds, hertz=100 + 37 * i))
        for i, seconds in enumerate((0.5, 0.2371))
    ]
    data = SpeechDataset([SpeechItem(path.name, path, "раз два") for path in paths])
    local, scores, delays, remote = both(data, Loud(), size)

    assert {i: list(record.delays) for i, record in local.instances.items()} == delays
    assert remote == scores


class FailsAt(WaitK):
    def policy(self, states: AgentStates | None = None) -> Action:
        if self.states.source == ["go"]:
            raise RuntimeError("не вышло")
        if not self.states.source:
            return WriteAction("", finished=True)
        return super().policy(states)


def test_a_failing_agent_fails_in_its_instance_alone() -> None:
    store = SessionStore(Corpus(TEXTS), SETTINGS)
    with running(store) as server, RemoteSession("127.0.0.1", server.port) as session:
        evaluation = evaluate_remotely(FailsAt(), session, EvaluationOptions())

    assert evaluation.errors == {1: "RuntimeError: не вышло"}
    assert evaluation.result["finished"] == 2


def test_an_agent_of_the_wrong_kind_is_refused() -> None:
    with running(SessionStore(Corpus(TEXTS), SETTINGS)) as server:
        session = RemoteSession("127.0.0.1", server.port)
        with pytest.raises(UsageError, match="читает речь"):
            evaluate_remotely(WordEvery(), session, EvaluationOptions())
        session.close()


def test_a_server_that_is_not_there_is_said() -> None:
    with pytest.raises(RemoteError, match=r"127\.0\.0\.1:1 не отвечает: .* запустите stt-ru serve"):
        RemoteSession("127.0.0.1", 1)
    with pytest.raises(RemoteError, match=r"nowhere\.invalid:1 не отвечает: нет такого адреса"):
        RemoteSession("nowhere.invalid", 1)


def test_a_refusal_of_the_server_is_said() -> None:
    with running(SessionStore(Corpus(TEXTS), SETTINGS), token="тайна") as server:
        with pytest.raises(RemoteError, match="Authorization") as caught:
            RemoteSession("127.0.0.1", server.port)
        assert caught.value.status == 401
        with RemoteSession("127.0.0.1", server.port, token="тайна") as session:
            assert session.num_sentences == 3


def test_an_agent_may_compute_for_longer_than_a_server_keeps_a_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_process, "_KEEP_ALIVE_S", 0)
    with (
        running(SessionStore(Corpus(TEXTS), SETTINGS)) as server,
        RemoteSession("127.0.0.1", server.port) as session,
    ):
        words = []
        for _ in range(3):
            words.append(session.read(0)["segment"])
            assert session._connection.sock.recv(1) == b""  # waits until the server has closed it

    assert words == ["it", "is", "cold"]


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """``stt-ru serve`` as a process on a free port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "stt_ru", "serve", "--port", "0", *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert line.startswith("Сервер: http://127.0.0.1:"), line + process.stderr.read()
        yield process, int(line.split(",")[0].rpartition(":")[2])
    finally:
        process.kill()
        process.wait(30)
        process.stderr.close()


@pytest.mark.slow
def test_results_survive_kill_9_and_a_restart(tmp_path: Path) -> None:
    data = ("--source", str(FIXTURES / "source.txt"), "--target", str(FIXTURES / "target.txt"))
    arguments = (*data, "--output", "sessions", "--quality-metrics", "WER")
    with served(tmp_path, *arguments) as (process, port):
        with RemoteSession("127.0.0.1", port) as session:
            session.read(0)
            session.write(0, "это холодный зимний день </s>")
            session.read(1)
            before = session.result()
            name = session.session_id
        process.kill()
    with served(tmp_path, *arguments) as (_, port), RemoteSession("127.0.0.1", port) as session:
        newest = session.session_id
        session.session_id = name
        after = session.result()
        with pytest.raises(RemoteError, match="перезапущен"):
            session.read(1)

    assert after == before
    assert newest != name
    row = json.loads((tmp_path / "sessions" / name / "instances.log").read_text("utf-8"))
    assert row["delays"] == [1, 1, 1, 1]


@pytest.mark.slow
def test_a_server_that_dies_in_the_middle_is_said_with_the_session(tmp_path: Path) -> None:
    data = ("--source", str(FIXTURES / "source.txt"), "--target", str(FIXTURES / "target.txt"))
    with served(tmp_path, *data) as (process, port), RemoteSession("127.0.0.1", port) as session:

        class Kills(WaitK):
            def policy(self, states: AgentStates | None = None) -> Action:
                if self.states.source == ["we"]:
                    process.kill()
                    process.wait(30)
                return super().policy(states)

        with pytest.raises(RemoteError, match=f"остались у сервера в сессии {session.session_id}"):
            evaluate_remotely(Kills(), session, EvaluationOptions())


def test_ctrl_c_ends_the_server_in_order(tmp_path: Path) -> None:
    data = ("--source", str(FIXTURES / "source.txt"), "--target", str(FIXTURES / "target.txt"))
    with served(tmp_path, *data) as (process, port):
        with RemoteSession("127.0.0.1", port) as session:
            assert session.data_type == "text"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_the_command_runs_an_agent_against_a_server(tmp_path: Path) -> None:
    data = ("--source", str(FIXTURES / "source.txt"), "--target", str(FIXTURES / "target.txt"))
    with served(tmp_path, *data, "--quality-metrics", "WER") as (_, port):
        done = subprocess.run(
            [sys.executable, "-m", "stt_ru", "simul", "--remote-address", "127.0.0.1",
             "--remote-port", str(port), "--agent", str(FIXTURES / "waitk.py"), "--waitk", "1"],
            cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False,
        )  # fmt: skip

    assert done.returncode == 0, done.stderr
    # By hand: delays 1 4 5 6 of 6 words give 1.75, 1 2 3 4 of 4 give 1.
    assert done.stdout.splitlines()[:3] == [
        "Показатель  Значение  Единица  Оценено",
        "WER              0.0  %         2 из 2",
        "AL             1.375  слов      2 из 2",
    ]


@pytest.mark.slow
def test_many_clients_at_once_see_nothing_of_one_another() -> None:
    data = TextDataset(["а б в г д е ж з"] * 2, ["раз"] * 2)
    store = SessionStore(Corpus(data), SETTINGS)
    wrong: list[str] = []

    def work(number: int, port: int) -> None:
        with RemoteSession("127.0.0.1", port) as session:
            for index in (0, 1):
                heard = []
                while (word := session.read(index)["segment"]) != "</s>":
                    heard.append(word)
                    session.write(index, f"{number}-{index}-{word}")
                session.write(index, "</s>")
                kept = session.result(index)
                expected = " ".join(f"{number}-{index}-{word}" for word in "абвгдежз")
                if heard != list("абвгдежз") or kept["prediction"] != expected:
                    wrong.append(f"{number}: {heard} {kept}")
                if kept["delays"] != list(range(1, 9)):
                    wrong.append(f"{number}: {kept['delays']}")
            done.append(session.result()["finished"])

    done: list[int] = []
    with running(store) as server:
        threads = [threading.Thread(target=work, args=(n, server.port)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)

    assert wrong == []
    assert done == [2] * 20
