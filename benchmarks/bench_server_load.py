"""Many clients of ``stt-ru serve`` at once: requests a second, latency, and that none is lost.

Each client runs a whole session of its own: reads every recording in 10 ms pieces, writes words of
its own, asks for its result, and checks that it got exactly the recording's samples and that the
server kept exactly its words with the delays it expects. Server and clients share the machine: the
figures are of both together. All traffic is on the loopback address.

Run: python benchmarks/bench_server_load.py [--clients 200] [--recordings 2] [--seconds 2]
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile
from measuring import emit, parser

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

SAMPLE_RATE = 16_000
WORD_EVERY_MS = 200


@dataclass
class Tally:
    """What the clients saw.

    Attributes:
        latencies_s: Of each request.
        wrong: What was not as expected, a sentence each.
    """

    latencies_s: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class Client:
    """A plain HTTP client on one connection that stays open."""

    def __init__(self, port: int, tally: Tally) -> None:
        self._port = port
        self._tally = tally

    async def __aenter__(self) -> Client:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._writer.close()

    async def ask(self, method: str, target: str, body: str = "") -> Any:
        """The answer's JSON; anything but 200 is an error."""
        data = body.encode()
        head = f"{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
        started = time.perf_counter()
        self._writer.write(head.encode() + data)
        await self._writer.drain()
        headers = await self._reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", headers)
        assert length is not None
        answer = await self._reader.readexactly(int(length[1]))
        self._tally.latencies_s.append(time.perf_counter() - started)
        if b" 200 " not in headers.split(b"\r\n")[0]:
            raise RuntimeError(f"{method} {target}: {headers[:20]!r} {answer!r}")
        return json.loads(answer)


async def run_client(
    number: int, port: int, recordings: Sequence[NDArray[np.int16]], tally: Tally
) -> None:
    """One session from its start to its result."""
    async with Client(port, tally) as client:
        session = (await client.ask("POST", "/"))["session_id"]
        for index, recording in enumerate(recordings):
            query = f"instance_id={index}&session_id={session}"
            heard: list[int] = []
            words: list[str] = []
            delays: list[float] = []
            finished = False
            while not finished:
                answer = await client.ask("GET", f"/src?{query}")
                heard += answer["segment"]
                finished = answer["finished"]
                if len(heard) // (SAMPLE_RATE * WORD_EVERY_MS // 1000) > len(words):
                    words.append(f"c{number}r{index}w{len(words)}")
                    delays.append(len(heard) / 16)
                    await client.ask("PUT", f"/hypo?{query}", words[-1])
            await client.ask("PUT", f"/hypo?{query}", "</s>")
            if heard != recording.tolist():
                tally.wrong.append(f"client {number}: other samples of recording {index}")
            kept = await client.ask("GET", f"/result?{query}")
            if (kept["prediction"], kept["delays"]) != (" ".join(words), delays):
                tally.wrong.append(f"client {number}: other words or delays of {index}")
        result = await client.ask("GET", f"/result?session_id={session}")
        if result["finished"] != len(recordings):
            tally.wrong.append(f"client {number}: {result['finished']} of {len(recordings)} done")


async def run_clients(
    clients: int, port: int, recordings: Sequence[NDArray[np.int16]]
) -> tuple[Tally, float]:
    """All clients at once; what they saw, and wall seconds."""
    tally = Tally()
    started = time.perf_counter()
    outcomes = await asyncio.gather(
        *(run_client(number, port, recordings, tally) for number in range(clients)),
        return_exceptions=True,
    )
    wall_s = time.perf_counter() - started
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome, BaseException):
            tally.wrong.append(f"client {number}: {type(outcome).__name__}: {outcome}")
    return tally, wall_s


def make_recordings(folder: Path, count: int, seconds: float) -> list[NDArray[np.int16]]:
    """Recordings of noise with a manifest beside them."""
    random = np.random.default_rng(0)
    rows = ["audio,text"]
    recordings = []
    for number in range(count):
        samples = random.integers(-20_000, 20_000, round(seconds * SAMPLE_RATE), dtype=np.int16)
        soundfile.write(folder / f"{number}.wav", samples, SAMPLE_RATE, subtype="PCM_16")
        rows.append(f"{number}.wav,раз два три четыре пять")
        recordings.append(samples)
    (folder / "manifest.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return recordings


@dataclass
class Server:
    """``stt-ru serve`` as a process of its own.

    Attributes:
        port: Where it listens.
        cpu_s: User and system seconds of its whole life, once it has ended; its start included.
    """

    port: int
    cpu_s: float = 0.0


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server of the recordings, which saves its sessions."""
    process = subprocess.Popen(
        [sys.executable, "-m", "stt_ru", "serve", "manifest.csv", "--port", "0",
         "--output", "sessions", "--quality-metrics", "WER"],
        cwd=folder,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )  # fmt: skip
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        port = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        if port is None:
            raise RuntimeError(line + process.stderr.read())
        server = Server(int(port[1]))
        yield server
        process.terminate()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        server.cpu_s = usage.ru_utime + usage.ru_stime
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(30)
        process.stderr.close()


def main() -> int:
    arguments = parser(__doc__, repeats=1)
    arguments.add_argument("--clients", type=int, default=200)
    arguments.add_argument("--recordings", type=int, default=2)
    arguments.add_argument("--seconds", type=float, default=2.0, help="length of a recording (2)")
    options = arguments.parse_args()
    is_good = True
    for repeat in range(options.repeats):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            recordings = make_recordings(folder, options.recordings, options.seconds)
            with serving(folder) as server:
                tally, wall_s = asyncio.run(run_clients(options.clients, server.port, recordings))
        is_good = is_good and not tally.wrong
        latencies_ms = sorted(1000 * latency for latency in tally.latencies_s)
        emit(
            options.output,
            "server_load",
            repeat=repeat,
            clients=options.clients,
            recordings=options.recordings,
            seconds=options.seconds,
            requests=len(latencies_ms),
            wall_s=round(wall_s, 3),
            server_cpu_s=round(server.cpu_s, 3),
            requests_per_s=round(len(latencies_ms) / wall_s, 1),
            median_ms=round(statistics.median(latencies_ms), 2),
            p99_ms=round(latencies_ms[int(0.99 * (len(latencies_ms) - 1))], 2),
            worst_ms=round(latencies_ms[-1], 2),
            web={name: version(name) for name in ("uvicorn", "starlette", "httptools")},
            wrong=tally.wrong[:10],
            wrong_count=len(tally.wrong),
        )
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
