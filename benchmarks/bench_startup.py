"""Start-up against a peer's: the help, and a manifest that is not there.

Processor seconds are reported beside wall seconds: they move less when the machine is busy.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Child, emit, interleaved, parser, ratios, run_child, stt_ru, summary

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = {
    "--help": ["--help"],
    "evaluate --help": ["evaluate", "--help"],
    "no manifest": ["evaluate", "no-such-manifest.csv"],
    "wrong manifest": ["evaluate", "wrong.csv"],
}
_CODES = {"no manifest": 2, "wrong manifest": 2}


def main() -> None:
    options = parser(__doc__, repeats=15)
    options.add_argument("--peer", type=Path, required=True, help="the other stt-ru")
    arguments = options.parse_args()
    peer = arguments.peer.absolute()
    with tempfile.TemporaryDirectory() as temporary:
        wrong = Path(temporary) / "wrong.csv"
        wrong.write_text("audio,text\nmissing.wav,привет\nnone.wav,\n", encoding="utf-8")
        for case, words in CASES.items():
            command = [str(wrong) if word == wrong.name else word for word in words]
            sides: dict[str, Callable[[], float]] = {}
            children: dict[str, list[Child]] = {"ours": [], "peer": []}
            for side, program in (("ours", stt_ru()), ("peer", [peer])):

                def run(
                    side: str = side, program: list[str | Path] = program, case: str = case
                ) -> float:
                    child = run_child([*program, *command])  # noqa: B023 - called in this turn
                    if side == "ours" and child.code != _CODES.get(case, 0):
                        raise SystemExit(f"{case}: exit code {child.code}\n{child.stderr}")
                    children[side].append(child)  # noqa: B023
                    return child.wall_s

                run()  # the first one reads the files from the disk
                children[side].clear()
                sides[side] = run
            measured = interleaved(sides, arguments.repeats)
            cpu = {side: [child.cpu_s for child in children[side]] for side in children}
            emit(
                arguments.output,
                "startup",
                case=case,
                ours_of_peer={
                    name: round(1 / value, 3)
                    for name, value in ratios(measured["peer"], measured["ours"]).items()
                },
                ours_of_peer_cpu={
                    name: round(1 / value, 3)
                    for name, value in ratios(cpu["peer"], cpu["ours"]).items()
                },
                ours_s=summary(measured["ours"]),
                peer_s=summary(measured["peer"]),
                ours_cpu_s=summary(cpu["ours"]),
                peer_cpu_s=summary(cpu["peer"]),
            )


if __name__ == "__main__":
    main()
