"""Real recordings and real models, kept beside the repository and no part of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stt_ru import Transcriber
from stt_ru.audio import SAMPLE_RATE, load_audio
from stt_ru.evaluation import evaluate, load_manifest
from stt_ru.recognition.onnx_models import load_vad
from stt_ru.recognition.segmentation import VadOptions, VadSegmenter
from tests.conftest import ROOT

SHARED = ROOT.parent / "shared"
DATA = SHARED / "data"
WHISPER = SHARED / "models" / "whisper-base"
SILERO = SHARED / "models" / "silero-vad"

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(not SHARED.is_dir(), reason=f"no real models and recordings in {SHARED}"),
]


def rows_of(name: str) -> list[dict[str, Any]]:
    lines = (DATA / name / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def whisper() -> Transcriber:
    return Transcriber("whisper", model_dir=WHISPER, vad_dir=SILERO, offline=True, workers=2)


def long_speech() -> NDArray[np.float32]:
    paths = [DATA / "prompts" / row["audio"] for row in rows_of("prompts")[:40]]
    return np.concatenate([load_audio(path).waveform[0] for path in paths])


def test_windows_change_nothing_in_what_the_vad_finds() -> None:
    samples = long_speech()  # 174 s
    detector = load_vad(SILERO, offline=True)

    def spans(window_s: float) -> list[tuple[int, int]]:
        segmenter = VadSegmenter(detector, VadOptions(), window_s)
        stretches = []
        for at in range(0, len(samples), 30 * SAMPLE_RATE):
            stretches += segmenter.feed(samples[at : at + 30 * SAMPLE_RATE])
        stretches += segmenter.finish()
        return [(stretch.start, len(stretch.samples)) for stretch in stretches]

    assert spans(60) == spans(1_000)


def test_stretches_of_speech_with_pauses_are_those_of_onnx_asr() -> None:
    samples = long_speech()[: 60 * SAMPLE_RATE]
    detector = load_vad(SILERO, offline=True)
    lengths = np.array([len(samples)], dtype=np.int64)
    (found,) = detector.segment_batch(samples[None], lengths, SAMPLE_RATE)
    theirs = [(int(start), int(end)) for start, end in found]
    segmenter = VadSegmenter(detector, VadOptions())
    ours = [*segmenter.feed(samples), *segmenter.finish()]
    assert [(piece.start, piece.start + len(piece.samples)) for piece in ours] == theirs


def test_whisper_hears_requests_to_a_voice_assistant(whisper: Transcriber) -> None:
    report = evaluate(whisper, load_manifest(DATA / "golos" / "manifest.jsonl"))
    assert (report.files, report.failed) == (8, 0)
    assert report.wer is not None
    assert 0.4 < report.wer < 1.0  # it is a small model; figures move with onnxruntime
    assert report.cer is not None
    assert report.cer < report.wer
    assert report.results[0].extra["kind"] == "voice-assistant request"


def test_each_channel_of_a_call_meets_its_own_reference(whisper: Transcriber) -> None:
    samples = load_manifest(DATA / "stereo-calls" / "manifest.jsonl")[:2]
    report = evaluate(whisper, samples)
    assert report.failed == 0
    swapped = [
        type(sample)(sample.audio, sample.text, 1 - (sample.channel or 0), path=sample.path)
        for sample in samples
    ]
    assert report.wer is not None
    assert report.wer < 0.6
    assert (evaluate(whisper, swapped).wer or 0) > 0.9


def test_one_clip_in_fourteen_formats_has_one_length() -> None:
    pytest.importorskip("av")
    durations = [
        load_audio(DATA / "formats" / row["audio"]).duration_s for row in rows_of("formats")
    ]
    assert len(durations) == 14
    np.testing.assert_allclose(durations, 4.0, atol=0.05)


def test_workers_and_repetition_do_not_change_the_text(whisper: Transcriber) -> None:
    paths = [DATA / "golos" / row["audio"] for row in rows_of("golos")[5:8]]
    alone = Transcriber("whisper", model_dir=WHISPER, vad_dir=SILERO, offline=True)

    def texts(recognizer: Transcriber, files: Sequence[Path]) -> list[str]:
        return [recognizer.transcribe(file).text for file in files]

    assert texts(whisper, paths) == texts(alone, list(reversed(paths)))[::-1]
