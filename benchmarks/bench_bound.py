"""Wall time of `evaluate` against what the networks alone take: processor seconds over cores.

Processor seconds inside `InferenceSession.run` (the model's and the VAD's), over the number of
cores, are a bound that no arrangement of the same calls can beat. The rest of the processor time is
reading, resampling, features, decoding, scoring and Python. Runs in this process, with one
recording a core; a recording is warmed up with first.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import onnxruntime
from measuring import cores, emit, parser, read_rows, summary, with_one_thread_each

from stt_ru.evaluation import Sample, evaluate
from stt_ru.recognition.segmentation import VadOptions
from stt_ru.recognition.transcriber import Transcriber


class RunClock:
    """Processor seconds and calls of `InferenceSession.run`, by the sessions' input names."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run = onnxruntime.InferenceSession.run
        self.cpu_s: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)
        self.waited_s: dict[int, float] = {}  # by thread, since the thread began

    def __enter__(self) -> RunClock:
        clock, run = self, self._run

        def timed(session: Any, outputs: Any, feed: dict[str, Any], options: Any = None) -> Any:
            started = time.thread_time()
            answer = run(session, outputs, feed, options)
            spent = time.thread_time() - started
            what = "vad" if "sr" in feed else "model"
            with clock._lock:
                if what == "model":  # not after each of the VAD's thousands of calls
                    clock.waited_s[threading.get_ident()] = _waited_s()
                clock.cpu_s[what] += spent
                clock.calls[what] += 1
            return answer

        onnxruntime.InferenceSession.run = timed
        return self

    def __exit__(self, *_: object) -> None:
        onnxruntime.InferenceSession.run = self._run


def _waited_s() -> float:
    """Seconds the calling thread could have run but had no core: other programs had it."""
    try:
        text = Path("/proc/thread-self/schedstat").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return int(text.split()[1]) / 1e9


def main() -> None:
    with_one_thread_each()
    options = parser(__doc__, repeats=3)
    options.add_argument("--model", default="gigaam-v3-ctc", help="its name or kind")
    options.add_argument("--model-dir", type=Path, help="its folder")
    options.add_argument("--quantization", default="int8")
    options.add_argument("--vad-dir", type=Path, help="folder of silero_vad.onnx")
    options.add_argument("--manifest", type=Path, required=True, help="JSON Lines")
    options.add_argument("--rows", type=int, help="as many of them, evenly chosen")
    options.add_argument("--workers", type=int, default=cores())
    arguments = options.parse_args()
    rows = read_rows(arguments.manifest, arguments.rows)
    samples = [Sample(row["audio"], row["text"], None, {}, Path(row["audio"])) for row in rows]
    transcriber = Transcriber(
        arguments.model,
        model_dir=arguments.model_dir,
        quantization=None if arguments.quantization == "none" else arguments.quantization,
        vad=None if arguments.vad_dir is None else VadOptions(),
        vad_dir=arguments.vad_dir,
        workers=arguments.workers,
        offline=True,
    )
    evaluate(transcriber, samples[:1])
    runs: list[dict[str, Any]] = []
    for _ in range(arguments.repeats):
        with RunClock() as clock:
            started_cpu_s = time.process_time()
            report = evaluate(transcriber, samples)
            cpu_s = time.process_time() - started_cpu_s
        inside_s = sum(clock.cpu_s.values())
        runs.append(
            {
                "wall_s": report.wall_s,
                "audio_s": report.audio_s,
                "inside_cpu_s": inside_s,
                "outside_cpu_s": cpu_s - inside_s,
                "model_cpu_s": clock.cpu_s["model"],
                "vad_cpu_s": clock.cpu_s["vad"],
                "model_calls": clock.calls["model"],
                "vad_calls": clock.calls["vad"],
                "waited_s": sum(clock.waited_s.values()),
                "failed": report.failed,
                "over_bound": report.wall_s / (inside_s / cores()),
            }
        )
    emit(
        arguments.output,
        "bound",
        model=arguments.model,
        workers=arguments.workers,
        rows=len(samples),
        audio_s=round(runs[0]["audio_s"], 1),
        failed=runs[0]["failed"],
        wall_over_bound=summary([run["over_bound"] for run in runs]),
        cpu_over_inside=summary([1 + run["outside_cpu_s"] / run["inside_cpu_s"] for run in runs]),
        speed=summary([run["audio_s"] / run["wall_s"] for run in runs], 2),
        waited_s=summary([run["waited_s"] for run in runs]),
        **{
            name: round(min(run[name] for run in runs), 3)
            for name in (
                "wall_s",
                "inside_cpu_s",
                "outside_cpu_s",
                "model_cpu_s",
                "vad_cpu_s",
                "model_calls",
                "vad_calls",
            )
        },
    )


if __name__ == "__main__":
    main()
