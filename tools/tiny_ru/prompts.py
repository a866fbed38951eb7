"""The real announcer: Debian's Russian telephone prompts, with texts as they are spoken.

Packages ``asterisk-core-sounds-ru-wav`` (8 kHz recordings) and ``asterisk-core-sounds-ru`` (their
script); provided by Maxim Topal, ivrvoice.ru, CC BY 3.0. Whole texts are held out by the hash of
their words, so the same text is never on both sides; similar texts are.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import lexicon as lx
import numpy as np
import soundfile as sf
import soxr
from grammar import Part, normalize

if TYPE_CHECKING:
    from numpy.typing import NDArray

SOUNDS = Path("/usr/share/asterisk/sounds/ru_RU_f_IvrvoiceRU")
SCRIPT = Path("/usr/share/doc/asterisk-core-sounds-ru/core-sounds-ru.txt.gz")

# misprints of the script, and words written apart that sound as one
_FIXES = (
    ("октрября", "октября"), ("завршить", "завершить"), ("демонтрационным", "демонстрационным"),
    ("взёздочка", "звёздочка"), ("увеличиения", "увеличения"), ("по-этому", "поэтому"),
    ("И за тем", "И затем"), ("Что бы ", "Чтобы "), ("что бы ", "чтобы "), ("чтобы бы", "чтобы"),
    ("Съерра", "Сьерра"), ("по прежнему", "по-прежнему"),
)  # fmt: skip
# spoken Latin letters, names of channel drivers, and entries whose text is not what is heard
_SKIPPED = re.compile(r"letters/(\w|zed|at|asterisk)$|spy-|silence/|digits/oh|conf-adminmenu$")
_FOREIGN = re.compile(r"[A-Za-z(<>/]|\d\d")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One recording of the announcer.

    Attributes:
        name: Path without suffix, relative to the folder of sounds.
        text: What is said, cased and punctuated, figures in words.
        part: The part its words belong to.
    """

    name: str
    text: str
    part: Part

    def audio(self, sounds: Path = SOUNDS) -> NDArray[np.float32]:
        """The recording at 16 kHz."""
        samples, rate = sf.read(sounds / f"{self.name}.wav", dtype="float32")
        audio: NDArray[np.float32] = soxr.resample(samples, rate, 16_000).astype(np.float32)
        return audio


def part_of_prompt(text: str) -> Part:
    """20 % of the texts test, 5 % watch, the rest train."""
    bucket = int.from_bytes(hashlib.sha256(normalize(text).encode()).digest()[4:8], "big") % 100
    return "test" if bucket < 20 else "watch" if bucket < 25 else "train"


def load_prompts(sounds: Path = SOUNDS, script: Path = SCRIPT) -> list[Prompt]:
    """All usable prompts in the script's order."""
    prompts: list[Prompt] = []
    for line in gzip.decompress(script.read_bytes()).decode("utf-8").splitlines():
        name, colon, text = line.partition(":")
        text = re.sub(r"\[.*?\]", "", text).strip(" .…")
        if not colon or line.startswith(";") or _SKIPPED.search(name) or _FOREIGN.search(text):
            continue
        for wrong, right in _FIXES:
            text = text.replace(wrong, right)
        text = re.sub(r"\d", lambda digit: lx.number(int(digit.group())), text)
        path = sounds / f"{name}.wav"
        words = normalize(text)
        if not words or not path.exists():
            continue
        if 3 <= len(words) / sf.info(path).duration <= 26:
            prompts.append(Prompt(name, text, part_of_prompt(words)))
    return prompts


if __name__ == "__main__":
    for prompt in load_prompts():
        print(prompt.part, prompt.name, prompt.text, sep="\t")
