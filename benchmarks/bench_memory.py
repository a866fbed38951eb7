"""Peak memory of `stt-ru evaluate` against the length of a recording and the number of rows.

The recordings are made here: telephone sound (8 kHz, A-law) joined from the manifest's recordings
with pauses between, as much speech as ``--speech-share`` says. Each case is a process of its own.
The growth is over the first case of its series, one minute or ten rows.

A model is NAME=FOLDER (with the VAD), tiny-ru (which cuts by itself) or tiny-ru+vad.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile as sf
from measuring import EMBEDDED_FOLDER, emit, parser, read_rows, run_child, stt_ru, write_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_RATE = 8_000


def make_recording(path: Path, length_s: float, speech: NDArray[np.float32], share: float) -> None:
    """Write a recording in which speech and pauses alternate, in pieces of a minute."""
    n_left = round(length_s * _RATE)
    speech_at = 0
    n_speech = round(6 * _RATE)  # stretches of 6 s, pauses to match
    n_pause = round(n_speech * (1 / share - 1))
    piece = np.zeros(n_speech + n_pause, np.float32)
    with sf.SoundFile(path, "w", _RATE, 1, subtype="ALAW", format="WAV") as file:
        while n_left > 0:
            piece[:n_speech] = np.take(
                speech, np.arange(speech_at, speech_at + n_speech), mode="wrap"
            )
            speech_at = (speech_at + n_speech) % len(speech)
            file.write(piece[:n_left])
            n_left -= len(piece)


def join_speech(rows: Sequence[dict[str, Any]]) -> NDArray[np.float32]:
    """The recordings of a manifest one after another."""
    parts = []
    for row in rows:
        samples, rate = sf.read(row["audio"], dtype="float32", always_2d=True)
        if rate == _RATE:
            parts.append(samples[:, 0])
    return np.concatenate(parts)


def model_arguments(model: str, vad_folder: Path | None) -> list[str]:
    """Arguments of the command for a model."""
    vad = [] if vad_folder is None else ["--vad-dir", str(vad_folder)]
    if model == "tiny-ru":
        return ["-m", model]
    if model == "tiny-ru+vad":
        folder = f"nemo-conformer-ctc={EMBEDDED_FOLDER}"
        return ["-m", folder, "--quantization", "none", *vad]
    return ["-m", model, *vad]


def main() -> None:
    options = parser(__doc__, repeats=1)
    options.add_argument("model", help="NAME=FOLDER, tiny-ru or tiny-ru+vad")
    options.add_argument("--vad-dir", type=Path, help="folder of silero_vad.onnx")
    options.add_argument("--manifest", type=Path, required=True, help="JSON Lines, 8 kHz speech")
    options.add_argument("--lengths", type=float, nargs="*", default=[60, 3_600, 36_000])
    options.add_argument("--rows", type=int, nargs="*", default=[10, 10_000])
    options.add_argument("--workers", nargs="*", default=["auto"], help="for both series")
    options.add_argument("--speech-share", type=float, default=0.5)
    arguments = options.parse_args()
    speech = join_speech(read_rows(arguments.manifest, None))
    model = model_arguments(arguments.model, arguments.vad_dir)
    series = [("length", arguments.lengths), ("rows", arguments.rows)]
    for workers in arguments.workers:
        for name, sizes in series:
            first_mb: float | None = None
            for size in sizes:
                with tempfile.TemporaryDirectory() as temporary:
                    folder = Path(temporary)
                    manifest = _prepare(folder, name, size, speech, arguments.speech_share)
                    command = [*stt_ru(), "evaluate", manifest, *model, "--workers", workers]
                    child = run_child([*command, "-q", "-o", folder / "report.json"])
                if child.code:
                    raise SystemExit(child.stdout + child.stderr)
                first_mb = child.peak_mb if first_mb is None else first_mb
                emit(
                    arguments.output,
                    "memory",
                    model=arguments.model.partition("=")[0],
                    series=name,
                    size=size,
                    workers=workers,
                    speech_share=arguments.speech_share,
                    peak_mb=round(child.peak_mb),
                    growth_mb=round(child.peak_mb - first_mb),
                    wall_s=round(child.wall_s, 1),
                    cpu_s=round(child.cpu_s, 1),
                )


def _prepare(
    folder: Path, series: str, size: float, speech: NDArray[np.float32], share: float
) -> Path:
    if series == "length":
        make_recording(folder / "long.wav", size, speech, share)
        return write_rows([{"audio": "long.wav", "text": "слово"}], folder / "eval.jsonl")
    # A hundred recordings of ever other lengths, copied: two names of one file are one recording.
    rows = []
    for row in range(int(size)):
        name, source = f"{row}.wav", folder / f"{row % 100}.wav"
        if row < 100:
            make_recording(folder / name, 0.5 + 0.0171 * row, np.roll(speech, -row * _RATE), 1.0)
        else:
            shutil.copyfile(source, folder / name)
        rows.append({"audio": name, "text": "слово"})
    return write_rows(rows, folder / "eval.jsonl")


if __name__ == "__main__":
    main()
