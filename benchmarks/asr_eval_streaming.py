"""Times asr_eval's `evaluate_streaming`; run by the interpreter of its own environment.

Used by bench_streaming.py as ``python asr_eval_streaming.py WORKLOAD.json REPEATS``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    import numpy as np
    from asr_eval.align.transcription import (  # type: ignore[import-not-found]
        Token,
        Transcription,
    )
    from asr_eval.streaming import evaluation as theirs  # type: ignore[import-not-found]
    from asr_eval.streaming.model import (  # type: ignore[import-not-found]
        InputChunk,
        OutputChunk,
        Signal,
        TranscriptionChunk,
    )
    from asr_eval.streaming.sender import Cutoff  # type: ignore[import-not-found]

    work = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    tokens = tuple(
        Token(value=word["word"], start_time=word["start"], end_time=word["end"])
        for word in work["words"]
    )
    truth = Transcription(text=" ".join(word["word"] for word in work["words"]), blocks=tokens)
    inputs = [
        InputChunk(
            data=b"",
            end_time=chunk["end_time"],
            put_timestamp=chunk["put"],
            get_timestamp=chunk["get"],
        )
        for chunk in work["input"]
        if not chunk.get("finish")
    ]
    outputs = [
        OutputChunk(
            data=Signal.FINISH
            if chunk.get("finish")
            else TranscriptionChunk(uid=chunk["uid"], text=chunk["text"]),
            seconds_processed=chunk["seconds_processed"],
            put_timestamp=chunk["put"],
            get_timestamp=chunk["get"],
        )
        for chunk in work["output"]
    ]
    cutoffs = [Cutoff(*values) for values in work["cutoffs"]]
    waveform = np.zeros(cutoffs[-1].arr_pos, np.float32)
    times: list[float] = []
    results: Any = None
    for _ in range(int(sys.argv[2])):
        started = time.perf_counter()
        results = theirs.evaluate_streaming(truth, waveform, cutoffs, inputs, outputs)
        times.append(time.perf_counter() - started)
    final = results.partial_alignments[-1].get_error_positions()
    statuses = [position.status for position in final]
    counts = {status: statuses.count(status) for status in sorted(set(statuses))}
    moments = len(results.partial_alignments)
    print(json.dumps({"times": times, "moments": moments, "final": counts}))


if __name__ == "__main__":
    main()
