"""What all benchmarks share: the machine, child processes, repeats, and JSON lines."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stt_ru.cli.entry import ONE_THREAD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
EMBEDDED_FOLDER = ROOT / "src" / "stt_ru" / "models" / "tiny_ru"
_PACKAGES = ("stt-ru", "onnx-asr", "onnxruntime", "numpy", "rapidfuzz", "soundfile", "soxr")


def parser(description: str | None, *, repeats: int) -> argparse.ArgumentParser:
    """A parser with the options every benchmark has."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument(
        "--repeats", type=int, default=repeats, help=f"measurements of each side ({repeats})"
    )
    made.add_argument("--output", type=Path, help="JSON lines are also added to this file")
    return made


def emit(output: Path | None, benchmark: str, **fields: Any) -> None:
    """Print one JSON line with the figures and where they come from; add it to the file."""
    line = json.dumps({"benchmark": benchmark, **fields, **environment()}, ensure_ascii=False)
    print(line, flush=True)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")


def environment() -> dict[str, Any]:
    """Commit, versions and machine."""
    return {
        "commit": _git("rev-parse", "--short=12", "HEAD"),
        "uncommitted": bool(_git("status", "--porcelain", "--untracked-files=no", "--", "src")),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in _PACKAGES},
        "cpu": _cpu(),
        "cores": cores(),
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def _cpu() -> str:
    """Model, family and the instructions int8 networks live on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    fields = dict(line.split(":", 1) for line in reversed(lines) if ":" in line)
    known = {name.strip(): value.strip() for name, value in fields.items()}
    flags = [flag for flag in known.get("flags", "").split() if flag in _TELLING_FLAGS]
    family = f"family {known.get('cpu family')} model {known.get('model')}"
    return " ".join([known.get("model name", ""), family, *flags])


_TELLING_FLAGS = {"avx2", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8"}


@dataclass(frozen=True, slots=True)
class Child:
    """A finished process.

    Attributes:
        code: Exit code.
        wall_s: From its start to its end.
        cpu_s: User and system, of itself and of its children.
        peak_mb: Largest resident memory, in 10⁶ bytes.
        stdout: What it printed.
        stderr: What it complained of.
    """

    code: int
    wall_s: float
    cpu_s: float
    peak_mb: float
    stdout: str
    stderr: str


def run_child(command: Sequence[str | Path], variables: Mapping[str, str] | None = None) -> Child:
    """Run a command to its end and measure it."""
    # As an installed package has it, bytecode is kept from the first run on.
    environ = {name: os.environ[name] for name in os.environ if name != "PYTHONDONTWRITEBYTECODE"}
    # Files and not pipes: nobody has to read while it runs.
    out, err = (os.memfd_create(name) for name in ("stdout", "stderr"))
    try:
        started = time.perf_counter()
        process = subprocess.Popen(
            [os.fspath(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**environ, **(variables or {})},
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = [os.pread(file, 1 << 24, 0).decode(errors="replace") for file in (out, err)]
    finally:
        os.close(out)
        os.close(err)
    peak_mb = usage.ru_maxrss * 1024 / 1e6
    cpu_s = usage.ru_utime + usage.ru_stime
    return Child(process.returncode, wall_s, cpu_s, peak_mb, *texts)


def with_one_thread_each() -> None:
    """Start this script again with the numeric libraries set as the command sets them."""
    if all(variable in os.environ for variable in ONE_THREAD):
        return
    environ = {**os.environ, **dict.fromkeys(ONE_THREAD, "1")}
    os.execve(sys.executable, [sys.executable, *sys.argv], environ)


def stt_ru() -> list[str | Path]:
    """The command of this working tree, started as a user's is: by its script."""
    script = Path(sys.executable).with_name("stt-ru")
    return [script] if script.exists() else [sys.executable, "-m", "stt_ru"]


def seconds(action: Callable[[], object]) -> float:
    """Processor seconds of one call: of a single thread, its wall seconds on a quiet machine."""
    started = time.thread_time()
    action()
    return time.thread_time() - started


def interleaved(sides: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """Measure the sides in turn, so that what disturbs the machine disturbs all of them."""
    measured: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(repeats):
        order = list(sides) if turn % 2 == 0 else list(sides)[::-1]
        for name in order:
            measured[name].append(sides[name]())
    return measured


def summary(values: Sequence[float], digits: int = 4) -> dict[str, Any]:
    """Least, median and all of the values."""
    return {
        "min": round(min(values), digits),
        "median": round(statistics.median(values), digits),
        "all": [round(value, digits) for value in values],
    }


def ratios(larger: Sequence[float], smaller: Sequence[float]) -> dict[str, float]:
    """How many times ``larger`` is larger, by least and by median."""
    return {
        "min": round(min(larger) / min(smaller), 3),
        "median": round(statistics.median(larger) / statistics.median(smaller), 3),
    }


def read_rows(manifest: Path, limit: int | None) -> list[dict[str, Any]]:
    """Rows of a JSON Lines manifest with absolute paths; an even choice of ``limit`` of them."""
    rows = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines() if line]
    if limit is not None and limit < len(rows):
        rows = [rows[number * len(rows) // limit] for number in range(limit)]
    return [
        {"audio": str((manifest.parent / row["audio"]).resolve()), "text": row["text"]}
        for row in rows
    ]


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Write a JSON Lines manifest."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")
    return path
