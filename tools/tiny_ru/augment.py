"""Augmentation of training recordings: room, telephone, noise and gain."""

from __future__ import annotations

import numpy as np
import soxr
from numpy.typing import NDArray

Waveform = NDArray[np.float32]

SAMPLE_RATE = 16_000
FAST_STEP = 1600  # lengths are multiples of 0.1 s, so that FFT sizes have small prime factors


def reverberate(audio: Waveform, rng: np.random.Generator) -> Waveform:
    """Convolve with exponentially decaying noise (RT60 of 0.1 to 0.6 s) under the direct sound."""
    rt60_s = rng.uniform(0.1, 0.6)
    length = int(rt60_s * SAMPLE_RATE)
    decay = np.exp(np.linspace(0, -6.9, length, dtype=np.float32))  # ln(1000) = 6.9: 60 dB
    room = rng.standard_normal(length, np.float32) * decay
    room *= rng.uniform(0.1, 0.7) / np.sqrt((room**2).sum())
    room[0] = 1.0
    size = -(-(audio.size + length) // FAST_STEP) * FAST_STEP
    wet = np.fft.irfft(np.fft.rfft(audio, size) * np.fft.rfft(room, size), size)
    return wet[: audio.size].astype(np.float32, copy=False)


def equalize(audio: Waveform, rng: np.random.Generator) -> Waveform:
    """Filter with a smooth random curve within about ±10 dB."""
    spectrum = np.fft.rfft(audio)
    knots_db = rng.normal(0.0, 5.0, 9)
    curve_db = np.interp(np.linspace(0, 1, spectrum.size), np.linspace(0, 1, 9), knots_db)
    gain = (10 ** (curve_db / 20)).astype(np.float32)
    return np.fft.irfft(spectrum * gain, audio.size).astype(np.float32, copy=False)


def telephone(audio: Waveform, rng: np.random.Generator) -> Waveform:
    """Pass through an 8 kHz channel, in half of the cases with 8-bit G.711 mu-law."""
    narrow = soxr.resample(audio, SAMPLE_RATE, 8000, quality="LQ")
    if rng.random() < 0.5:
        level = np.log1p(255 * np.minimum(np.abs(narrow), 1)) / np.float32(np.log(256))
        level = np.round(level * 127) / 127
        narrow = np.sign(narrow) * np.expm1(level * np.float32(np.log(256))) / 255
    wide = soxr.resample(narrow.astype(np.float32), 8000, SAMPLE_RATE, quality="LQ")
    return np.pad(wide, (0, max(0, audio.size - wide.size)))[: audio.size]


def add_noise(audio: Waveform, rng: np.random.Generator, snr_db: float) -> Waveform:
    """Add noise with a spectrum of f^-a, a in [0, 2], at ``snr_db`` below the mean power."""
    spectrum = np.fft.rfft(rng.standard_normal(audio.size, np.float32))
    slope = rng.uniform(0.0, 1.0)  # of the amplitude, half that of the power
    spectrum /= np.maximum(np.arange(spectrum.size, dtype=np.float32), 20) ** np.float32(slope)
    noise = np.fft.irfft(spectrum, audio.size)
    scale = np.sqrt((audio**2).mean() / max((noise**2).mean(), 1e-20)) * 10 ** (-snr_db / 20)
    return (audio + noise * np.float32(scale)).astype(np.float32, copy=False)


def augment(audio: Waveform, rng: np.random.Generator, *, is_telephone: bool = False) -> Waveform:
    """Apply a random chain of the effects.

    Args:
        audio: 16 kHz speech.
        rng: Source of randomness.
        is_telephone: Whether the speech is already from an 8 kHz channel.
    """
    before, after = rng.uniform(0.02, 0.4, 2)
    audio = np.pad(audio, (int(before * SAMPLE_RATE), int(after * SAMPLE_RATE)))
    audio = np.pad(audio, (0, -audio.size % FAST_STEP)).astype(np.float32)
    if rng.random() < 0.3:
        audio = reverberate(audio, rng)
    if rng.random() < 0.5:
        audio = equalize(audio, rng)
    if rng.random() < 0.65:
        audio = add_noise(audio, rng, rng.uniform(6, 45))
    if not is_telephone and rng.random() < 0.4:
        audio = telephone(audio, rng)
    peak = max(float(np.abs(audio).max()), 1e-6)
    audio = audio * np.float32(10 ** rng.uniform(-1.5, 0) / peak)
    if rng.random() < 0.08:
        limit = np.float32(float(np.abs(audio).max()) * rng.uniform(0.3, 0.8))
        audio = np.clip(audio, -limit, limit)
    return audio
