"""The embedded model: it loads, batches do not change it, and it hears the demo recordings."""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import onnx_asr
import onnxruntime as ort
import pytest
import soundfile as sf
import soxr
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from stt_ru.text.normalize import normalize

DEMO = Path(__file__).parent.parent / "fixtures" / "demo"
MODEL = Path(str(files("stt_ru") / "models" / "tiny_ru"))
SAMPLE_RATE = 16_000
MAX_BYTES = 4_000_000
# int8 results move by a word or two from one processor and onnxruntime to another
DEMO_WER_BAND = (0.02, 0.35)


@pytest.fixture(scope="module")
def model() -> Any:
    return onnx_asr.load_model("nemo-conformer-ctc", MODEL, providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def demo() -> list[tuple[NDArray[np.float32], str]]:
    """Each row's own channel at 16 kHz, and its reference."""
    with (DEMO / "eval.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [(_read(DEMO / row["audio"], int(row["channel"] or 0)), row["text"]) for row in rows]


def _read(path: Path, channel: int) -> NDArray[np.float32]:
    samples, rate = sf.read(path, dtype="float32", always_2d=True)
    mono: NDArray[np.float32] = soxr.resample(samples[:, channel], rate, SAMPLE_RATE)
    return mono


def test_the_model_is_small_and_whole() -> None:
    assert {path.name for path in MODEL.iterdir()} >= {
        "config.json",
        "vocab.txt",
        "model.onnx",
        "MODEL_CARD.md",
    }
    assert (MODEL / "model.onnx").stat().st_size <= MAX_BYTES


def test_the_demo_is_read_with_some_mistakes_and_no_nonsense(
    model: Any, demo: list[tuple[NDArray[np.float32], str]]
) -> None:
    errors = total = 0
    for waveform, reference in demo:
        words = normalize(reference).split()
        heard = normalize(model.recognize(waveform, sample_rate=SAMPLE_RATE)).split()
        row_errors = Levenshtein.distance(words, heard)
        assert row_errors < len(words), f"{reference!r} is heard as {heard}"
        errors += row_errors
        total += len(words)
    low, high = DEMO_WER_BAND
    assert low <= errors / total <= high


def test_a_batch_reads_the_same_as_single_recordings(
    model: Any, demo: list[tuple[NDArray[np.float32], str]]
) -> None:
    waveforms = [waveform for waveform, _ in demo]
    single = [model.recognize(waveform, sample_rate=SAMPLE_RATE) for waveform in waveforms]
    assert model.recognize(waveforms, sample_rate=SAMPLE_RATE) == single


def test_padding_does_not_change_the_scores() -> None:
    session = ort.InferenceSession(MODEL / "model.onnx", providers=["CPUExecutionProvider"])
    frames = np.random.default_rng(0).normal(size=(1, 80, 200)).astype(np.float32)
    length = np.array([200], np.int64)
    (alone,) = session.run(None, {"audio_signal": frames, "length": length})
    padded = np.pad(frames, ((0, 0), (0, 0), (0, 137)), constant_values=3.0)
    (with_padding,) = session.run(None, {"audio_signal": padded, "length": length})
    np.testing.assert_allclose(with_padding[:, : alone.shape[1]], alone, atol=1e-4)


def test_the_text_is_lower_case_russian(
    model: Any, demo: list[tuple[NDArray[np.float32], str]]
) -> None:
    letters = set("абвгдежзийклмнопрстуфхцчшщъыьэюя ")
    for waveform, _ in demo:
        assert set(model.recognize(waveform, sample_rate=SAMPLE_RATE)) <= letters


@pytest.mark.parametrize("seconds", [0.2, 1.0, 90.0])
def test_any_length_is_read(model: Any, seconds: float) -> None:
    silence = np.zeros(int(seconds * SAMPLE_RATE), np.float32)
    assert isinstance(model.recognize(silence, sample_rate=SAMPLE_RATE), str)
