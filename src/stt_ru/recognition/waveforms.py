"""What a recogniser makes of samples in memory: straight where it can, else through a file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import soundfile as sf
from numpy.typing import NDArray

from stt_ru.audio import SAMPLE_RATE
from stt_ru.errors import TranscriptionError
from stt_ru.recognition.recognizer import Transcript, WaveformRecognizer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stt_ru.recognition.recognizer import LoadedRecognizer

Hear: TypeAlias = Callable[[NDArray[np.float32]], Transcript]
"""Recognises samples of one channel in [-1, 1], shape (n,), at `SAMPLE_RATE`."""


@contextmanager
def hearing(loaded: LoadedRecognizer) -> Iterator[Hear]:
    """How to give samples to a recogniser.

    One that is a `WaveformRecognizer` gets them as they are, any other as a WAV file of floats,
    which it may read only during the call.
    """
    recognizer, name = loaded.recognizer, loaded.info.name
    if isinstance(recognizer, WaveformRecognizer):
        in_memory: WaveformRecognizer = recognizer
        yield lambda samples: _checked(
            in_memory.transcribe_waveform(samples, SAMPLE_RATE), f"{name}.transcribe_waveform"
        )
        return
    with tempfile.TemporaryDirectory(prefix="stt-ru-") as folder:
        file = Path(folder) / "samples.wav"

        def through_a_file(samples: NDArray[np.float32]) -> Transcript:
            sf.write(file, samples, SAMPLE_RATE, subtype="FLOAT")
            return _checked(recognizer.transcribe(file), f"{name}.transcribe")

        yield through_a_file


def _checked(answer: object, method: str) -> Transcript:
    if not isinstance(answer, Transcript):
        raise TranscriptionError(f"{method} вернул {type(answer).__name__}, а нужен Transcript")
    return answer
