"""The HTML page of 10,000 rows: made, its size, and how long it takes a browser to use it.

Two models, ten words a row, times of words, three columns. Chromium loads the page without a window
and a script at its end sorts, searches and filters as a user does; each time includes the layout.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

from bench_scoring import texts
from measuring import emit, parser, summary

from stt_ru.report.findings import make_findings
from stt_ru.report.html.page import html_report
from stt_ru.results import FileResult, ModelReport, Segment
from stt_ru.scoring.counts import score_texts
from stt_ru.scoring.relaxed import Rules

_SCRIPT = """
const took = {ready_ms: performance.now()};
document.body.offsetHeight;
took.first_layout_ms = performance.now();
const measure = (name, change) => {
  const started = performance.now();
  change(); choose(); document.body.offsetHeight;
  took[name] = performance.now() - started;
};
measure("sort_by_rate_ms", () => { byId("sort").value = "rate"; });
measure("sort_by_disagreement_ms", () => { byId("sort").value = "disagree"; });
measure("other_model_ms", () => { byId("model").value = "1"; });
measure("search_ms", () => { byId("search").value = "ова"; });
measure("search_again_ms", () => { byId("search").value = "ер"; });
measure("slice_ms", () => { byId("search").value = ""; byId("slice").value = "0"; });
took.next_rows_ms = -performance.now(); draw(PAGE); document.body.offsetHeight;
took.next_rows_ms += performance.now();
const said = document.createElement("pre");
said.id = "took"; said.textContent = JSON.stringify(took); document.body.append(said);
"""


def reports(rows: int) -> list[ModelReport]:
    """Two models on the same references."""
    made = []
    references, _ = texts(rows, 10, seed=1)
    for seed, label in ((1, "раз"), (2, "два")):
        hypotheses = texts(rows, 10, seed=seed)[1]
        results = []
        for n, (reference, hypothesis) in enumerate(zip(references, hypotheses, strict=True)):
            duration_s = 1.0 + n % 97 / 7
            words = hypothesis.split()
            starts = [round(duration_s * k / len(words), 2) for k in range(len(words))]
            results.append(
                FileResult(
                    audio=f"{n:06}.wav",
                    reference=reference,
                    hypothesis=hypothesis,
                    score=score_texts(reference, hypothesis),
                    duration=duration_s,
                    segments=[Segment(0.0, duration_s, hypothesis, word_starts=starts)],
                    extra={"call": str(n // 5), "speaker": f"s{n % 20}", "noise": f"{n % 3}"},
                )
            )
        made.append(ModelReport(model=label, label=label, rows=rows, results=results))
    return made


def browse(chromium: str, page: Path) -> dict[str, float]:
    """What the script measured."""
    done = subprocess.run(
        [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r'<pre id="took">(.*?)</pre>', done.stdout, re.DOTALL)
    if found is None:
        sys.exit("the page did not run its script to the end")
    return {name: round(value, 1) for name, value in json.loads(unescape(found[1])).items()}


def main() -> None:
    options = parser(__doc__, repeats=3)
    options.add_argument("--rows", type=int, default=10_000)
    options.add_argument("--keep", type=Path, help="keep the page here")
    arguments = options.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("chromium is not installed")
    models = reports(arguments.rows)
    with tempfile.TemporaryDirectory() as folder:
        target = arguments.keep or Path(folder) / "page.html"
        wall, processor = time.perf_counter(), time.process_time()
        content = make_findings(
            models, manifest="m", folder=None, created_at=datetime.now(UTC), rules=Rules()
        )
        found_s = time.process_time() - processor
        page = "".join(html_report(content, target=target))
        figures: dict[str, Any] = {
            "rows": arguments.rows,
            "found_processor_s": round(found_s, 2),
            "page_processor_s": round(time.process_time() - processor - found_s, 2),
            "made_s": round(time.perf_counter() - wall, 2),
            "page_mb": round(len(page.encode()) / 1e6, 2),
        }
        end = "</script></body>"
        target.write_text(page.replace("</body>", f"<script>{_SCRIPT}{end}"), "utf-8")
        runs = [browse(chromium, target) for _ in range(arguments.repeats)]
    figures |= {name: summary([run[name] for run in runs]) for name in runs[0]}
    emit(arguments.output, "page", **figures)


if __name__ == "__main__":
    main()
