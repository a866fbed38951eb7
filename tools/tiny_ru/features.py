"""Log-mel frames, and the normalisation of onnx-asr's ``nemo80`` as a separate step.

Training data is stored unnormalised, so that noise can still be added and the streaming model can
normalise frame by frame. ``check`` verifies that the two steps together compute the same as
``NemoPreprocessorNumpy("nemo80")``.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import numpy as np
import onnx_asr.preprocessors
from onnx_asr.preprocessors.numpy_preprocessor import NemoPreprocessorNumpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLE_RATE = 16_000
N_MELS = 80
N_FFT = 512
WINDOW = 400  # 25 ms
HOP = 160  # 10 ms
PREEMPHASIS = 0.97
LOG_GUARD = 2.0**-24


def mel_filters() -> NDArray[np.float32]:
    """The filter bank of onnx-asr's ``nemo80``, shape (257, 80)."""
    source = files(onnx_asr.preprocessors).joinpath("data").joinpath("fbanks.npz")
    with as_file(source) as path, np.load(path) as data:
        filters: NDArray[np.float32] = data["nemo80"].astype(np.float32)
        return filters


_FILTERS = mel_filters()
_TAPER = np.pad(np.hanning(WINDOW), (N_FFT - WINDOW) // 2).astype(np.float32)


def log_mel(audio: NDArray[np.float32]) -> NDArray[np.float32]:
    """Frames of a 16 kHz recording, shape (len(audio) // 160, 80)."""
    emphasised = audio.copy()
    emphasised[1:] -= np.float32(PREEMPHASIS) * audio[:-1]
    padded = np.pad(emphasised, N_FFT // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, N_FFT)[::HOP][: audio.size // HOP]
    spectrum = np.fft.rfft(frames * _TAPER, N_FFT)
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    energies: NDArray[np.float32] = np.log(power @ _FILTERS + np.float32(LOG_GUARD))
    return energies


def normalize(frames: NDArray[np.float32]) -> NDArray[np.float32]:
    """Frames with mean 0 and variance 1 in every band over the recording."""
    deviation = frames.std(axis=0, ddof=1) + 1e-5
    normalized: NDArray[np.float32] = (frames - frames.mean(axis=0)) / deviation
    return normalized


def check() -> None:
    """Compare with onnx-asr's own features.

    Raises:
        AssertionError: If they differ.
    """
    audio = np.random.default_rng(0).normal(0, 0.1, 20_000).astype(np.float32)
    expected, _ = NemoPreprocessorNumpy("nemo80")(audio[None], np.array([audio.size]))
    ours = normalize(log_mel(audio)).T
    error = float(np.abs(expected[0, :, : ours.shape[1]] - ours).max())
    if error > 1e-3:
        raise AssertionError(f"features differ from onnx-asr's nemo80 by {error}")


if __name__ == "__main__":
    check()
    print("the features equal those of onnx-asr's nemo80")
