"""A speech agent over the embedded model: in process and over REST it does the same."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from stt_ru.manifest import load_manifest
from stt_ru.simultaneous.agents.loading import load_agent_class
from stt_ru.simultaneous.core.dataset import dataset_of_samples
from stt_ru.simultaneous.run.client import RemoteSession, evaluate_remotely
from stt_ru.simultaneous.run.evaluator import EvaluationOptions, SentenceLevelEvaluator
from stt_ru.simultaneous.scorers import ScorerOptions, make_latency_scorers
from stt_ru.simultaneous.scorers.quality_scorers import CERScorer
from stt_ru.simultaneous.server.corpus import Corpus
from stt_ru.simultaneous.server.session import SessionSettings
from stt_ru.simultaneous.server.store import SessionStore
from tests.conftest import ROOT
from tests.simultaneous.server.running import running

if TYPE_CHECKING:
    from stt_ru.simultaneous.agents import GenericAgent


@pytest.fixture
def agent() -> GenericAgent:
    kind = load_agent_class(str(ROOT / "fixtures" / "simul" / "local_agreement.py"))
    return kind.from_args(Namespace(model="tiny-ru", step_ms=1000.0))


@pytest.mark.slow
def test_the_embedded_model_has_the_same_delays_and_scores_in_process_and_over_rest(
    agent: GenericAgent,
) -> None:
    wanted = {"01-letter.wav", "16-alone.wav"}  # 16-bit at 16 kHz, what the server sends
    rows = load_manifest(ROOT / "fixtures" / "demo" / "eval.csv")
    samples = [row for row in rows if row.audio in wanted and row.channel is None]
    quality = {"CER": CERScorer()}
    latency = make_latency_scorers(["AL", "LAAL", "AP", "DAL", "ATD"], ScorerOptions())
    options = EvaluationOptions(source_segment_size=100)

    local = SentenceLevelEvaluator(dataset_of_samples(samples), quality, latency, options)
    scores = {score.name: score.value for score in local(agent).all}
    corpus = Corpus(dataset_of_samples(samples, sample_rate=16_000))
    settings = SessionSettings(quality_scorers=quality, latency_scorers=latency)
    with (
        running(SessionStore(corpus, settings)) as server,
        RemoteSession("127.0.0.1", server.port) as session,
    ):
        remote = evaluate_remotely(agent, session, options)
        shown = [session.result(index) for index in range(len(samples))]

    assert len(samples) == 2
    assert [record.error for record in local.instances.values()] == [None, None]
    assert [list(record.delays) for record in local.instances.values()] == [
        one["delays"] for one in shown
    ]
    assert [record.prediction for record in local.instances.values()] == [
        one["prediction"] for one in shown
    ]
    assert {**remote.result["Quality"], **remote.result["Latency"]} == scores
    cer, al = scores["CER"], scores["AL"]
    assert cer is not None
    assert cer < 0.6  # it heard something like the text
    assert al is not None
    assert al < max(record.source_length for record in local.instances.values())
