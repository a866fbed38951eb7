"""Make ``fixtures/demo``: short recordings with references the embedded models have never seen.

They are real prompts of the announcer with held-out texts, and test sentences of the grammar read
by held-out espeak-ng voices.
"""

# ruff: noqa: E501 (one recording per line)

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import soundfile as sf
import soxr
import voices
from augment import add_noise
from grammar import part_of
from make_data import ESPEAK_DATA, ESPEAK_LIBRARY
from recordings import load_prompts

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 2026
STEREO_PAUSE_S = 0.3
Source = Literal["prompt", "espeak"]


@dataclass(frozen=True, slots=True)
class Spoken:
    """One utterance.

    Attributes:
        source: The speaker.
        voice: Name of the prompt or of the espeak-ng variant.
        text: The reference in ordinary spelling.
        noise_db: Signal-to-noise ratio of the added noise, dB; None for no noise.
    """

    source: Source
    voice: str
    text: str
    noise_db: float | None = None


# File name with the format's suffix, sampling rate in Hz, one utterance per channel.
DEMO: tuple[tuple[str, int, tuple[Spoken, ...]], ...] = (
    ("01-letter.wav", 16000, (Spoken("espeak", "f3", "Письмо от клиента пятьдесят пять девяносто четыре."),)),
    ("02-accept.wav", 8000, (Spoken("prompt", "vm-saveoper", "Нажмите один, чтобы принять эту запись. Или просто оставайтесь на линии."),)),
    ("03-weather.flac", 16000, (Spoken("espeak", "m4", "Узнай, какая будет погода в Твери."),)),
    ("04-mistake.ogg", 16000, (Spoken("espeak", "Michael", "Номер абонента введён с ошибкой, повторите ввод.", 25),)),
    ("05-taxi.mp3", 16000, (Spoken("espeak", "anika", "Закажи такси по адресу: улица Кутузова, дом сто восемь, подъезд четыре."),)),
    ("06-blacklist.wav", 8000, (Spoken("prompt", "entr-num-rmv-blklist", "Введите номер, который вы хотите убрать из чёрного списка."),)),
    ("07-cancel.flac", 8000, (Spoken("prompt", "vm-star-cancel", "Нажмите клавишу «звёздочка» для отмены."),)),
    ("08-conference.mp3", 16000, (Spoken("prompt", "conf-getconfno", "Введите номер конференции и затем решётку."),)),
    ("09-leader.opus", 16000, (Spoken("prompt", "confbridge-begin-leader", "Конференция начнётся, когда подключится руководитель."),)),
    ("10-reminder.wav", 16000, (Spoken("espeak", "m4", "Напомни мне в четырнадцать часов пять минут про бутылки."),)),
    ("11-messages.flac", 16000, (Spoken("espeak", "f3", "Получено восемь голосовых сообщений."),)),
    ("12-date.ogg", 16000, (Spoken("espeak", "adam", "Девятого января две тысячи одиннадцатого года."),)),
    ("13-name.wav", 8000, (Spoken("espeak", "victor", "Если вы хотите оставить своё имя, нажмите решётку.", 20),)),
    ("14-list.mp3", 16000, (Spoken("espeak", "klatt3", "Пожалуйста, нажмите клавишу шесть для прослушивания списка."),)),
    ("15-price.flac", 16000, (Spoken("espeak", "steph3", "Сколько будет стоить установка в Тюмени?"),)),
    ("16-alone.wav", 16000, (Spoken("prompt", "confbridge-only-one", "В текущий момент в конференции один участник."),)),
    ("17-wrong-number.wav", 8000, (
        Spoken("prompt", "privacy-incorrect", "Извините, это неверный номер."),
        Spoken("espeak", "victor", "Добрый вечер, я вас слушаю."),
    )),
    ("18-delivery.flac", 16000, (
        Spoken("espeak", "steph3", "Добрый день, служба доставки."),
        Spoken("espeak", "m4", "Во сколько придёт заказ?"),
    )),
    ("19-digits.ogg", 16000, (
        Spoken("prompt", "astcc-followed-by-the-pound-key", "Затем нажмите решётку."),
        Spoken("espeak", "adam", "Вы ввели два четыре восемь два два шесть."),
    )),
)  # fmt: skip

# libsndfile's names; Opus is also in an OGG container.
FORMATS = {
    ".wav": ("WAV", "PCM_16"),
    ".flac": ("FLAC", "PCM_16"),
    ".ogg": ("OGG", "VORBIS"),
    ".opus": ("OGG", "OPUS"),
    ".mp3": ("MP3", "MPEG_LAYER_III"),
}


def speak(spoken: Spoken, engine: voices.Espeak, rng: np.random.Generator) -> NDArray[np.float32]:
    """The utterance at 16 kHz with short silence around it."""
    if spoken.source == "espeak":
        if spoken.voice not in voices.TEST_VARIANTS:
            raise ValueError(f"{spoken.voice} is not a held-out voice")
        audio = engine.say(spoken.text, spoken.voice, rate=150)
    else:
        (prompt,) = [p for p in load_prompts() if p.name == spoken.voice and p.part == "test"]
        audio = prompt.audio()
    audio = np.pad(audio, int(0.15 * voices.SAMPLE_RATE))
    return audio if spoken.noise_db is None else add_noise(audio, rng, spoken.noise_db)


def main() -> None:
    """Write the recordings and the manifest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--build", type=Path, default=Path("build/tiny_ru"))
    parser.add_argument("--output", type=Path, default=Path("fixtures/demo"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    engine = voices.Espeak(ESPEAK_LIBRARY, ESPEAK_DATA, arguments.build)
    rng = np.random.default_rng(SEED)
    rows: list[tuple[str, str, str]] = []
    prompts = {s.text for _, _, channels in DEMO for s in channels if s.source == "prompt"}
    for text in (spoken.text for _, _, channels in DEMO for spoken in channels):
        if text not in prompts and part_of(text) != "test":
            raise ValueError(f"{text!r} may be in the training data")
    for name, rate, utterances in DEMO:
        pieces = [speak(spoken, engine, rng) for spoken in utterances]
        pause = int(STEREO_PAUSE_S * voices.SAMPLE_RATE)
        total = sum(map(len, pieces)) + pause * (len(pieces) - 1)
        channels = np.zeros((len(pieces), total), np.float32)
        start = 0
        for channel, (piece, spoken) in enumerate(zip(pieces, utterances, strict=True)):
            channels[channel, start : start + len(piece)] = piece
            start += len(piece) + pause
            rows.append((name, spoken.text, str(channel) if len(pieces) > 1 else ""))
        samples = soxr.resample(channels.T, voices.SAMPLE_RATE, rate)
        path = arguments.output / name
        kind, subtype = FORMATS[path.suffix]
        sf.write(path, np.clip(samples, -1, 1), rate, format=kind, subtype=subtype)
    with (arguments.output / "eval.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("audio", "text", "channel"))
        writer.writerows(rows)
    size = sum(path.stat().st_size for path in arguments.output.iterdir())
    print(f"{len(DEMO)} recordings, {len(rows)} rows, {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
