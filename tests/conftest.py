"""What the tests share: a recogniser without a model, recordings without speech, golden files."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, settings
from numpy.typing import NDArray
from onnx_asr.asr import TimestampedResult

from stt_ru.recognition.recognizer import Transcript

# A busy machine is no failure of a property: no test of ours is timed.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# A job that a shell began with «&» ignores Ctrl+C, and so would the commands that tests begin.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "fixtures" / "golden"


class FakeRecognizer:
    """Answers with the text known for a file's name; an exception instead of a text is raised."""

    def __init__(
        self,
        texts: Mapping[str, str | Transcript | Exception],
        *,
        name: str = "fake",
        concurrency: int = 1,
        duration_s: float = 2.0,
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self.settings = {"lang": "ru"}
        self.knows_channels = True
        self.asked: list[str] = []
        self._texts = texts
        self._duration_s = duration_s
        self._lock = threading.Lock()

    def transcribe(self, path: str | Path) -> Transcript:
        with self._lock:
            self.asked.append(Path(path).name)
        answer = self._texts[Path(path).name]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Transcript):
            return answer
        return Transcript.from_text(answer, duration=self._duration_s)


def tone(seconds: float, *, sample_rate: int = 16_000, hertz: float = 440.0) -> NDArray[np.float32]:
    """A sine of half the full scale, shape (n,)."""
    time_s = np.arange(round(seconds * sample_rate)) / sample_rate
    return (0.5 * np.sin(2 * np.pi * hertz * time_s)).astype(np.float32)


def write_wav(path: Path, *channels: NDArray[np.float32], sample_rate: int = 16_000) -> Path:
    """Write the channels as a 16-bit WAV file."""
    soundfile.write(path, np.stack(channels, axis=1), sample_rate, subtype="PCM_16")
    return path


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite fixtures/golden")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with a file of fixtures/golden, or rewrite the file with --update-golden."""

    def check(name: str, text: str) -> None:
        file = GOLDEN / name
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8"), f"{file} differs; see --update-golden"

    return check


WORD_S = 0.3  # seconds a spoken word of the toy language lasts


def speak(words: list[int], *, pause_s: float = 0.3) -> NDArray[np.float32]:
    """Speech of a toy language, shape (n,) at 16 kHz: words are numbers, said as tones.

    Word ``w`` is a tone of ``400 + 40·w`` Hz; `ToneModel` understands it.
    """
    pause = np.zeros(round(pause_s * 16_000), np.float32)
    pieces = [pause]
    for word in words:
        pieces += [tone(WORD_S, hertz=400 + 40 * word), pause]
    return np.concatenate(pieces)


class ToneModel:
    """Understands `speak`: each uninterrupted tone of at least 40 ms is a word.

    A word that is cut in two is heard twice, one that is lost is not heard: cuts show in the text.
    """

    def __init__(self) -> None:
        self.batches: list[int] = []

    def recognize(
        self, waveform: list[str | Path | NDArray[np.float32]], *, language: str | None = None
    ) -> list[TimestampedResult]:
        self.batches.append(len(waveform))
        return [self._hear(piece) for piece in waveform if isinstance(piece, np.ndarray)]

    @staticmethod
    def _hear(samples: NDArray[np.float32]) -> TimestampedResult:
        frame = 160
        n_frames = len(samples) // frame
        loud = np.abs(samples[: n_frames * frame]).reshape(n_frames, frame).max(axis=1) > 0.1
        edges = np.flatnonzero(np.diff(np.concatenate([[False], loud, [False]]).astype(int)))
        words = []
        times = []
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            run = samples[start * frame : end * frame]
            if len(run) < 4 * frame:
                continue
            spectrum = np.abs(np.fft.rfft(run, 16_000))
            words.append(str(round((int(spectrum.argmax()) - 400) / 40)))
            times.append(start * frame / 16_000)
        return TimestampedResult(" ".join(words), times, [f" {word}" for word in words])


class EnergyDetector:
    """A VAD of the shape of onnx-asr's: what is loud is speech, in steps of 512 samples."""

    def __init__(self) -> None:
        self.longest = 0

    def segment_batch(
        self,
        waveforms: NDArray[np.float32],
        waveforms_len: NDArray[np.int64],
        sample_rate: int,
        **options: float,
    ) -> Iterator[Iterator[tuple[int, int]]]:
        (samples,) = waveforms
        self.longest = max(self.longest, len(samples))
        pad = int(options["speech_pad_ms"] * sample_rate / 1000)
        gap = int(options["min_silence_duration_ms"] * sample_rate / 1000) + 2 * pad
        steps = [np.abs(samples[at : at + 512]).max() > 0.05 for at in range(0, len(samples), 512)]
        found: list[list[int]] = []
        for number, is_loud in enumerate(steps):
            if is_loud and found and number * 512 - found[-1][1] < gap:
                found[-1][1] = (number + 1) * 512
            elif is_loud:
                found.append([number * 512, (number + 1) * 512])
        least = options["min_speech_duration_ms"] * sample_rate / 1000
        yield iter(
            [
                (max(0, start - pad), min(len(samples), end + pad))
                for start, end in found
                if end - start >= least
            ]
        )
