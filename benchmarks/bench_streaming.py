"""Time of `evaluate_streaming`: 60 s, 150 words, a grid of 0.25 s, against asr_eval; and an hour.

Both sides get one history: words appear half a second after they end, every fifth wrong at first,
every seventh for good. asr_eval runs as a black box in an environment of its own (Python 3.12):

    python3.12 -m venv build/asr-eval && build/asr-eval/bin/pip install asr-eval==0.3.0
    python benchmarks/bench_streaming.py --asr-eval build/asr-eval/bin/python
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

from measuring import emit, parser, summary

from stt_ru.streaming.measures.evaluation import get_partial_alignments
from stt_ru.streaming.measures.latency import stream_figures
from stt_ru.streaming.queue.chunks import InputChunk, OutputChunk, Signal, TranscriptionChunk
from stt_ru.streaming.run.history import History, history_to_json
from stt_ru.streaming.schedule.sender import Cutoff
from stt_ru.streaming.timing.transcription import timed_transcription

WORD_S = 0.4
CHUNK_S = 0.2
LETTERS = "абвгдежзиклмнопрстуфхцчшэюя"


def word(number: int) -> str:
    """Words of three to eight letters; many of them return, as in speech."""
    kind = (number * number * 31 + number * 17) % 997
    return "".join(LETTERS[(kind * (place + 3)) % 26] for place in range(3 + kind % 6))


def history(seconds: float) -> History:
    words = [word(number) for number in range(round(seconds / WORD_S))]
    times = [(WORD_S * k + 0.02, WORD_S * k + 0.36) for k in range(len(words))]
    n_chunks = round(seconds / CHUNK_S)
    ends = [round(CHUNK_S * (k + 1), 6) for k in range(n_chunks)]
    outputs: list[OutputChunk] = []

    def say(text: str, at: float, end: float, uid: int) -> None:
        part = TranscriptionChunk(uid=uid, text=text)
        outputs.append(
            OutputChunk(data=part, seconds_processed=end, put_timestamp=at, get_timestamp=at)
        )

    for k, (_, end) in enumerate(times):
        wrong = words[k][:-1] + "ъ"
        say(wrong if not k % 5 or not k % 7 else words[k], end + 0.5, end, k)
        if not k % 5 and k % 7:
            say(words[k], end + 1.4, end, k)
    outputs.sort(key=lambda chunk: chunk.put_timestamp)
    last = outputs[-1].put_timestamp + 0.1
    outputs.append(
        OutputChunk(
            data=Signal.FINISH, seconds_processed=seconds, put_timestamp=last, get_timestamp=last
        )
    )
    return History(
        audio="made",
        model="made",
        reference=" ".join(words),
        cutoffs=[Cutoff(0, 0, 0), *(Cutoff(end, end, round(end * 16_000)) for end in ends)],
        input_chunks=[
            InputChunk(data=b"", end_time=end, put_timestamp=end, get_timestamp=end) for end in ends
        ],
        output_chunks=outputs,
        timed_transcription=timed_transcription(words, times),
    )


def timed(run: History) -> tuple[float, Any]:
    started = time.perf_counter()
    results = run.evaluate()
    return time.perf_counter() - started, results


def peer(python: Path, run: History, repeats: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work.json"
        work.write_text(json.dumps(history_to_json(run)), encoding="utf-8")
        script = Path(__file__).with_name("asr_eval_streaming.py")
        done = subprocess.run(
            [python, script, work, str(repeats)], capture_output=True, text=True, check=True
        )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    options = parser(__doc__, repeats=3)
    options.add_argument("--asr-eval", type=Path, help="Python of the environment with asr_eval")
    arguments = options.parse_args()
    minute = history(60)
    timed(minute)  # warm up
    ours: list[float] = []
    theirs: list[float] = []
    fields: dict[str, Any] = {}
    for _ in range(arguments.repeats):
        seconds, results = timed(minute)
        ours.append(seconds)
        if arguments.asr_eval is not None:
            answer = peer(arguments.asr_eval, minute, 1)
            theirs += answer["times"]
            statuses = [p.status for p in results.partial_alignments[-1].get_error_positions()]
            counts = {status: statuses.count(status) for status in sorted(set(statuses))}
            fields |= {"peer_moments": answer["moments"], "same_final": counts == answer["final"]}
    if theirs:
        fields |= {"peer_s": summary(theirs), "ratio_of_least": min(theirs) / min(ours)}
    emit(
        arguments.output,
        "evaluate_streaming, 60 s",
        ours_s=summary(ours),
        moments=len(results.partial_alignments),
        words=len(minute.reference.split()),
        **fields,
    )
    for minutes in (15, 30, 60):
        run = history(60 * minutes)
        started = time.perf_counter()
        results = run.evaluate()
        evaluated_s = time.perf_counter() - started
        figures = stream_figures(results)
        both_s = time.perf_counter() - started
        tracemalloc.start()
        kept = get_partial_alignments(
            run.input_chunks, run.output_chunks, results.timed_transcription
        )
        kept_bytes, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        emit(
            arguments.output,
            f"evaluate_streaming, {minutes} min",
            evaluate_s=evaluated_s,
            with_figures_s=both_s,
            words=len(run.reference.split()),
            moments=len(results.partial_alignments),
            answers=len(kept),
            kept_mb=kept_bytes / 1e6,
            peak_mb=peak_bytes / 1e6,
            unstable=figures.unstable_words,
        )


if __name__ == "__main__":
    main()
