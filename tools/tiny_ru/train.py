"""Train a network within a time budget.

The learning rate follows the clock: flat, then decaying to zero when the time is up, so every run
ends annealed; weights are averaged along the way (EMA). New shards are picked up during the run. A
checkpoint is saved every few minutes; ``--resume`` continues from it, including the time spent.

On a shared machine, two single-threaded workers make more progress than one with two threads, which
wait for each other at every product. Start two with ``--worker 0`` and ``--worker 1``: every 20
steps each moves halfway to the other's last published weights. Worker 0 saves the checkpoint.
"""

from __future__ import annotations

import argparse
import math
import queue
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from features import normalize
from model import BLANK, ROW_FRAMES, TINY_RU, TINY_RU_STREAM, Batch, Network, encode, greedy, pack
from numpy.typing import NDArray
from running_norm import running_normalize
from scoring import word_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

Frames = NDArray[np.float32]

# The share of each source in the utterances of a batch.
SOURCES = {"espeak": 0.68, "festival": 0.04, "prompts": 0.09, "spliced": 0.08, "reader": 0.11}
BATCH_FRAMES = 3200  # 32 s
EMA_DECAY = 0.999
MEETING_STEPS = 20
TRUNK_WEIGHT = 0.5  # weight of the trunk's loss relative to the last head's
RUNNING_SHARE = (
    0.4  # share of utterances normalised as a stream, so that the trunk fits both models
)
HIDING = 0.4  # share of espeak utterances with masking, which the small real sets always have
RESCAN_S = 60.0
NEW_BLOCK_SCALE = 0.1  # of a residual block added to a trained network: nearly zero at first


@dataclass
class Pool:
    """Utterances of one source, drawn without repetition until all have been used."""

    shards: list[NDArray[np.float16]] = field(default_factory=list)
    items: list[tuple[int, int, int, str]] = field(default_factory=list)  # shard, start, stop, text
    deck: list[int] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Read a shard."""
        with np.load(path) as data:
            frames, lengths, texts = data["frames"], data["lengths"].tolist(), data["texts"]
        stops = np.cumsum(lengths).tolist()
        for stop, length, text in zip(stops, lengths, texts.tolist(), strict=True):
            if len(text) <= length // 4 and length < 2000:
                self.items.append((len(self.shards), stop - length, stop, text))
        self.shards.append(frames)

    def draw(self, rng: np.random.Generator) -> tuple[Frames, str]:
        """The next utterance of a shuffled deck."""
        if not self.deck:
            self.deck = rng.permutation(len(self.items)).tolist()
        shard, start, stop, text = self.items[self.deck.pop()]
        return self.shards[shard][start:stop].astype(np.float32), text


def trim(frames: Frames, rng: np.random.Generator) -> Frames:
    """Trim the silence of some beginnings and ends to 10–50 and 30–110 ms.

    Recordings to be recognised are often tightly cut; their normalisation then sees no silence.
    """
    level = frames.mean(axis=1)
    quiet, loud = np.quantile(level, (0.05, 0.9))
    speech = np.flatnonzero(level >= quiet + 0.25 * (loud - quiet))
    start = max(0, int(speech[0]) - int(rng.integers(1, 6))) if rng.random() < 0.6 else 0
    stop = int(speech[-1]) + int(rng.integers(3, 12)) if rng.random() < 0.6 else len(frames)
    return frames[start:stop]


def distort(frames: Frames, rng: np.random.Generator) -> Frames:
    """Random tempo, vocal tract and background noise, on log-mel frames."""
    if rng.random() < 0.3:
        length = max(8, int(len(frames) * rng.uniform(0.9, 1.12)))
        frames = _interpolate(frames, np.linspace(0, len(frames) - 1, length))
    if rng.random() < 0.4:
        bands = frames.shape[1]
        warped = np.clip(np.arange(bands) * rng.uniform(0.92, 1.08), 0, bands - 1)
        frames = _interpolate(frames.T, warped).T
    if rng.random() < 0.25:
        loud = np.quantile(frames.mean(axis=1), 0.9)
        tilt = np.interp(np.arange(frames.shape[1]), [0, 26, 53, 79], rng.normal(0, 1.5, 4))
        level = loud - rng.uniform(1.5, 9.0) + tilt
        noise = level + rng.normal(0, 0.5, frames.shape)
        frames = np.logaddexp(frames, noise.astype(np.float32))
    return frames


def _interpolate(rows: Frames, places: NDArray[np.float64]) -> Frames:
    low = np.minimum(places.astype(np.int64), len(rows) - 2)
    part = (places - low).astype(np.float32)[:, None]
    return rows[low] * (1 - part) + rows[low + 1] * part


def hide(frames: Frames, rng: np.random.Generator) -> Frames:
    """SpecAugment (Park et al., 2019): zero a few bands and stretches of normalised frames."""
    frames = frames.copy()
    for _ in range(2):
        width = rng.integers(0, 10)
        start = rng.integers(0, frames.shape[1] - width)
        frames[:, start : start + width] = 0
    for _ in range(1 + len(frames) // 250):
        width = int(rng.integers(0, min(16, len(frames) // 10) + 1))
        start = rng.integers(0, len(frames) - width)
        frames[start : start + width] = 0
    return frames


class Feeder(threading.Thread):
    """Makes batches ahead of the trainer and looks for new shards."""

    def __init__(self, folder: Path, seed: int, *, streaming: bool) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        self.rng = np.random.default_rng(seed)
        self.running_share = 1.0 if streaming else RUNNING_SHARE
        self.pools = {source: Pool() for source in SOURCES}
        self.known: set[Path] = set()
        self.batches: queue.Queue[tuple[Batch, list[str]] | Exception] = queue.Queue(maxsize=6)
        self.scan()

    def scan(self) -> None:
        """Read the shards that are new."""
        for path in sorted(self.folder.glob("*.npz")):
            if path not in self.known:
                self.known.add(path)
                self.pools[path.name.split("-")[0]].add(path)

    def run(self) -> None:
        """Fill the queue; an exception is passed to the trainer."""
        scanned = time.monotonic()
        try:
            while True:
                if time.monotonic() - scanned > RESCAN_S:
                    self.scan()
                    scanned = time.monotonic()
                self.batches.put(self.batch())
        except Exception as error:  # noqa: BLE001 (passed on: no thread dies silently)
            self.batches.put(error)

    def batch(self) -> tuple[Batch, list[str]]:
        """About 32 s of utterances."""
        sources = [source for source, pool in self.pools.items() if pool.items]
        weights = np.array([SOURCES[source] for source in sources])
        recordings: list[Frames] = []
        texts: list[str] = []
        while sum(map(len, recordings)) < BATCH_FRAMES:
            source = self.rng.choice(sources, p=weights / weights.sum())
            frames, text = self.pools[source].draw(self.rng)
            frames = distort(trim(frames, self.rng), self.rng)
            if len(frames) // 4 < len(text) + 2:
                continue
            norm = running_normalize if self.rng.random() < self.running_share else normalize
            frames = norm(frames)
            if source != "espeak" or self.rng.random() < HIDING:
                frames = hide(frames, self.rng)
            recordings.append(frames)
            texts.append(text)
        return pack(recordings), texts

    def __iter__(self) -> Iterator[tuple[Batch, list[str]]]:
        """Endless batches."""
        while True:
            item = self.batches.get()
            if isinstance(item, Exception):
                raise item
            yield item


def ctc_loss(log_probs: torch.Tensor, steps: torch.Tensor, texts: list[str]) -> torch.Tensor:
    """Negative log-likelihood of the texts, per letter."""
    encoded = [encode(text) for text in texts]
    targets = torch.tensor([token for text in encoded for token in text])
    lengths = torch.tensor([len(text) for text in encoded])
    loss = F.ctc_loss(
        log_probs, targets, steps, lengths, blank=BLANK, reduction="none", zero_infinity=True
    )
    return loss.sum() / lengths.sum()


def watch(network: Network, folder: Path, *, streaming: bool) -> str:
    """WER of the validation sets, which no published figure uses."""
    norm = running_normalize if streaming else normalize
    network.eval()
    words: list[str] = []
    for path in sorted(folder.glob("*.npz")):
        pool = Pool()
        pool.add(path)
        pairs: list[tuple[str, str]] = []
        for shard, start, stop, text in pool.items:
            batch = pack([norm(pool.shards[shard][start:stop].astype(np.float32))])
            with torch.no_grad():
                pairs.append((text, greedy(network(batch)[0][:, 0].numpy())))
        errors, total = map(sum, zip(*(word_errors(r, h) for r, h in pairs), strict=True))
        words.append(f"{path.stem.split('-')[0]} {100 * errors / total:.1f}")
    network.train()
    return ", ".join(words)


class Peer:
    """The other worker's weights, in a file that both map into memory.

    A read may coincide with a write: it then mixes two states a few steps apart, which is harmless.
    """

    def __init__(self, folder: Path, name: str, worker: int, network: Network) -> None:
        self.values = [v for v in network.state_dict().values() if v.is_floating_point()]
        size = sum(value.numel() for value in self.values)
        self.own = self._map(folder / f"{name}-worker{worker}.bin", size, fresh=True)
        self.other = self._map(folder / f"{name}-worker{1 - worker}.bin", size, fresh=False)

    @staticmethod
    def _map(path: Path, size: int, *, fresh: bool) -> NDArray[np.float32]:
        if fresh or not path.exists() or path.stat().st_size != 4 * size:
            np.full(size, np.nan, np.float32).tofile(path)
        return np.memmap(path, np.float32, "r+", shape=(size,))

    def meet(self) -> None:
        """Publish our weights, then move halfway to the other worker's."""
        mine = torch.cat([value.flatten() for value in self.values])
        self.own[:] = mine.numpy()
        theirs = torch.from_numpy(np.array(self.other))
        if theirs.isfinite().all():
            for value, new in zip(
                self.values, theirs.split([v.numel() for v in self.values]), strict=True
            ):
                value.lerp_(new.view_as(value), 0.5)


def learning_rate(progress: float, peak: float) -> float:
    """Warm-up over 1 % of the run, flat to 35 %, then a cosine to zero."""
    if progress < 0.01:
        return peak * max(progress, 0.0005) / 0.01
    if progress < 0.35:
        return peak
    return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, (progress - 0.35) / 0.65)))


def update_average(average: Network, network: Network, decay: float) -> None:
    """One step of the exponential moving average, including the running statistics."""
    with torch.no_grad():
        for mean, value in zip(
            average.state_dict().values(), network.state_dict().values(), strict=True
        ):
            if mean.is_floating_point():
                mean.lerp_(value, 1 - decay)


def save(path: Path, **content: object) -> None:
    """Write a checkpoint atomically."""
    temporary = path.with_suffix(".tmp")
    torch.save(content, temporary)
    temporary.replace(path)


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("model", choices=("tiny-ru", "tiny-ru-stream"))
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--build", type=Path, default=Path("build/tiny_ru"))
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--init", type=Path, help="checkpoint to take averaged weights from")
    parser.add_argument("--checkpoint", type=Path, help="default: the model's name in the build")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--worker", type=int, choices=(0, 1), help="one of two, see above")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--watch-minutes", type=float, default=6.0, help="between validations")
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    streaming = arguments.model == "tiny-ru-stream"
    network = Network(TINY_RU_STREAM if streaming else TINY_RU)
    average = Network(network.config)
    optimizer = torch.optim.AdamW(
        network.parameters(), betas=(0.9, 0.98), weight_decay=0.01, fused=True
    )
    checkpoint = arguments.checkpoint or arguments.build / f"{arguments.model}.pt"
    spent_s, step, heard_s = 0.0, 0, 0.0
    if arguments.resume:
        state = torch.load(checkpoint, weights_only=True)
        network.load_state_dict(state["network"])
        average.load_state_dict(state["average"])
        optimizer.load_state_dict(state["optimizer"])
        spent_s, step, heard_s = state["spent_s"], state["step"], state["heard_s"]
    elif arguments.init:
        # strict=False: the streaming network has no top, and a top may have more blocks than before
        missing = network.load_state_dict(
            torch.load(arguments.init, weights_only=True)["average"], strict=False
        ).missing_keys
        print(f"starts with {', '.join(missing) or 'nothing'} untrained")
        with torch.no_grad():
            for name, value in network.named_parameters():
                if name in missing and name.endswith("norm.weight"):
                    value.fill_(NEW_BLOCK_SCALE)
        average.load_state_dict(network.state_dict())
    parameters = sum(p.numel() for p in network.parameters())
    peer = None
    if arguments.worker is not None:
        peer = Peer(arguments.build, arguments.model, arguments.worker, network)
    seed = arguments.seed + step + 1000 * (arguments.worker or 0)
    folder = arguments.build / "shards"
    feeder = Feeder(folder, seed, streaming=streaming)
    feeder.start()
    print(f"{parameters / 1e6:.2f} M parameters, {len(feeder.known)} shards", flush=True)

    started = time.monotonic() - spent_s
    watched_s = spent_s
    running = 0.0
    for batch, texts in feeder:
        spent_s = time.monotonic() - started
        progress = spent_s / (60 * arguments.minutes)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(progress, arguments.learning_rate)
        steps = [batch.steps, batch.trunk_steps][-len(scores := network(batch)) :]
        losses = [ctc_loss(s, n, texts) for s, n in zip(scores, steps, strict=True)]
        loss = losses[0] + TRUNK_WEIGHT * sum(losses[1:])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if arguments.worker != 1:
            update_average(average, network, min(EMA_DECAY, (step + 1) / (step + 20)))
        step += 1
        if peer and step % MEETING_STEPS == 0:
            with torch.no_grad():
                peer.meet()
        heard_s += float(batch.steps.sum()) * ROW_FRAMES / 100
        running += (losses[0].item() - running) * (0.02 if step > 50 else 1 / step)
        if step % 100 == 0:
            print(
                f"{spent_s / 60:.1f} min, step {step}, {heard_s / 3600:.1f} h,"
                f" {heard_s / spent_s:.0f}x, loss {running:.3f}, {len(feeder.known)} shards",
                flush=True,
            )
        done = progress >= 1
        if arguments.worker != 1 and (done or spent_s - watched_s > 60 * arguments.watch_minutes):
            watched_s = spent_s
            save(
                checkpoint,
                config=network.config.to_dict(),
                network=network.state_dict(),
                average=average.state_dict(),
                optimizer=optimizer.state_dict(),
                spent_s=spent_s,
                step=step,
                heard_s=heard_s,
            )
            report = watch(average, arguments.build / "watch", streaming=streaming)
            print(f"{spent_s / 60:.1f} min: WER %: {report}", flush=True)
        if done:
            break


if __name__ == "__main__":
    main()
