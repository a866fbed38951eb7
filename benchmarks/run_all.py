"""All benchmarks in one run, one after another; about twelve minutes on two quiet cores.

A benchmark that fails is named at the end and does not stop the others.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator


def plan(arguments: argparse.Namespace) -> Iterator[list[str]]:
    """Scripts with their arguments, those of the design's targets first."""
    manifest = ["--manifest", str(arguments.manifest)]
    vad = ["--vad-dir", str(arguments.vad_dir)]
    gigaam = f"gigaam-v3-ctc={arguments.gigaam}"
    peer = ["--peer", str(arguments.peer)]
    if arguments.peer_hf_home is not None:
        peer_vad = ["--peer-hf-home", str(arguments.peer_hf_home)]
    else:
        peer_vad = []
    versus = [*peer, *peer_vad, *vad, *manifest]
    yield ["bench_evaluate.py", gigaam, *versus, "--rows", "120"]
    yield ["bench_evaluate.py", "tiny-ru", "tiny-ru+vad", *versus]
    of_gigaam = ["--model-dir", str(arguments.gigaam)]
    yield ["bench_bound.py", *of_gigaam, *vad, *manifest, "--rows", "120"]
    yield ["bench_bound.py", "--model", "tiny-ru", *manifest]
    yield ["bench_startup.py", *peer]
    yield ["bench_scoring.py"]
    yield ["bench_report.py", "--repeats", "2"]
    yield ["bench_page.py"]
    yield ["bench_server_load.py"]
    few = ["--speech-share", "0.1"]
    yield ["bench_memory.py", "tiny-ru", *manifest, "--workers", "auto"]
    yield ["bench_memory.py", gigaam, *vad, *manifest, *few, "--lengths", "60", "3600", "--rows"]
    yield ["bench_memory.py", "tiny-ru", *manifest, "--lengths", "--workers", "8"]
    many = ["--lengths", "--rows", "8", "200", "--workers", "1", "8"]
    yield ["bench_memory.py", gigaam, *vad, *manifest, *many]
    yield ["bench_layouts.py", *of_gigaam, *vad, *manifest]
    if arguments.whisper is not None:
        whisper = f"whisper={arguments.whisper}"
        yield ["bench_evaluate.py", whisper, *versus, "--rows", "24", "--repeats", "2"]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--peer", type=Path, required=True, help="stt-ru to compare with")
    options.add_argument("--peer-hf-home", type=Path, help="HF_HOME with its VAD")
    options.add_argument("--manifest", type=Path, required=True, help="recordings, JSON Lines")
    options.add_argument("--vad-dir", type=Path, required=True, help="folder of silero_vad.onnx")
    options.add_argument("--gigaam", type=Path, default=ROOT / "build" / "gigaam-shape")
    options.add_argument("--whisper", type=Path, help="folder of whisper-base")
    options.add_argument("--output", type=Path, default=ROOT / "build" / "benchmarks.jsonl")
    options.add_argument("--only", help="only lines of the plan that have this")
    arguments = options.parse_args()
    folder = Path(__file__).resolve().parent
    failed = []
    for script, *words in plan(arguments):
        if arguments.only and arguments.only not in " ".join([script, *words]):
            continue
        started = time.perf_counter()
        command = [sys.executable, str(folder / script), *words]
        done = subprocess.run([*command, "--output", str(arguments.output)])
        print(f"{script}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
        if done.returncode:
            failed.append(script)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
