"""Measure the embedded models on data they were not trained on.

Every set is generated from fixed seeds: sentences of the grammar's test part, real recordings of
the test part, sixty sentences written by hand. Rates are over all words of a set; the interval is
the 95 % percentile bootstrap over utterances. The validation sets of ``train.py`` are different.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx_asr
import soundfile as sf
import soxr
import voices
from grammar import MEANINGFUL, Domain, normalize, sentences
from make_data import ESPEAK_DATA, ESPEAK_LIBRARY, held_out_texts
from numpy.typing import NDArray
from recordings import load_prompts, load_readings, part_of_recording
from scoring import character_errors, word_errors

SEED = 2026
RESAMPLES = 2000
TELEPHONE_DOMAINS = MEANINGFUL[:4]
Waveform = NDArray[np.float32]
Recognize = Callable[[Waveform], str]


@dataclass(frozen=True, slots=True)
class TestSet:
    """Utterances reported in one row.

    Attributes:
        title: Name of the row.
        items: Audio at 16 kHz and the reference.
    """

    title: str
    items: list[tuple[Waveform, str]]


def rate_with_interval(counts: list[tuple[int, int]]) -> tuple[float, float, float]:
    """Error rate of (errors, length) pairs, per cent, and its 95 % bootstrap interval."""
    table = np.array(counts)
    draws = np.random.default_rng(SEED).integers(0, len(table), (RESAMPLES, len(table)))
    sums = table[draws].sum(axis=1)
    low, high = np.quantile(100 * sums[:, 0] / sums[:, 1], [0.025, 0.975])
    return 100 * table[:, 0].sum() / table[:, 1].sum(), float(low), float(high)


def grammar_texts(count: int, seed: int, *domains: Domain) -> list[str]:
    """Test sentences of some domains, in equal shares."""
    source = sentences(seed, "test", held_out_texts(), dict.fromkeys(domains, 1.0))
    return [next(source) for _ in range(count)]


def synthetic_sets(build: Path, free_text: Path, count: int) -> Iterable[TestSet]:
    """All sets read by synthesizers."""
    rng = random.Random(SEED)
    engine = voices.Espeak(ESPEAK_LIBRARY, ESPEAK_DATA, build)

    def read(texts: list[str], variants: list[str]) -> list[tuple[Waveform, str]]:
        return [
            (
                engine.say(
                    t, rng.choice(variants), rate=rng.randint(130, 190), pitch=rng.randint(30, 70)
                ),
                t,
            )
            for t in texts
        ]

    for title, variants in (("seen", voices.TRAIN_VARIANTS), ("unseen", voices.TEST_VARIANTS)):
        by_domain = {
            domain: read(grammar_texts(count // 5, 101 + (title == "unseen"), domain), variants)
            for domain in MEANINGFUL
        }
        spoken = [item for items in by_domain.values() for item in items]
        yield TestSet(f"grammar, {title} espeak voices", spoken)
        yield from (TestSet(f"- {domain}", items) for domain, items in by_domain.items())
    texts = grammar_texts(count // 5, 103, "combinations")
    yield TestSet("senseless combinations, seen voices", read(texts, voices.TRAIN_VARIANTS))
    texts = grammar_texts(count // 3, 106, *TELEPHONE_DOMAINS)
    yield TestSet("telephone, festival (seen)", festival_items(texts))
    texts = grammar_texts(count // 3, 107, *TELEPHONE_DOMAINS)
    yield TestSet("telephone, ru_tts (another engine)", ru_tts_items(texts))
    everyday = free_text.read_text(encoding="utf-8").split("\n")[:-1]
    yield TestSet("free text, unseen espeak voices", read(everyday, voices.TEST_VARIANTS))
    yield TestSet("free text, festival (seen)", festival_items(everyday))
    yield TestSet("free text, ru_tts", ru_tts_items(everyday))


def ru_tts_items(texts: list[str]) -> list[tuple[Waveform, str]]:
    """Texts read by both voices of ru_tts in turn."""
    return [(voices.ru_tts(text, female=i % 2 == 1), text) for i, text in enumerate(texts)]


def festival_items(texts: list[str]) -> list[tuple[Waveform, str]]:
    """The texts that festival's voice can read, with its audio."""
    spoken = zip(voices.festival(texts), texts, strict=True)
    return [(audio, text) for audio, text in spoken if audio is not None]


def save_sets(sets: Iterable[TestSet], folder: Path) -> None:
    """Save the synthesised speech, one file per set, so that it is made only once."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, test in enumerate(sets):
        audio = np.concatenate([waveform for waveform, _ in test.items])
        np.savez(
            folder / f"{i:02}.npz",
            title=test.title,
            audio=np.round(audio * 32767).astype(np.int16),
            lengths=[waveform.size for waveform, _ in test.items],
            texts=[text for _, text in test.items],
        )


def load_sets(folder: Path) -> list[TestSet]:
    """What ``save_sets`` kept."""
    sets = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as data:
            audio = data["audio"].astype(np.float32) / np.float32(32767)
            waveforms = np.split(audio, np.cumsum(data["lengths"])[:-1])
            items = list(zip(waveforms, data["texts"].tolist(), strict=True))
            sets.append(TestSet(str(data["title"]), items))
    return sets


def real_sets() -> Iterable[TestSet]:
    """What is held out of the announcer, all and three words or more, and of the reader."""
    held = [prompt for prompt in load_prompts() if prompt.part == "test"]
    items = [(prompt.audio(), prompt.text) for prompt in held]
    yield TestSet("announcer, held-out prompts", items)
    longer = [item for item in items if len(item[1].split()) >= 3]
    yield TestSet("announcer, held-out, 3+ words", longer)
    readings = [reading for reading in load_readings() if reading.part == "test"]
    yield TestSet("reader, held-out sentences", [(r.audio(), r.text) for r in readings])


def manifest_set(title: str, manifest: Path, *, held_out_only: bool = False) -> TestSet:
    """Recordings of a JSON Lines manifest with ``audio`` and ``text``.

    Args:
        title: Name of the row.
        manifest: Audio paths are relative to it.
        held_out_only: Keep only texts not among the training prompts; texts with digits or Latin
            letters are also dropped, since the reference does not tell how they are read.
    """
    items = []
    trained = {normalize(p.text) for p in load_prompts() if p.part == "train"}
    for line in manifest.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text = row["text"]
        if held_out_only:
            foreign = any(c.isdigit() or (c.isascii() and c.isalpha()) for c in text)
            if foreign or normalize(text) in trained or part_of_recording(text) != "test":
                continue
        audio, rate = sf.read(manifest.parent / row["audio"], dtype="float32")
        items.append((soxr.resample(audio, rate, voices.SAMPLE_RATE).astype(np.float32), text))
    return TestSet(title, items)


def training_overlap(sets: Iterable[TestSet], shards: Path) -> int:
    """The number of test texts found in the training shards; should be 0."""
    trained: set[str] = set()
    for path in shards.glob("*.npz"):
        with np.load(path) as data:
            trained.update(data["texts"].tolist())
    return sum(normalize(text) in trained for test in sets for _, text in test.items)


def offline(folder: Path) -> tuple[Any, Recognize]:
    """An onnx-asr model and a function that recognises one waveform."""
    model = onnx_asr.load_model("nemo-conformer-ctc", folder, providers=["CPUExecutionProvider"])
    return model, lambda audio: str(model.recognize(audio, sample_rate=voices.SAMPLE_RATE))


def streaming(folder: Path, chunk_ms: int) -> Recognize:
    """Recognition of one waveform that arrives in chunks."""
    from stt_ru.streaming.engines.tiny_ru_stream import TinyRuStreamDecoder  # needs the package

    decoder = TinyRuStreamDecoder(folder)

    def recognize(audio: Waveform) -> str:
        decoder.reset()
        size = voices.SAMPLE_RATE * chunk_ms // 1000
        for start in range(0, len(audio), size):
            decoder.feed(audio[start : start + size])
        return decoder.finish()

    return recognize


def measure(sets: list[TestSet], recognize: Recognize, title: str) -> list[dict[str, Any]]:
    """Print the table of one model; returns its rows."""
    print(f"\n{title}\n{'set':36}{'n':>5}{'words':>7}   {'WER, %':22}{'CER, %':22}")
    rows = []
    for test in sets:
        started = time.perf_counter()
        pairs = [(normalize(text), normalize(recognize(audio))) for audio, text in test.items]
        seconds = time.perf_counter() - started
        wer = rate_with_interval([word_errors(*pair) for pair in pairs])
        cer = rate_with_interval([character_errors(*pair) for pair in pairs])
        words = sum(len(reference.split()) for reference, _ in pairs)
        audio_s = sum(audio.size for audio, _ in test.items) / voices.SAMPLE_RATE
        shown = [f"{value:.1f} [{low:.1f}, {high:.1f}]" for value, low, high in (wer, cer)]
        print(f"{test.title:36}{len(pairs):5}{words:7}   {shown[0]:22}{shown[1]:22}", flush=True)
        rows.append(
            {"set": test.title, "n": len(pairs), "words": words, "wer": wer, "cer": cer,
             "audio_s": audio_s, "seconds": seconds, "pairs": pairs}
        )  # fmt: skip
    total = sum(row["audio_s"] for row in rows) / sum(row["seconds"] for row in rows)
    print(f"{total:.0f} times faster than real time, features included")
    return rows


def batch_agrees(sets: list[TestSet], model: Any, recognize: Recognize, size: int = 8) -> str:
    """A sentence on how many utterances give the same text in batches and one by one."""
    same = total = 0
    for test in sets:
        for start in range(0, min(len(test.items), 64), size):
            batch = [audio for audio, _ in test.items[start : start + size]]
            together = model.recognize(batch, sample_rate=voices.SAMPLE_RATE)
            same += sum(a == recognize(b) for a, b in zip(together, batch, strict=True))
            total += len(batch)
    return f"batches of {size} agree with single runs in {same} of {total} utterances"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    here = Path(__file__).parent
    parser.add_argument("--build", type=Path, default=Path("build/tiny_ru"))
    parser.add_argument("--model", type=Path, help="folder of tiny-ru as shipped")
    parser.add_argument("--float-model", type=Path, help="folder of the model before quantisation")
    parser.add_argument("--stream-model", type=Path, help="folder of tiny-ru-stream")
    parser.add_argument("--chunks", type=int, nargs="*", default=[80, 240, 640], help="ms")
    parser.add_argument("--check-overlap", action="store_true", help="look for texts in the shards")
    parser.add_argument("--golos", type=Path, help="manifest.jsonl of voice-assistant requests")
    parser.add_argument(
        "--prompts", type=Path, help="manifest.jsonl of the script read by another voice"
    )
    parser.add_argument("--free-text", type=Path, default=here / "free_text.txt")
    parser.add_argument("--count", type=int, default=250, help="sentences in the larger sets")
    parser.add_argument("--output", type=Path, help="JSON file for the rows with all texts")
    arguments = parser.parse_args()

    folder = arguments.build / f"test-{arguments.count}"
    if not folder.exists():
        making = folder.with_suffix(".tmp")
        save_sets(synthetic_sets(arguments.build, arguments.free_text, arguments.count), making)
        making.rename(folder)
    sets = [*load_sets(folder), *real_sets()]
    if arguments.golos:
        sets.append(manifest_set("voice-assistant requests (real)", arguments.golos))
    if arguments.prompts:
        title = "prompts, another recording, held out"
        sets.append(manifest_set(title, arguments.prompts, held_out_only=True))
    if arguments.check_overlap:
        overlap = training_overlap(sets, arguments.build / "shards")
        total = sum(len(test.items) for test in sets)
        print(f"{overlap} of {total} test texts stand in the training shards")

    tables: dict[str, Any] = {}
    if arguments.model:
        model, recognize = offline(arguments.model)
        tables["int8"] = measure(sets, recognize, "tiny-ru, int8")
        print(batch_agrees(sets, model, recognize))
    if arguments.float_model:
        tables["float"] = measure(
            sets, offline(arguments.float_model)[1], "tiny-ru, before quantisation"
        )
    if arguments.stream_model:
        for chunk_ms in arguments.chunks:
            title = f"tiny-ru-stream, chunks of {chunk_ms} ms"
            tables[title] = measure(sets, streaming(arguments.stream_model, chunk_ms), title)
    if arguments.output:
        arguments.output.write_text(
            json.dumps(tables, ensure_ascii=False, indent=1), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
