"""`stt-ru evaluate` against a peer's: the same model folder, recordings and texts.

Both are run as commands. «command» is the time of the whole process, model loading included;
«loop» the time of the model's loop, as each report tells it: seconds of audio over its speed, or
the sum of the recordings' own seconds where a report has no speed. The hypotheses of both are
compared after normalisation.

A case is NAME=FOLDER, or one of
    tiny-ru      the embedded model as a user runs it: without a VAD here, with one at the peer
    tiny-ru+vad  the embedded model's folder by its kind, with the same VAD on both sides
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import (
    EMBEDDED_FOLDER,
    Child,
    emit,
    interleaved,
    parser,
    ratios,
    read_rows,
    run_child,
    stt_ru,
    summary,
    write_rows,
)

from stt_ru.scoring.counts import score_texts, total_score
from stt_ru.text.normalize import normalize

EMBEDDED_KIND = "nemo-conformer-ctc"


@dataclass(frozen=True, slots=True)
class Case:
    """Arguments of the two commands, after the manifest."""

    name: str
    ours: list[str]
    peer: list[str]


def make_case(text: str, vad_folder: Path) -> Case:
    """What a case means to each side."""
    name, _, folder = text.partition("=")
    vad = ["--vad-dir", str(vad_folder)]
    if name.startswith("tiny-ru"):
        kind = ["-m", EMBEDDED_KIND, "--model-dir", str(EMBEDDED_FOLDER), "--quantization", "none"]
        return Case(name, [*kind, *vad] if name.endswith("+vad") else ["-m", "tiny-ru"], kind)
    model = ["-m", name, "--model-dir", folder]
    return Case(name, [*model, *vad], model)


class Side:
    """One of the two commands; keeps what its runs said."""

    def __init__(self, command: list[str | Path], variables: dict[str, str], report: Path) -> None:
        self._command = command
        self._variables = variables
        self._report = report
        self.children: list[Child] = []
        self.loops_s: list[float] = []
        self.results: list[dict[str, Any]] = []

    def run(self) -> float:
        """Run the command once; its wall seconds."""
        self._report.unlink(missing_ok=True)
        child = run_child([*self._command, "-o", self._report], self._variables)
        if not self._report.exists():
            raise SystemExit(f"{' '.join(map(str, self._command))}:\n{child.stdout}{child.stderr}")
        (model,) = json.loads(self._report.read_text(encoding="utf-8"))["models"]
        if model["error"] is not None:
            raise SystemExit(model["error"])
        self.results = model["results"]
        self.children.append(child)
        self.loops_s.append(_loop_s(model))
        return child.wall_s


def _loop_s(model: dict[str, Any]) -> float:
    audio_s = sum(row["duration"] or 0.0 for row in model["results"] if row["error"] is None)
    if model["speed"]:
        return float(audio_s / model["speed"])
    return float(sum(row["seconds"] or 0.0 for row in model["results"]))


def compare(ours: list[dict[str, Any]], peers: list[dict[str, Any]]) -> dict[str, Any]:
    """How far the hypotheses of the two agree."""
    pairs = [
        (normalize(one["hypothesis"] or ""), normalize(two["hypothesis"] or ""))
        for one, two in zip(ours, peers, strict=True)
    ]
    score = total_score(score_texts(theirs, mine) for mine, theirs in pairs)
    return {
        "rows": len(pairs),
        "equal_hypotheses": sum(mine == theirs for mine, theirs in pairs),
        "cer_between": None if score.chars.rate is None else round(score.chars.rate, 4),
    }


def main() -> None:
    options = parser(__doc__, repeats=3)
    options.add_argument("cases", nargs="+", metavar="CASE", help="NAME=FOLDER, tiny-ru[+vad]")
    options.add_argument("--peer", type=Path, required=True, help="the other stt-ru")
    options.add_argument("--peer-hf-home", type=Path, help="HF_HOME with its VAD; it runs offline")
    options.add_argument("--vad-dir", type=Path, required=True, help="folder of silero_vad.onnx")
    options.add_argument("--manifest", type=Path, required=True, help="JSON Lines")
    options.add_argument("--rows", type=int, help="as many of them, evenly chosen")
    arguments = options.parse_args()
    peer_variables = {}
    if arguments.peer_hf_home is not None:
        hf_home = str(arguments.peer_hf_home.resolve())
        peer_variables = {"HF_HOME": hf_home, "HF_HUB_OFFLINE": "1"}
    for text in arguments.cases:
        case = make_case(text, arguments.vad_dir)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            rows = read_rows(arguments.manifest, arguments.rows)
            manifest = write_rows(rows, folder / "eval.jsonl")
            head = ["evaluate", str(manifest), "-q"]
            ours = Side([*stt_ru(), *head, *case.ours], {}, folder / "ours.json")
            peer = Side([arguments.peer, *head, *case.peer], peer_variables, folder / "peer.json")
            measured = interleaved({"ours": ours.run, "peer": peer.run}, arguments.repeats)
        emit(
            arguments.output,
            "evaluate",
            case=case.name,
            audio_s=round(sum(row["duration"] for row in ours.results), 1),
            **compare(ours.results, peer.results),
            failed=sum(row["error"] is not None for row in ours.results),
            peer_failed=sum(row["error"] is not None for row in peer.results),
            command_times_faster=ratios(measured["peer"], measured["ours"]),
            loop_times_faster=ratios(peer.loops_s, ours.loops_s),
            ours_command_s=summary(measured["ours"], 2),
            peer_command_s=summary(measured["peer"], 2),
            ours_loop_s=summary(ours.loops_s, 2),
            peer_loop_s=summary(peer.loops_s, 2),
            ours_cpu_s=summary([child.cpu_s for child in ours.children], 2),
            peer_cpu_s=summary([child.cpu_s for child in peer.children], 2),
            ours_peak_mb=round(max(child.peak_mb for child in ours.children)),
            peer_peak_mb=round(max(child.peak_mb for child in peer.children)),
        )


if __name__ == "__main__":
    main()
