"""Make training data: shards of log-mel frames with their texts.

``espeak`` and ``festival`` read sentences of the grammar's training part; ``prompts`` has the
announcer's training prompts, alone and joined; ``spliced`` has sentences made of pieces of them;
``reader`` has stretches of the reader's sentences, and pieces joined together. Every item goes
through ``augment``. No text equals a held-out one; no generated text contains one (of three words
or more), though two short prompts occur inside longer prompts of the announcer. Shards can be added
while training runs. ``watch`` makes small clean sets for validation during training, separate from
those that ``evaluate.py`` uses.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import voices
from augment import augment
from features import check, log_mel
from grammar import GENERAL, MEANINGFUL, Mix, Part, ban, normalize, sentences
from recordings import Recording, load_prompts, load_readings
from splice import Aligner, Piece, Pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

SHARD = 1000  # utterances


class Item(NamedTuple):
    """16 kHz audio and its text."""

    audio: NDArray[np.float32]
    text: str


ESPEAK_LIBRARY = "libespeak-ng.so.1"
ESPEAK_DATA = Path("/usr/lib/x86_64-linux-gnu/espeak-ng-data")


def held_out_texts() -> list[str]:
    """Texts of real recordings that training must not contain."""
    recordings = [*load_prompts(), *load_readings()]
    return [recording.text for recording in recordings if recording.part != "train"]


def of_part(recordings: list[Recording], part: Part) -> list[Recording]:
    """The recordings that belong to a part."""
    return [recording for recording in recordings if recording.part == part]


def training_texts(seed: int, mix: Mix = GENERAL) -> Iterator[str]:
    """Sentences of the training part, with some short ones joined in pairs."""
    rng = random.Random(seed + 7)
    source = sentences(seed, "train", held_out_texts(), mix)
    for sentence in source:
        if len(sentence) < 40 and rng.random() < 0.2:
            yield f"{sentence}. {next(source)}"
        else:
            yield sentence


def espeak_items(seed: int, build: Path, mix: Mix) -> Iterator[Item]:
    """Sentences read by stock and random variants, with random rate, pitch and vocal tract."""
    rng = random.Random(seed)
    generator = np.random.default_rng(seed)
    engine = voices.Espeak(ESPEAK_LIBRARY, ESPEAK_DATA, build)
    for text in training_texts(seed, mix):
        names = voices.TRAIN_VARIANTS if rng.random() < 0.55 else voices.RANDOM_VARIANTS
        audio = engine.say(
            text,
            rng.choice(names),
            rate=rng.randint(115, 215),
            pitch=rng.randint(15, 85),
            pitch_range=rng.randint(15, 90),
            resample=rng.uniform(0.86, 1.16),
        )
        yield Item(augment(audio, generator), text)


def festival_items(seed: int) -> Iterator[Item]:
    """Sentences read by festvox-ru."""
    rng = random.Random(seed)
    generator = np.random.default_rng(seed)
    source = training_texts(seed)
    while True:
        batch = [next(source) for _ in range(25)]
        spoken = voices.festival(batch)
        for text, audio in zip(batch, spoken, strict=True):
            if audio is None:
                continue
            rate = voices.SAMPLE_RATE * rng.uniform(0.86, 1.16)
            yield Item(augment(voices.to_16k(audio, rate), generator), text)


def prompt_items(seed: int) -> Iterator[Item]:
    """The announcer's training prompts: single, several in a row, or sequences of digits."""
    rng = random.Random(seed)
    generator = np.random.default_rng(seed)
    prompts = of_part(load_prompts(), "train")
    audio = {prompt.name: prompt.audio() for prompt in prompts}
    digits = [prompt for prompt in prompts if prompt.name.startswith("digits/")]
    deck: list[int] = []
    while True:
        if not deck:
            deck = rng.sample(range(len(prompts)), len(prompts))
        if rng.random() < 0.15:
            chosen = rng.choices(digits, k=rng.randint(2, 6))
        else:
            chosen = [prompts[deck.pop()]]
            while deck and rng.random() < 0.5 and sum(audio[p.name].size for p in chosen) < 80_000:
                chosen.append(prompts[deck.pop()])
        pieces: list[NDArray[np.float32]] = []
        for prompt in chosen:
            pieces.append(audio[prompt.name])
            pieces.append(np.zeros(int(rng.uniform(0, 0.3) * voices.SAMPLE_RATE), np.float32))
        rate = voices.SAMPLE_RATE * rng.uniform(0.86, 1.16)
        joined = voices.to_16k(np.concatenate(pieces), rate)
        audio_through_all = augment(joined, generator, is_telephone=True)
        yield Item(audio_through_all, " ".join(p.text for p in chosen))


def _together(
    pieces: list[Piece], generator: np.random.Generator, *, is_telephone: bool
) -> NDArray[np.float32]:
    """The pieces joined at one random rate, some with a short pause between."""
    parts: list[NDArray[np.float32]] = []
    for piece in pieces:
        pause_s = generator.choice((0.0, generator.uniform(0.0, 0.25)))
        parts += [piece.audio, np.zeros(int(pause_s * voices.SAMPLE_RATE), np.float32)]
    rate = voices.SAMPLE_RATE * generator.uniform(0.86, 1.16)
    joined = voices.to_16k(np.concatenate(parts), rate)
    return augment(joined, generator, is_telephone=is_telephone)


def _text_of(pieces: list[Piece]) -> str:
    return " ".join(word for piece in pieces for word in piece.words)


def spliced_items(seed: int, model: Path) -> Iterator[Item]:
    """The announcer's words as sentences of the grammar, where they suffice, or at random."""
    rng = random.Random(seed)
    generator = np.random.default_rng(seed)
    pieces = Pieces(of_part(load_prompts(), "train"), Aligner(model), rng)
    mix: Mix = {"menus": 0.7, "numbers": 0.2, "calls": 0.1}
    source = sentences(seed, "train", held_out_texts(), mix)
    is_banned = ban(held_out_texts())
    while True:
        chosen: list[Piece] | None = None
        if rng.random() < 0.6:
            while chosen is None:
                chosen = pieces.sentence(normalize(next(source)))
        else:
            chosen = [pieces.any_piece() for _ in range(rng.randint(1, 4))]
            if is_banned(_text_of(chosen)):
                continue
        yield Item(_together(chosen, generator, is_telephone=True), _text_of(chosen))


def reader_items(seed: int, model: Path) -> Iterator[Item]:
    """Stretches of the reader's sentences, and a few pieces joined together."""
    rng = random.Random(seed)
    generator = np.random.default_rng(seed)
    pieces = Pieces(of_part(load_readings(), "train"), Aligner(model), rng)
    is_banned = ban(held_out_texts())
    while True:
        if rng.random() < 0.8:
            chosen = [pieces.stretch(rng.uniform(3.0, 9.0))]
        else:
            chosen = [pieces.any_piece() for _ in range(rng.randint(2, 4))]
        if is_banned(_text_of(chosen)):
            continue
        yield Item(_together(chosen, generator, is_telephone=False), _text_of(chosen))


def watch_sets(seed: int, build: Path) -> dict[str, list[Item]]:
    """Sentences and prompts of the watch part, by seen and unseen voices."""
    rng = random.Random(seed)
    engine = voices.Espeak(ESPEAK_LIBRARY, ESPEAK_DATA, build)
    source = sentences(seed, "watch", held_out_texts(), dict.fromkeys(MEANINGFUL, 1.0))
    sets: dict[str, list[Item]] = {}
    for name, variants in (("seen", voices.TRAIN_VARIANTS), ("unseen", voices.WATCH_VARIANTS)):
        chosen = [next(source) for _ in range(60)]
        sets[name] = [Item(engine.say(text, rng.choice(variants)), text) for text in chosen]
    for name, recordings in (("prompts", load_prompts()), ("reader", load_readings())):
        sets[name] = [Item(r.audio(), r.text) for r in of_part(recordings, "watch")]
    return sets


def save_shard(path: Path, items: list[Item]) -> float:
    """Write one shard atomically; returns its hours of audio."""
    frames = [log_mel(item.audio) for item in items]
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        np.savez(
            file,
            frames=np.concatenate(frames).astype(np.float16),
            lengths=np.array([len(f) for f in frames], np.int32),
            texts=np.array([normalize(item.text) for item in items]),
        )
    temporary.replace(path)
    return sum(len(f) for f in frames) / 360_000


def main() -> None:
    """Make the shards of one source."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    sources = ("espeak", "festival", "prompts", "spliced", "reader", "watch")
    parser.add_argument("source", choices=sources)
    parser.add_argument("--shards", type=int, default=20, help=f"of {SHARD} utterances each")
    parser.add_argument("--seed", type=int, default=1, help="a different seed adds different data")
    parser.add_argument("--build", type=Path, default=Path("build/tiny_ru"))
    parser.add_argument(
        "--everyday", type=float, default=GENERAL["everyday"], help="weight of everyday sentences"
    )
    parser.add_argument(
        "--model",
        type=Path,
        default=Path("src/stt_ru/models/tiny_ru"),
        help="folder of the model that locates the words of real recordings",
    )
    arguments = parser.parse_args()
    check()
    if arguments.source == "watch":
        folder = arguments.build / "watch"
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in watch_sets(arguments.seed, arguments.build).items():
            save_shard(folder / f"{name}.npz", content)
        return
    folder = arguments.build / "shards"
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.source == "espeak":
        mix: Mix = {**GENERAL, "everyday": arguments.everyday}
        items = espeak_items(arguments.seed, arguments.build, mix)
    elif arguments.source == "festival":
        items = festival_items(arguments.seed)
    elif arguments.source == "prompts":
        items = prompt_items(arguments.seed)
    elif arguments.source == "spliced":
        items = spliced_items(arguments.seed, arguments.model)
    else:
        items = reader_items(arguments.seed, arguments.model)
    started = time.monotonic()
    for i in range(arguments.shards):
        shard = [next(items) for _ in range(SHARD)]
        path = folder / f"{arguments.source}-{arguments.seed}-{i:03}.npz"
        hours = save_shard(path, shard)
        print(f"{path.name}: {hours:.2f} h, {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
