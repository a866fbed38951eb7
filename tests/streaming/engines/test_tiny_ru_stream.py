"""The embedded streaming model: how a recording is split into chunks does not change its text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
import soxr
from numpy.typing import NDArray

from stt_ru.streaming.engines.tiny_ru_stream import SAMPLE_RATE, TinyRuStreamDecoder

DEMO = Path(__file__).parents[3] / "fixtures" / "demo"
MAX_BYTES = 4_000_000


@pytest.fixture(scope="module")
def decoder() -> TinyRuStreamDecoder:
    return TinyRuStreamDecoder()


@pytest.fixture(scope="module")
def recordings() -> list[NDArray[np.float32]]:
    paths = sorted(path for path in DEMO.iterdir() if path.suffix in {".wav", ".flac"})
    assert len(paths) >= 4
    return [_read(path) for path in paths[:4]]


def _read(path: Path) -> NDArray[np.float32]:
    samples, rate = sf.read(path, dtype="float32", always_2d=True)
    mono: NDArray[np.float32] = soxr.resample(samples[:, 0], rate, SAMPLE_RATE)
    return mono


def _recognize(
    decoder: TinyRuStreamDecoder, waveform: NDArray[np.float32], cuts: list[int]
) -> tuple[str, list[str]]:
    decoder.reset()
    partial = [decoder.feed(chunk) for chunk in np.split(waveform, cuts)]
    return decoder.finish(), partial


@pytest.mark.parametrize("chunk_ms", [10, 33, 80, 240, 640, 1000])
def test_any_chunk_length_gives_the_text_of_the_whole_file(
    decoder: TinyRuStreamDecoder, recordings: list[NDArray[np.float32]], chunk_ms: int
) -> None:
    size = SAMPLE_RATE * chunk_ms // 1000
    for waveform in recordings:
        whole, _ = _recognize(decoder, waveform, [])
        chunked, _ = _recognize(decoder, waveform, list(range(size, len(waveform), size)))
        assert chunked == whole
        assert whole


@pytest.mark.parametrize("seed", range(3))
def test_random_splits_give_the_same_text(
    decoder: TinyRuStreamDecoder, recordings: list[NDArray[np.float32]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    for waveform in recordings:
        whole, _ = _recognize(decoder, waveform, [])
        cuts = sorted(rng.integers(0, len(waveform), rng.integers(1, 30)).tolist())
        assert _recognize(decoder, waveform, cuts)[0] == whole


def test_the_text_only_grows(
    decoder: TinyRuStreamDecoder, recordings: list[NDArray[np.float32]]
) -> None:
    for waveform in recordings:
        final, partial = _recognize(decoder, waveform, list(range(1280, len(waveform), 1280)))
        for text in partial:
            assert final.startswith(text)
        assert partial[len(partial) // 2], "no text after half of the recording"


def test_a_recording_does_not_depend_on_the_one_before(
    decoder: TinyRuStreamDecoder, recordings: list[NDArray[np.float32]]
) -> None:
    fresh, _ = _recognize(TinyRuStreamDecoder(), recordings[1], [])
    _recognize(decoder, recordings[0], [])
    assert _recognize(decoder, recordings[1], [])[0] == fresh


@pytest.mark.parametrize("samples", [0, 1, 159, 160, 399, 2000])
def test_short_recordings_have_a_text(decoder: TinyRuStreamDecoder, samples: int) -> None:
    decoder.reset()
    decoder.feed(np.zeros(samples, np.float32))
    assert decoder.finish() == ""
    assert decoder.finish() == ""


def test_audio_after_the_end_is_refused(decoder: TinyRuStreamDecoder) -> None:
    decoder.reset()
    decoder.finish()
    with pytest.raises(RuntimeError, match="finished"):
        decoder.feed(np.zeros(160, np.float32))


def test_stereo_is_refused(decoder: TinyRuStreamDecoder) -> None:
    decoder.reset()
    with pytest.raises(ValueError, match="mono"):
        decoder.feed(np.zeros((2, 160), np.float32))


def test_the_model_is_small() -> None:
    from importlib.resources import files

    size = len((files("stt_ru") / "models" / "tiny_ru_stream" / "model.onnx").read_bytes())
    assert size <= MAX_BYTES
