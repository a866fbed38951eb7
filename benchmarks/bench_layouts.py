"""How the cores are best divided: recordings at a time, threads in each, batches, memory options.

The first layout is what the package does; the others are what it could do. All run in this process,
one after another in each repeat, on the same recordings.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from measuring import cores, emit, interleaved, parser, read_rows, summary, with_one_thread_each

from stt_ru.evaluation import Sample, evaluate
from stt_ru.recognition import onnx_models
from stt_ru.recognition.segmentation import VadOptions
from stt_ru.recognition.transcriber import Transcriber

if TYPE_CHECKING:
    import onnxruntime

LAYOUTS: dict[str, dict[str, Any]] = {
    "a recording a core": {"workers": cores()},
    "one recording, all cores": {"workers": 1},
    "one recording, all cores, spinning": {"workers": 1, "spinning": True},
    "two recordings a core": {"workers": 2 * cores()},
    "batches of 8": {"workers": cores(), "batch_size": 8},
    "memory patterns": {"workers": cores(), "pattern": True},
    "no arena": {"workers": cores(), "arena": False},
}


def load(folder: Path, vad_folder: Path, **layout: Any) -> Transcriber:
    """The model, with session options changed as the layout says."""
    spinning, pattern = layout.pop("spinning", False), layout.pop("pattern", False)
    arena = layout.pop("arena", True)
    usual = onnx_models.session_options

    def changed(intra_op_threads: int) -> onnxruntime.SessionOptions:
        options = usual(intra_op_threads)
        if spinning:
            options.add_session_config_entry("session.intra_op.allow_spinning", "1")
        options.enable_mem_pattern = pattern
        options.enable_cpu_mem_arena = arena
        return options

    with mock.patch.object(onnx_models, "session_options", changed):
        return Transcriber(
            "gigaam-v3-ctc",
            model_dir=folder,
            vad=VadOptions(),
            vad_dir=vad_folder,
            offline=True,
            **layout,
        )


def run(transcriber: Transcriber, samples: list[Sample], cpu_s: list[float]) -> float:
    """Wall seconds of one evaluation; its processor seconds are added to the list."""
    started_cpu_s = time.process_time()
    report = evaluate(transcriber, samples)
    cpu_s.append(time.process_time() - started_cpu_s)
    if report.failed:
        raise SystemExit("; ".join(result.error or "" for result in report.results))
    return report.wall_s


def main() -> None:
    with_one_thread_each()
    options = parser(__doc__, repeats=2)
    options.add_argument("--model-dir", type=Path, required=True, help="a gigaam-v3-ctc")
    options.add_argument("--vad-dir", type=Path, required=True, help="folder of silero_vad.onnx")
    options.add_argument("--manifest", type=Path, required=True, help="JSON Lines")
    options.add_argument("--rows", type=int, default=40)
    arguments = options.parse_args()
    rows = read_rows(arguments.manifest, arguments.rows)
    samples = [Sample(row["audio"], row["text"], path=Path(row["audio"])) for row in rows]
    cpu_s: dict[str, list[float]] = {name: [] for name in LAYOUTS}
    sides = {}
    for name, layout in LAYOUTS.items():
        transcriber = load(arguments.model_dir, arguments.vad_dir, **layout)
        evaluate(transcriber, samples[:2])
        sides[name] = partial(run, transcriber, samples, cpu_s[name])
    measured = interleaved(sides, arguments.repeats)
    usual = min(next(iter(measured.values())))
    for name, walls in measured.items():
        emit(
            arguments.output,
            "layouts",
            layout=name,
            rows=len(samples),
            times_slower=round(min(walls) / usual, 3),
            wall_s=summary(walls, 2),
            cpu_s=summary(cpu_s[name], 2),
        )


if __name__ == "__main__":
    main()
