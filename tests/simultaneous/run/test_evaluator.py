"""The loop over instances: delays, failures, limits, going on after an interruption."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from stt_ru.errors import UsageError
from stt_ru.provenance import Signature
from stt_ru.report.envelope import SCHEMA_VERSION, envelope
from stt_ru.simultaneous import (
    Action,
    AgentStates,
    ReadAction,
    SpeechSegment,
    SpeechToSpeechAgent,
    TextToTextAgent,
    WriteAction,
)
from stt_ru.simultaneous.core.dataset import SpeechDataset, SpeechItem, TextDataset
from stt_ru.simultaneous.run.evaluator import EvaluationOptions, SentenceLevelEvaluator
from stt_ru.simultaneous.run.log import read_log
from stt_ru.simultaneous.scorers import LAALScorer, WERScorer
from tests.conftest import tone, write_wav
from tests.report.test_json_write import NOW
from tests.simultaneous.fakes import WaitK, WordEvery

DATA = TextDataset(["а б в г д", "е ж"], ["А Б В Г Д", "Е Ж"])
QUALITY = {"WER": WERScorer()}
LATENCY = {"LAAL": LAALScorer()}


def evaluator(
    data: TextDataset | SpeechDataset = DATA, **options: object
) -> SentenceLevelEvaluator:
    return SentenceLevelEvaluator(
        data,
        QUALITY,
        LATENCY,
        EvaluationOptions(**options),  # type: ignore[arg-type]  # keywords
    )


def test_wait_k_has_its_known_delays_and_scores() -> None:
    run = evaluator()
    scores = run(WaitK())

    assert run.instances[0].delays == (3, 4, 5, 5, 5)
    assert run.instances[1].delays == (2, 2)
    assert [score.value for score in scores.all] == [0, (3 + 2) / 2]


def test_a_speech_agent_has_delays_in_milliseconds(tmp_path: Path) -> None:
    path = write_wav(tmp_path / "a.wav", tone(0.35))
    run = evaluator(SpeechDataset([SpeechItem("a.wav", path, "слово0")]))
    run(WordEvery())

    assert run.instances[0].delays == (100, 200, 300, 350)
    assert run.instances[0].source_length == 350
    assert len(run.instances[0].elapsed) == 4


def test_a_recording_is_read_at_its_own_rate_and_one_channel_of_it(tmp_path: Path) -> None:
    path = write_wav(tmp_path / "a.wav", tone(0.5), 0 * tone(0.5), sample_rate=8_000)

    class Level(WordEvery):
        every_ms = 10_000

        def policy(self, states: AgentStates | None = None) -> Action:
            states = states or self.states
            if not states.source_finished:
                return ReadAction()
            level = "тихо" if max(states.source) == 0 else "громко"
            return WriteAction(f"{states.source_sample_rate} {level}", finished=True)

    run = evaluator(
        SpeechDataset([SpeechItem("a", path, "x", channel) for channel in (0, 1, 2, None)])
    )
    run(Level())

    assert [record.prediction for record in run.instances.values()] == [
        "8000 громко", "8000 тихо", "", "8000 громко",
    ]  # fmt: skip
    assert "канала 2" in (run.instances[2].error or "")


class Chatter(TextToTextAgent):
    """Never says that it is done."""

    def policy(self, states: AgentStates | None = None) -> Action:
        return WriteAction("да", finished=False)


class Silent(TextToTextAgent):
    """Reads for ever."""

    def policy(self, states: AgentStates | None = None) -> Action:
        return ReadAction()


@pytest.mark.parametrize("kind", [Chatter, Silent])
def test_an_agent_that_never_finishes_ends_in_its_instances_error(
    kind: type[TextToTextAgent],
) -> None:
    run = evaluator(max_tail_steps=7)
    scores = run(kind())

    for record in run.instances.values():
        assert "7 запросов" in (record.error or "")
        assert not record.is_finished
    assert [score.value for score in scores.all] == [None, None]
    if kind is Chatter:
        assert run.instances[1].prediction_length == 2 + 7


class FailsOnce(WaitK):
    def policy(self, states: AgentStates | None = None) -> Action:
        if self.states.source[0] == "а":
            raise RuntimeError("не вышло")
        return super().policy(states)


def test_a_failing_agent_fails_in_its_instance_alone(caplog: pytest.LogCaptureFixture) -> None:
    run = evaluator()
    scores = run(FailsOnce())

    assert run.instances[0].error == "RuntimeError: не вышло"
    assert run.instances[1].prediction == "Е Ж"
    assert [(score.scored, score.total) for score in scores.all] == [(1, 2), (1, 2)]
    assert "Traceback" in caplog.text  # the user's own code is to be found


def test_an_agent_of_the_wrong_kind_is_refused_before_it_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="читает речь"):
        evaluator()(WordEvery())
    with pytest.raises(UsageError, match="speech"):
        evaluator(target_type="speech")(WaitK())


@pytest.mark.parametrize(
    ("start", "end", "expected"), [(0, -1, [0, 1]), (1, None, [1]), (0, 1, [0])]
)
def test_a_range_of_instances(start: int, end: int | None, expected: list[int]) -> None:
    run = evaluator(start_index=start, end_index=end)
    run(WaitK())

    assert list(run.instances) == expected


@pytest.mark.parametrize(("start", "end"), [(2, -1), (1, 1), (5, 9)])
def test_an_empty_range_is_refused(start: int, end: int) -> None:
    with pytest.raises(UsageError, match="примеров 2"):
        evaluator(start_index=start, end_index=end)


class Stops(WaitK):
    """Is interrupted in the second instance."""

    def policy(self, states: AgentStates | None = None) -> Action:
        if self.states.source[0] == "е":
            raise KeyboardInterrupt
        return super().policy(states)


class Counts(WaitK):
    resets = 0

    def reset(self) -> None:
        self.resets += 1
        super().reset()


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        evaluator(output=tmp_path)(Stops())
    assert list(read_log(tmp_path / "instances.log", latency_unit="word")) == [0]

    agent = Counts()
    run = evaluator(output=tmp_path, continue_unfinished=True)
    before = agent.resets
    scores = run(agent)

    assert agent.resets - before == 1
    assert [score.value for score in scores.all] == [0, 2.5]
    assert len((tmp_path / "instances.log").read_text("utf-8").splitlines()) == 2


def test_a_line_that_was_being_written_when_the_process_was_killed_is_done_again(
    tmp_path: Path,
) -> None:
    evaluator(output=tmp_path)(WaitK())
    log = tmp_path / "instances.log"
    whole = log.read_bytes()
    for cut in range(len(whole) - 60, len(whole)):
        log.write_bytes(whole[:cut])
        run = evaluator(output=tmp_path, continue_unfinished=True)
        run(WaitK())

        assert list(read_log(log, latency_unit="word")) == [0, 1]
        assert run.instances[1].delays == (2, 2)


def test_failed_instances_are_tried_again(tmp_path: Path) -> None:
    evaluator(output=tmp_path)(FailsOnce())
    run = evaluator(output=tmp_path, continue_unfinished=True)
    run(WaitK())

    assert run.instances[0].error is None
    assert read_log(tmp_path / "instances.log", latency_unit="word")[0].error is None


def test_another_run_is_not_continued(tmp_path: Path) -> None:
    evaluator(output=tmp_path)(WaitK())
    other = TextDataset(["а"], ["б"])

    with pytest.raises(UsageError, match="другой прогон: data"):
        evaluator(other, output=tmp_path, continue_unfinished=True)(WaitK())
    with pytest.raises(UsageError, match="source_segment_size"):
        evaluator(output=tmp_path, continue_unfinished=True, source_segment_size=2)(WaitK())


def test_a_new_run_keeps_the_old_log_beside(tmp_path: Path) -> None:
    evaluator(output=tmp_path)(WaitK())
    evaluator(output=tmp_path, end_index=1)(WaitK())

    assert len((tmp_path / "instances.log").read_text("utf-8").splitlines()) == 1
    assert len((tmp_path / "instances.log.bak").read_text("utf-8").splitlines()) == 2


def test_the_folder_holds_scores_metrics_and_settings(tmp_path: Path) -> None:
    evaluator(output=tmp_path)(FailsOnce())

    assert (tmp_path / "scores.tsv").read_text("utf-8").splitlines() == [
        "metric\tvalue\tunit\tscored\ttotal\tsignature",
        "WER\t0\trate\t1\t2\tnorm:ru-1|split:rapidfuzz",
        "LAAL\t2\twords\t1\t2\t",
    ]
    assert (tmp_path / "metrics.tsv").read_text("utf-8").splitlines() == [
        "index\tWER\tLAAL\terror",
        "0\t\t\tRuntimeError: не вышло",
        "1\t0\t2\t",
    ]
    report = json.loads((tmp_path / "scores.json").read_text("utf-8"))
    assert (report["schema_version"], report["kind"]) == (SCHEMA_VERSION, "simul")
    assert list(report)[:6] == list(envelope("simul", manifest="", created_at=NOW, warnings=()))
    assert Signature.parse(report["signature"]).fields["source_segment_size"] == "1"
    assert [(one["metric"], one["value"], one["scored"]) for one in report["scores"]] == [
        ("WER", 0.0, 1),
        ("LAAL", 2.0, 1),
    ]
    assert report["instances"] == [
        {"index": 0, "WER": None, "LAAL": None, "error": "RuntimeError: не вышло"},
        {"index": 1, "WER": 0.0, "LAAL": 2.0, "error": None},
    ]
    assert 'source_type: "text"' in (tmp_path / "config.yaml").read_text("utf-8")
    row = json.loads((tmp_path / "instances.log").read_text("utf-8").splitlines()[1])
    assert row["delays"] == [2, 2]


class SpoilsTheFolder(WaitK):
    """Puts a folder where the scores are to be written."""

    folder: Path

    def policy(self, states: AgentStates | None = None) -> Action:
        (self.folder / "scores.tsv").mkdir(exist_ok=True)
        return super().policy(states)


def test_scores_that_cannot_be_written_are_not_lost(tmp_path: Path) -> None:
    agent = SpoilsTheFolder()
    agent.folder = tmp_path
    run = evaluator(output=tmp_path)
    scores = run(agent)

    assert [score.value for score in scores.all] == [0, 2.5]
    assert "scores.tsv не записан" in str(run.unsaved)


class Echo(SpeechToSpeechAgent):
    def policy(self, states: AgentStates | None = None) -> Action:
        if not self.states.source_finished:
            return ReadAction()
        return WriteAction(SpeechSegment(content=[0.5] * 1600, sample_rate=16_000), finished=True)


def test_the_speech_of_an_agent_is_written_as_wav(tmp_path: Path) -> None:
    path = write_wav(tmp_path / "a.wav", tone(0.5))
    run = evaluator(SpeechDataset([SpeechItem("a.wav", path, "x")]), output=tmp_path / "out")
    run(Echo())

    assert run.instances[0].audio == "wavs/0_pred.wav"
    samples, rate = soundfile.read(tmp_path / "out" / "wavs" / "0_pred.wav")
    assert rate == 16_000
    assert len(samples) == 8_000 + 1_600
    assert np.abs(samples[:8_000]).max() == 0
    assert samples[8_000] == pytest.approx(0.5, abs=1e-4)
