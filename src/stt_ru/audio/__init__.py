"""Recordings from disk: what they hold, at the rate asked for, and what is wrong with them.

The only package that opens audio files. A file is known by its content, never by its name.
libsndfile (soundfile) decodes what it can, PyAV (extra ``media``) the rest, soxr brings every rate
to the one asked for. Samples are counted as they are decoded, since headers lie, and read in
pieces, so that memory does not depend on the length.

What can be repaired is repaired with a warning, what cannot is an ``AudioError``; both are
sentences for the user, in Russian, without the path, which the caller adds. docs/audio.md lists
them.
"""

from __future__ import annotations

from stt_ru.audio.reading import Audio, AudioReader, load_audio, open_audio, waveform_of
from stt_ru.audio.source import SAMPLE_RATE, Frames, Waveform

__all__ = [
    "SAMPLE_RATE",
    "Audio",
    "AudioReader",
    "Frames",
    "Waveform",
    "load_audio",
    "open_audio",
    "waveform_of",
]
