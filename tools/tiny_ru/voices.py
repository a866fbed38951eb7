"""Speech synthesizers that read our sentences aloud, each returning 16 kHz float32 audio.

espeak-ng runs in this process through its library; besides its own voice variants it gets random
ones, written into a copy of its data folder. Festival with festvox-ru (a real male voice, unit
selection) runs as a batch program. ru_tts is a different engine, used only for evaluation.
"""

from __future__ import annotations

import contextlib
import ctypes
import random
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile as sf
import soxr
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Waveform = NDArray[np.float32]

SAMPLE_RATE = 16_000


def _words(text: str) -> list[str]:
    return text.split()


# Stock variants of espeak-ng. Not used: whispers, monsters and station announcers.
TRAIN_VARIANTS = _words("""
m1 m2 m3 m5 m6 m7 m8 f1 f2 f4 f5 klatt klatt2 klatt4 klatt5 klatt6 Alex Alicia
Andy Annie antonio aunty belinda benjamin boris caleb david Denis Diogo ed edward edward2 Gene
Gustave
Henrique Hugo iven iven2 iven3 Jacky john kaukovalta Lee linda marcelo Marco Mario max michel miguel
mike Nguyen Pablo paul pedro quincy RicishayMax RicishayMax2 rob robosoft robosoft3 robosoft5 sandro
shelby steph steph2 travis Tweaky UniRobot zac grandma grandpa norbert""")
WATCH_VARIANTS = ["Andrea", "robert"]
TEST_VARIANTS = ["m4", "f3", "klatt3", "Michael", "anika", "adam", "victor", "steph3"]
RANDOM_VARIANTS = [f"random{i}" for i in range(160)]

_AUDIO_SYNCHRONOUS = 2  # AUDIO_OUTPUT_SYNCHRONOUS of speak_lib.h
_CHARS_UTF8 = 1
_RATE, _PITCH, _RANGE = 1, 3, 4  # espeak_PARAMETER
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)


def random_variant(seed: int) -> str:
    """The text of an espeak-ng voice file with random formants, pitch and timbre."""
    rng = random.Random(seed)
    female = rng.random() < 0.5
    low = rng.randint(140, 230) if female else rng.randint(70, 140)
    shift = rng.uniform(104, 124) if female else rng.uniform(88, 108)
    lines = [
        "language variant",
        f"name random{seed}",
        f"pitch {low} {int(low * rng.uniform(1.1, 1.7))}",
        f"flutter {rng.randint(0, 6)}",
        f"roughness {rng.randint(0, 4)}",
        f"voicing {rng.randint(70, 120)}",
        f"consonants {rng.randint(60, 130)} {rng.randint(60, 130)}",
    ]
    if rng.random() < 0.25:
        lines.append(f"klatt {rng.choice((1, 2, 3, 4, 5))}")
    if rng.random() < 0.3:
        lines.append(f"echo {rng.randint(10, 140)} {rng.randint(2, 12)}")
    if rng.random() < 0.4:
        lines.append("breath " + " ".join(str(rng.randint(0, 4)) for _ in range(8)))
    for formant in range(9):
        frequency = int(shift * rng.uniform(0.94, 1.06))
        lines.append(f"formant {formant} {frequency} {rng.randint(60, 120)} {rng.randint(80, 170)}")
    return "\n".join(lines) + "\n"


class Espeak:
    """espeak-ng in this process. One object per process: the library keeps global state.

    Args:
        library: Name or path of the shared library.
        data: Its data folder («espeak-ng-data»), which is copied and extended with random voices.
        work: Folder for the copy.
    """

    def __init__(self, library: str, data: Path, work: Path) -> None:
        copy = work / "espeak-ng-data"
        if not copy.exists():
            staging = Path(tempfile.mkdtemp(dir=work))
            # The library takes at most 350 voices, so those of other languages are not copied.
            others = [f.name for f in data.glob("*_dict") if f.name != "ru_dict"]
            others += [f.name for f in (data / "lang").iterdir() if f.name != "zle"] + ["mb"]
            shutil.copytree(
                data, staging / "espeak-ng-data", ignore=shutil.ignore_patterns(*others)
            )
            for i, name in enumerate(RANDOM_VARIANTS):
                variant = staging / "espeak-ng-data" / "voices" / "!v" / name
                variant.write_text(random_variant(i), encoding="utf-8")
            with contextlib.suppress(OSError):  # another process was first
                (staging / "espeak-ng-data").rename(copy)
            shutil.rmtree(staging)
        self._library = ctypes.CDLL(library)
        self.sample_rate = self._library.espeak_Initialize(
            _AUDIO_SYNCHRONOUS, 0, str(work).encode(), 0
        )
        if self.sample_rate <= 0:
            raise RuntimeError(f"espeak-ng did not start with the data in {work}")
        self._pieces: list[Waveform] = []
        self._callback = _CALLBACK(self._collect)  # must stay alive: the library calls it later
        self._library.espeak_SetSynthCallback(self._callback)

    def _collect(self, samples: Any, count: int, _events: object) -> int:
        if samples and count > 0:
            piece = np.ctypeslib.as_array(samples, (count,)).astype(np.float32)
            self._pieces.append(piece / np.float32(32768))
        return 0

    def say(
        self,
        text: str,
        variant: str,
        *,
        rate: int = 160,
        pitch: int = 50,
        pitch_range: int = 50,
        resample: float = 1.0,
    ) -> Waveform:
        """Read ``text``; ``resample`` > 1 makes it faster and higher-pitched."""
        if self._library.espeak_SetVoiceByName(f"ru+{variant}".encode()) != 0:
            raise ValueError(f"espeak-ng has no voice variant {variant!r}")
        for parameter, value in ((_RATE, rate), (_PITCH, pitch), (_RANGE, pitch_range)):
            self._library.espeak_SetParameter(parameter, value, 0)
        self._pieces = []
        encoded = text.encode()
        self._library.espeak_Synth(encoded, len(encoded) + 1, 0, 0, 0, _CHARS_UTF8, None, None)
        self._library.espeak_Synchronize()
        audio = np.concatenate(self._pieces) if self._pieces else np.zeros(1, np.float32)
        return to_16k(audio, self.sample_rate * resample)


def festival(texts: Sequence[str]) -> list[Waveform | None]:
    """Read texts with the voice msu_ru_nsh_clunits in one run of the program.

    Returns:
        Waveforms in the order of the texts; None for a text for which the voice has no units.
    """
    with tempfile.TemporaryDirectory() as folder:
        lines = ["(voice_msu_ru_nsh_clunits)"]
        for i, text in enumerate(texts):
            safe = text.replace('"', "").replace("\\", "").replace("–", ",")
            spoken = f'(utt.synth (Utterance Text "{safe}"))'
            lines.append(f'(unwind-protect (utt.save.wave {spoken} "{folder}/{i}.wav" \'riff) nil)')
        script = Path(folder) / "say.scm"
        script.write_text("\n".join(lines), encoding="utf-8")
        subprocess.run(["festival", "-b", str(script)], check=True, capture_output=True)
        waveforms: list[Waveform | None] = []
        for path in (Path(folder) / f"{i}.wav" for i in range(len(texts))):
            if path.exists():
                audio, rate = sf.read(path, dtype="float32")
                waveforms.append(to_16k(audio, rate))
            else:
                waveforms.append(None)
        return waveforms


def ru_tts(text: str, *, female: bool = False, rate: int = 100, pitch: int = 100) -> Waveform:
    """Read ``text`` with ru_tts (PyPI ``retro-ru-tts``, MIT; 10 kHz)."""
    import retro_ru_tts  # needed only for the evaluation

    pcm = retro_ru_tts.synthesize(
        text,
        speech_rate=rate,
        voice_pitch=pitch,
        flags=3 | (4 if female else 0),
        play=False,
        normalize=False,  # its normaliser mishandles «про»; our texts contain only words
    )
    return to_16k(np.frombuffer(pcm, np.int8).astype(np.float32) / np.float32(128), 10_000)


def to_16k(audio: Waveform, rate: float) -> Waveform:
    """Resample to 16 kHz and scale the peak to 0.5."""
    resampled: Waveform = soxr.resample(audio, rate, SAMPLE_RATE, quality="MQ").astype(np.float32)
    peak = float(np.abs(resampled).max()) if resampled.size else 0.0
    return resampled * np.float32(0.5 / peak) if peak > 0 else resampled
