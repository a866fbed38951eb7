"""Normalisation of a stream by the mean and variance of the audio received so far.

Sums of frames and of their squares decay with a time constant of ``DECAY_S``; a prior of
``PRIOR_FRAMES`` average frames replaces the missing past at the start and never decays. The
streaming model's ONNX graph does the same, with the sums as its state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import lfilter

if TYPE_CHECKING:
    from numpy.typing import NDArray

DECAY_S = 8.0
DECAY = float(np.exp(-0.01 / DECAY_S))  # a frame of 10 ms
PRIOR_FRAMES = 40.0
# Mean log-mel energies of our training speech at nine bands; the others are interpolated.
PRIOR_MEAN = np.interp(
    np.arange(80),
    np.linspace(0, 79, 9),
    [-14.7, -11.3, -12.2, -12.2, -11.7, -11.1, -12.3, -13.8, -14.1],
).astype(np.float32)
PRIOR_DEVIATION = 3.5
EPSILON = 1e-5


def running_normalize(frames: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each frame normalised by the statistics of the frames up to and including it."""
    shifted = frames - PRIOR_MEAN
    ones = np.ones(len(frames))
    filters = ([1.0], [1.0, -DECAY])
    count = PRIOR_FRAMES + lfilter(*filters, ones)[:, None]
    mean = lfilter(*filters, shifted, axis=0) / count
    square = lfilter(*filters, shifted**2, axis=0) + PRIOR_FRAMES * PRIOR_DEVIATION**2
    deviation = np.sqrt(np.maximum(square / count - mean**2, 0)) + EPSILON
    normalized: NDArray[np.float32] = ((shifted - mean) / deviation).astype(np.float32)
    return normalized
