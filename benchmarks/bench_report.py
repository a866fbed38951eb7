"""A manifest of 100,000 rows scored, noted and written: seconds and memory of each step.

The steps: the manifest loaded; all rows recognised (see below) and scored; what every command does
with its reports: intervals, spelling, table, notes, the JSON file.

The recogniser is a dictionary, so that what is measured is this package's own work. Memory is the
growth of the process over the step's beginning; that of writing is what the report itself needs.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_scoring import texts
from measuring import emit, parser, run_child, summary

from stt_ru.cli.output import Reporting, print_and_save
from stt_ru.evaluation import evaluate, load_manifest
from stt_ru.recognition.recognizer import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable


class Parrot:
    """A recogniser that knows the texts."""

    name = "parrot"

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def transcribe(self, path: str | Path) -> Transcript:
        """The text that belongs to the file."""
        return Transcript.from_text(self._texts[Path(path).name], duration=3.0)


class Steps:
    """Seconds, processor seconds, and growth of peak memory, of one step after another."""

    def __init__(self) -> None:
        self.figures: dict[str, Any] = {}

    def take(self, name: str, step: Callable[[], Any]) -> Any:
        """Run a step."""
        peak_mb, started, cpu_started = _peak_mb(), time.perf_counter(), time.process_time()
        answer = step()
        self.figures[f"{name}_s"] = round(time.perf_counter() - started, 3)
        self.figures[f"{name}_cpu_s"] = round(time.process_time() - cpu_started, 3)
        self.figures[f"{name}_growth_mb"] = round(_peak_mb() - peak_mb, 1)
        return answer


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def steps(rows: int, folder: Path) -> dict[str, Any]:
    """Run all steps once, in a folder with a recording a row."""
    references, hypotheses = texts(rows, 10, seed=1)
    # Links to one empty file would be one recording; each row has a file of its own.
    (folder / "audio").mkdir()
    names = [f"{row:06}.wav" for row in range(rows)]
    for name in names:
        (folder / "audio" / name).touch()
    manifest = folder / "eval.csv"
    lines = (f"audio/{name};{text}\n" for name, text in zip(names, references, strict=True))
    manifest.write_text("audio;text\n" + "".join(lines), encoding="utf-8")
    parrot = Parrot(dict(zip(names, hypotheses, strict=True)))
    del references, hypotheses
    taken = Steps()
    samples = taken.take("manifest", lambda: load_manifest(manifest))
    report = taken.take("evaluate", lambda: evaluate(parrot, samples))
    target = folder / "report.json"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        taken.take(
            "report",
            lambda: print_and_save([report], [], Reporting(manifest=str(manifest), output=target)),
        )
    return {
        **taken.figures,
        "rows": rows,
        "wer": round(report.wer or 0.0, 4),
        "report_mb": round(target.stat().st_size / 1e6, 1),
        "peak_mb": round(_peak_mb(), 1),
    }


def main() -> None:
    options = parser(__doc__, repeats=3)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--child", action="store_true", help="one run, its figures as JSON")
    arguments = options.parse_args()
    if arguments.child:
        with tempfile.TemporaryDirectory() as temporary:
            print(json.dumps(steps(arguments.rows, Path(temporary))))
        return
    command = [sys.executable, __file__, "--child", "--rows", str(arguments.rows)]
    runs: list[dict[str, Any]] = []
    for _ in range(arguments.repeats):  # a process each: peak memory only grows
        child = run_child(command)
        if child.code:
            raise SystemExit(child.stderr)
        runs.append(json.loads(child.stdout))
    emit(
        arguments.output,
        "report",
        **{name: summary([run[name] for run in runs], 3) for name in runs[0]},
    )


if __name__ == "__main__":
    main()
