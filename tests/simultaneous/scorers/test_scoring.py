"""Which instances each measure counts, what it says of the others, and a user's own measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stt_ru.errors import AudioError, UsageError
from stt_ru.simultaneous.core.record import InstanceRecord
from stt_ru.simultaneous.scorers import (
    ALScorer,
    APScorer,
    ASRSacreBLEUScorer,
    LatencyScorer,
    MetricScore,
    SacreBLEUScorer,
    ScorerOptions,
    make_latency_scorers,
    make_quality_scorers,
    score_instances,
)
from stt_ru.simultaneous.scorers.registry import Registry
from stt_ru.simultaneous.scorers.scoring import skipped_sentences
from tests.conftest import FakeRecognizer

GOOD = InstanceRecord(
    index=0,
    source_type="speech",
    source="a.wav",
    source_length=3000,
    reference="раз два три",
    prediction="раз два три",
    delays=(1000, 2000, 3000),
    elapsed=(1200, 2300, 3600),
)
ALL_LATENCY = [
    "AL", "LAAL", "AP", "AP_HYP", "DAL", "ATD", "StartOffset", "EndOffset", "NumChunks", "RTF",
]  # fmt: skip


def score_one(name: str, *records: InstanceRecord, quality: bool = False) -> MetricScore:
    options = ScorerOptions()
    instances = {i: replace(record, index=i) for i, record in enumerate(records)}
    scores = score_instances(
        instances,
        make_quality_scorers([name], options) if quality else {},
        {} if quality else make_latency_scorers([name], options),
        source_type="speech",
    )
    return scores.all[0]


def test_corpus_latency_is_the_unweighted_mean_of_the_instances() -> None:
    short = replace(GOOD, delays=(500, 1000), source_length=4000, reference="раз два")

    score = score_one("AL", GOOD, short)

    assert score.value == (1000 - 250) / 2
    assert score.by_instance == {0: 1000, 1: -250}
    assert (score.scored, score.total, score.unit) == (2, 2, "ms")


@pytest.mark.parametrize("name", ALL_LATENCY + [f"{name}_CA" for name in ALL_LATENCY])
@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (replace(GOOD, delays=(), elapsed=(), prediction=""), "нет задержек"),
        (replace(GOOD, source_length=0), "пустой источник"),
        (replace(GOOD, error="упал"), "ошибка примера"),
    ],
    ids=["no delays", "no source", "failed"],
)
def test_an_instance_that_cannot_be_scored_is_skipped_counted_and_named(
    name: str, broken: InstanceRecord, reason: str
) -> None:
    alone = score_one(name, broken)
    beside = score_one(name, broken, GOOD)

    assert (alone.value, alone.scored, alone.total, alone.error) == (None, 0, 1, None)
    assert reason in alone.skipped[0]
    assert beside.value is not None
    assert beside.scored == 1
    assert "0" in skipped_sentences(beside)[0]


@pytest.mark.parametrize(
    ("name", "needs_reference"),
    [("AL", True), ("LAAL", True), ("AP", True), ("AP_HYP", False), ("DAL", False),
     ("ATD", False), ("StartOffset", False), ("RTF", False)],
)  # fmt: skip
@pytest.mark.parametrize("reference", [None, "", "  "])
def test_only_formulas_with_a_reference_length_need_a_reference(
    name: str, needs_reference: bool, reference: str | None
) -> None:
    score = score_one(name, replace(GOOD, reference=reference))

    assert (score.value is None) == needs_reference


def test_without_the_reference_length_al_needs_no_reference() -> None:
    scorer = ALScorer(use_ref_len=False)

    assert scorer({0: replace(GOOD, reference=None)}) == 1000
    assert APScorer()({0: replace(GOOD, reference=None)}) is None


def test_al_and_al_ca_of_one_run_differ_when_computing_takes_time() -> None:
    scorers = make_latency_scorers(["AL", "ATD"], ScorerOptions(computation_aware=True))
    scores = score_instances({0: GOOD}, {}, scorers, source_type="speech")

    figures = {score.name: score.value for score in scores.latency}

    assert figures == pytest.approx({"AL": 1000, "AL_CA": 4100 / 3, "ATD": 1400, "ATD_CA": 1600})


def test_a_text_source_has_no_computation_aware_figure() -> None:
    score = score_one("AL_CA", replace(GOOD, source_type="text"))

    assert score.value is None
    assert "времени" in score.skipped[0]


@pytest.mark.parametrize("name", ["AL", "LAAL", "AP", "AP_HYP", "DAL", "ATD"])
def test_speech_that_is_written_has_no_words_with_a_delay(name: str) -> None:
    spoken = replace(GOOD, target_type="speech", prediction="", durations=(500, 500, 500))

    assert "речь" in score_one(name, spoken).skipped[0]


def test_the_end_of_speech_is_when_it_has_sounded() -> None:
    spoken = replace(
        GOOD, target_type="speech", delays=(1000, 1200), durations=(500, 400), prediction=""
    )
    # The second chunk waits for the end of the first: 1500 + 400 - 3000.

    assert score_one("EndOffset", spoken).value == -1100
    assert score_one("NumChunks", spoken).value == 2


def test_an_unknown_measure_lists_the_rest() -> None:
    with pytest.raises(UsageError, match=r"LAL.*есть: AL, LAAL, AP"):
        make_latency_scorers(["LAL"], ScorerOptions())
    with pytest.raises(UsageError, match="есть: BLEU, CHRF, WER"):
        make_quality_scorers(["BLUE"], ScorerOptions())


def test_bleu_is_sacrebleus() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    other = replace(GOOD, prediction="раз два четыре пять", reference="раз два три четыре пять")

    score = score_one("BLEU", GOOD, other, quality=True)

    expected = sacrebleu.corpus_bleu(
        ["раз два три", "раз два четыре пять"], [["раз два три", "раз два три четыре пять"]]
    )
    assert score.value == expected.score
    assert "tok:13a" in score.signature


def test_chrf_is_sacrebleus() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    other = replace(GOOD, prediction="раз два четыре")

    score = score_one("CHRF", GOOD, other, quality=True)

    expected = sacrebleu.corpus_chrf(["раз два три", "раз два четыре"], [["раз два три"] * 2])
    assert score.value == expected.score


def test_wer_and_cer_sum_counts_after_our_normaliser() -> None:
    other = replace(GOOD, reference="Ёлка!", prediction="ёлки, да")

    wer, cer = (score_one(name, GOOD, other, quality=True) for name in ("WER", "CER"))

    assert wer.value == 2 / 4
    assert cer.value == 3 / 15  # «елка» -> «елки да»: three insertions before the «а»
    assert wer.by_instance == {0: 0, 1: 2}


def test_wer_without_a_reference_word_is_nothing() -> None:
    assert score_one("WER", replace(GOOD, reference=""), quality=True).value is None


def test_a_failed_instance_is_not_counted_in_quality() -> None:
    failed = replace(GOOD, error="упал", prediction="")

    score = score_one("WER", GOOD, failed, quality=True)

    assert (score.value, score.scored, score.total) == (0, 1, 2)


def test_an_empty_hypothesis_counts_in_quality() -> None:
    silent = replace(GOOD, prediction="", delays=(), elapsed=())

    score = score_one("WER", GOOD, silent, quality=True)

    assert (score.value, score.scored) == (0.5, 2)


def test_an_unknown_tokeniser_lists_the_rest() -> None:
    pytest.importorskip("sacrebleu")
    with pytest.raises(UsageError, match="13a"):
        SacreBLEUScorer("нет такого")


def test_asr_bleu_listens_to_the_speech(tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    spoken = replace(
        GOOD, target_type="speech", prediction="", durations=(1.0,) * 3, audio="wavs/0_pred.wav",
        reference="Раз, два, три, четыре",
    )  # fmt: skip
    scorer = ASRSacreBLEUScorer(
        "13a", FakeRecognizer({"0_pred.wav": "раз два три четыре"}), tmp_path
    )

    assert scorer({0: spoken}) == pytest.approx(100)
    assert "asr:fake" in scorer.signature
    assert scorer.transcripts == {0: "раз два три четыре"}


def test_speech_that_cannot_be_heard_is_an_error_and_no_zero(tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    spoken = replace(GOOD, target_type="speech", durations=(1.0,) * 3, audio="0_pred.wav")
    recognizer = FakeRecognizer({"0_pred.wav": AudioError("файл испорчен")})
    scorers = {"ASR_BLEU": ASRSacreBLEUScorer("13a", recognizer, tmp_path)}

    (score,) = score_instances({0: spoken}, scorers, {}, source_type="speech").quality

    assert score.value is None
    assert "файл испорчен" in (score.error or "")


class Last:
    def __call__(self, instances: Mapping[int, Any]) -> float:
        lasts: list[float] = [ins.delays[-1] / ins.source_length for ins in instances.values()]
        return sum(lasts) / len(lasts)


def test_a_users_measure_gets_the_instances_that_have_delays() -> None:
    silent = replace(GOOD, delays=(), elapsed=())

    (score,) = score_instances(
        {0: silent, 1: GOOD}, {}, {"LAST": Last()}, source_type="speech"
    ).latency

    assert (score.value, score.scored, score.total) == (1, 1, 2)
    assert score.by_instance == {1: 1}


class NeedsTwo:
    def __call__(self, instances: Mapping[int, Any]) -> float:
        if len(instances) < 2:
            raise ValueError("a spread takes two")
        return 5.0


def test_a_users_measure_of_the_whole_need_not_have_a_figure_of_one() -> None:
    (score,) = score_instances(
        {0: GOOD, 1: GOOD}, {}, {"SPREAD": NeedsTwo()}, source_type="speech"
    ).latency

    assert (score.value, score.error, dict(score.by_instance)) == (5, None, {})


class Broken:
    def __call__(self, instances: Mapping[int, Any]) -> float:
        return 1 / 0


class NotANumber:
    def __call__(self, instances: Mapping[int, Any]) -> float:
        return float("nan")


@pytest.mark.parametrize("scorer", [Broken(), NotANumber()])
def test_a_users_measure_that_fails_is_an_error_and_no_zero(scorer: Any) -> None:
    scores = score_instances({0: GOOD}, {"Q": scorer}, {"L": scorer}, source_type="speech")

    for score in scores.all:
        assert score.value is None
        assert score.error is not None
        assert score.scored == 0


class TestRegistry:
    def registry(self) -> Registry[type[Any]]:
        return Registry("показателя", {"AL": ALScorer})

    def test_a_registered_class_is_found_by_its_name(self) -> None:
        registry = self.registry()
        registry.register("LAST")(Last)

        assert registry.find("LAST") is Last
        assert registry.names() == ["AL", "LAST"]
        assert registry.take_notices() == []

    def test_a_users_class_replaces_a_builtin_with_a_warning(self) -> None:
        registry = self.registry()
        registry.register("AL")(Last)

        assert registry.find("AL") is Last
        assert ["AL" in notice for notice in registry.take_notices()] == [True]

    def test_two_of_a_users_under_one_name_are_an_error(self) -> None:
        registry = self.registry()
        registry.register("LAST")(Last)

        with pytest.raises(UsageError, match="LAST занято дважды"):
            registry.register("LAST")(Broken)

    def test_loading_the_same_file_again_is_none(self) -> None:
        registry = self.registry()
        registry.register("LAST")(Last)

        assert registry.register("LAST")(Last) is Last


def test_every_builtin_formula_documents_its_paper_or_units() -> None:
    from stt_ru.simultaneous.scorers import LATENCY_SCORERS

    for name in LATENCY_SCORERS:
        kind = LATENCY_SCORERS.find(name)
        if kind is not Last and issubclass(kind, LatencyScorer):
            assert len(kind.compute.__doc__ or "") > 80, name
