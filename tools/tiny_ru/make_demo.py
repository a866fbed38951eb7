"""Make ``fixtures/demo``: short recordings with references that the embedded models never saw.

Real prompts of the announcer whose texts are held out, test sentences read by held-out voices of
espeak-ng, and both voices of ru_tts, an engine that training never heard.
"""

# ruff: noqa: E501 (a recording stands on one line)

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
from evaluate import TestSet, training_overlap
from make_data import ESPEAK_DATA, ESPEAK_LIBRARY
from prompts import load_prompts

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 2026
STEREO_PAUSE_S = 0.3
Source = Literal["prompt", "espeak", "ru_tts"]


@dataclass(frozen=True, slots=True)
class Spoken:
    """One utterance.

    Attributes:
        source: Who speaks.
        voice: Name of the prompt, espeak-ng variant, or «male» or «female» of ru_tts.
        text: Reference in ordinary writing.
        noise_db: Signal-to-noise ratio of added noise, or None.
    """

    source: Source
    voice: str
    text: str
    noise_db: float | None = None


# file name with the format's suffix, sample rate, one utterance a channel
DEMO: tuple[tuple[str, int, tuple[Spoken, ...]], ...] = (
    ("01-letter.wav", 16000, (Spoken("espeak", "f3", "Письмо от клиента пятьдесят пять девяносто четыре."),)),
    ("02-accept.wav", 8000, (Spoken("prompt", "vm-saveoper", "Нажмите один, чтобы принять эту запись. Или просто оставайтесь на линии."),)),
    ("03-weather.flac", 16000, (Spoken("espeak", "m4", "Узнай, какая будет погода в Твери."),)),
    ("04-mistake.ogg", 16000, (Spoken("espeak", "Michael", "Номер абонента введён с ошибкой, повторите ввод.", 25),)),
    ("05-taxi.mp3", 16000, (Spoken("espeak", "anika", "Закажи такси по адресу: улица Кутузова, дом сто восемь, подъезд четыре."),)),
    ("06-blacklist.wav", 8000, (Spoken("prompt", "entr-num-rmv-blklist", "Введите номер, который вы хотите убрать из чёрного списка."),)),
    ("07-forward.flac", 8000, (Spoken("prompt", "vm-toforward", "Нажмите восемь для пересылки этого сообщения другому абоненту."),)),
    ("08-conference.mp3", 16000, (Spoken("prompt", "conf-getconfno", "Введите номер конференции и затем решётку."),)),
    ("09-limit.opus", 16000, (Spoken("prompt", "simul-call-limit-reached", "Достигнуто предельное количество одновременных звонков."),)),
    ("10-alarm.wav", 16000, (Spoken("ru_tts", "male", "Поставь будильник на пятнадцать сорок."),)),
    ("11-connecting.flac", 16000, (Spoken("ru_tts", "female", "Не кладите трубку, идёт соединение."),)),
    ("12-date.ogg", 16000, (Spoken("espeak", "adam", "Девятого января две тысячи одиннадцатого года."),)),
    ("13-name.wav", 8000, (Spoken("espeak", "victor", "Если вы хотите оставить своё имя, нажмите решётку.", 20),)),
    ("14-neighbours.mp3", 16000, (Spoken("espeak", "klatt3", "Вчера вечером соседи долго слушали громкую музыку."),)),
    ("15-price.flac", 16000, (Spoken("espeak", "steph3", "Сколько будет стоить установка в Тюмени?"),)),
    ("16-alone.wav", 16000, (Spoken("prompt", "confbridge-only-one", "В текущий момент в конференции один участник."),)),
    ("17-introduce.wav", 8000, (
        Spoken("prompt", "priv-recordintro", "Пожалуйста, представьтесь."),
        Spoken("espeak", "m4", "Это говорит Иван Алексеевич."),
    )),
    ("18-delivery.flac", 16000, (
        Spoken("espeak", "f3", "Добрый день, служба доставки."),
        Spoken("espeak", "Michael", "Во сколько придёт заказ?"),
    )),
    ("19-channel.ogg", 16000, (
        Spoken("prompt", "conf-getchannel", "Введите номер канала и затем решётку."),
        Spoken("ru_tts", "male", "Семь восемь пять три четыре три ноль."),
    )),
)  # fmt: skip

# libsndfile's names; Opus is OGG too
FORMATS = {
    ".wav": ("WAV", "PCM_16"),
    ".flac": ("FLAC", "PCM_16"),
    ".ogg": ("OGG", "VORBIS"),
    ".opus": ("OGG", "OPUS"),
    ".mp3": ("MP3", "MPEG_LAYER_III"),
}


def speak(spoken: Spoken, engine: voices.Espeak, rng: np.random.Generator) -> NDArray[np.float32]:
    """The utterance at 16 kHz with a little silence around it."""
    if spoken.source == "espeak":
        if spoken.voice not in voices.TEST_VARIANTS:
            raise ValueError(f"{spoken.voice} is not a held-out voice")
        audio = engine.say(spoken.text, spoken.voice, rate=150)
    elif spoken.source == "ru_tts":
        audio = voices.ru_tts(spoken.text, female=spoken.voice == "female")
    else:
        (prompt,) = [p for p in load_prompts() if p.name == spoken.voice and p.part == "test"]
        audio = prompt.audio()
    audio = np.pad(audio, int(0.15 * voices.SAMPLE_RATE))
    return audio if spoken.noise_db is None else add_noise(audio, rng, spoken.noise_db)


def main() -> None:
    """Write recordings and manifest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--build", type=Path, default=Path("build/tiny_ru"))
    parser.add_argument("--output", type=Path, default=Path("fixtures/demo"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    engine = voices.Espeak(ESPEAK_LIBRARY, ESPEAK_DATA, arguments.build)
    rng = np.random.default_rng(SEED)
    rows: list[tuple[str, str, str]] = []
    heard = TestSet(
        "demo", [(np.zeros(0, np.float32), s.text) for _, _, all_ in DEMO for s in all_]
    )
    trained = training_overlap([heard], arguments.build / "shards")
    if trained:
        raise ValueError(f"{trained} texts of the demo stand in the training data")
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
