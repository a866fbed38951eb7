"""Real speech from Debian packages: an announcer's telephone prompts and a reader's sentences.

The announcer: packages ``asterisk-core-sounds-ru-wav`` (8 kHz recordings) and
``asterisk-core-sounds-ru`` (their script); provided by Maxim Topal, ivrvoice.ru, CC BY 3.0. The
reader: the recordings in ``festvox-ru`` from which festival's voice is built, BSD-like licence of
Nickolay V. Shmyrev. Whole texts are held out by the hash of their words, so the same text is never
on both sides of the split, but similar prompts may be.

Run as a program, it prints every recording with its part of the split.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import lexicon as lx
import soundfile as sf
import soxr
from grammar import Part, normalize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PROMPTS = Path("/usr/share/asterisk/sounds/ru_RU_f_IvrvoiceRU")
PROMPTS_SCRIPT = Path("/usr/share/doc/asterisk-core-sounds-ru/core-sounds-ru.txt.gz")
READINGS = Path("/usr/share/festival/voices/russian/msu_ru_nsh_clunits")

# Misprints in the scripts, and compounds wrongly written as separate words.
_PROMPT_FIXES = (
    ("октрября", "октября"), ("завршить", "завершить"), ("демонтрационным", "демонстрационным"),
    ("взёздочка", "звёздочка"), ("увеличиения", "увеличения"), ("по-этому", "поэтому"),
    ("И за тем", "И затем"), ("Что бы ", "Чтобы "), ("что бы ", "чтобы "), ("чтобы бы", "чтобы"),
    ("Съерра", "Сьерра"), ("по прежнему", "по-прежнему"),
)  # fmt: skip
_READING_FIXES = (("+", ""), ("'", ""), (" иё,", " её,"))  # a plus marks a stressed vowel
# Spoken Latin letters, names of channel drivers, and entries whose text does not match the audio.
_SKIPPED = re.compile(r"letters/(\w|zed|at|asterisk)$|spy-|silence/|digits/oh|conf-adminmenu$")
_FOREIGN = re.compile(r"[A-Za-z(<>/]|\d\d")


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording of a real voice.

    Attributes:
        name: Its name in the script.
        path: The audio file.
        text: The reference, with case and punctuation, numbers spelled out.
        part: Its part of the split.
    """

    name: str
    path: Path
    text: str
    part: Part

    def audio(self) -> NDArray[np.float32]:
        """The recording at 16 kHz."""
        samples, rate = sf.read(self.path, dtype="float32")
        audio: NDArray[np.float32] = soxr.resample(samples, rate, 16_000).astype("float32")
        return audio


def part_of_recording(text: str, *, test: int = 20, watch: int = 5) -> Part:
    """The part of a text: ``test`` and ``watch`` per cent of all texts, the rest train."""
    bucket = int.from_bytes(hashlib.sha256(normalize(text).encode()).digest()[4:8], "big") % 100
    return "test" if bucket < test else "watch" if bucket < test + watch else "train"


def load_prompts() -> list[Recording]:
    """All usable prompts of the announcer in the script's order: 20 % test, 5 % watch."""
    prompts: list[Recording] = []
    for line in gzip.decompress(PROMPTS_SCRIPT.read_bytes()).decode("utf-8").splitlines():
        name, colon, text = line.partition(":")
        text = re.sub(r"\[.*?\]", "", text).strip(" .…")
        if not colon or line.startswith(";") or _SKIPPED.search(name) or _FOREIGN.search(text):
            continue
        for wrong, right in _PROMPT_FIXES:
            text = text.replace(wrong, right)
        text = re.sub(r"\d", lambda digit: lx.number(int(digit.group())), text)
        path = PROMPTS / f"{name}.wav"
        words = normalize(text)
        if not words or not path.exists():
            continue
        if 3 <= len(words) / sf.info(path).duration <= 26:
            prompts.append(Recording(name, path, text, part_of_recording(words)))
    return prompts


def load_readings() -> list[Recording]:
    """The reader's sentences: 10 % test, 4 % watch."""
    script = (READINGS / "etc" / "txt.done.data").read_text(encoding="utf-8")
    readings: list[Recording] = []
    for name, text in re.findall(r'^\( (\S+) "(.*)" \)$', script, re.MULTILINE):
        for wrong, right in _READING_FIXES:
            text = text.replace(wrong, right)
        part = part_of_recording(text, test=10, watch=4)
        readings.append(Recording(name, READINGS / "wav" / f"{name}.wav", text, part))
    return readings


if __name__ == "__main__":
    for recording in [*load_prompts(), *load_readings()]:
        print(recording.part, recording.name, recording.text, sep="\t")
