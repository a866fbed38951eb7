"""What the commands that recognise do alike: requests checked, models run until the user stops.

Light on purpose: a wrong manifest loads no heavy library.
"""

from __future__ import annotations

import os
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from stt_ru.cli.interrupts import Interrupted
from stt_ru.cli.stdio import print_message
from stt_ru.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from stt_ru.evaluation import ProgressListener
    from stt_ru.recognition.model_request import ModelRequest

Report = TypeVar("Report")


def check_vad(*, no_vad: bool, vad_dir: Path | None) -> None:
    """Refuse a search for speech that is asked for and forbidden at once.

    Raises:
        UsageError: Saying so.
    """
    if no_vad and vad_dir is not None:
        raise UsageError("--no-vad и --vad-dir вместе не имеют смысла: оставьте одно из двух")


def check_models(
    requests: Sequence[ModelRequest],
    streaming: Sequence[str],
    *,
    language: str,
    max_speech_s: float,
    vad_dir: Path | None,
) -> None:
    """Refuse what cannot be loaded, before anything is; takes the heavy libraries.

    Args:
        requests: The models asked for.
        streaming: Names of models that stream by themselves, which the command knows.
        language: Of the speech.
        max_speech_s: The longest stretch that a model is given.
        vad_dir: Folder of the VAD's file; None for its own place.

    Raises:
        UsageError: Saying what is wrong.
    """
    from stt_ru.recognition.onnx_models import check_model_name
    from stt_ru.recognition.transcriber import check_request, check_vad_folder
    from stt_ru.streaming.run.sources import check_streaming_model

    for request in requests:
        if request.name in streaming:
            check_streaming_model(request.name, request.folder)
        elif not request.is_factory:
            has_folder = request.folder is not None
            check_model_name(request.name, has_folder=has_folder, also=streaming)
            check_request(request.name, language, max_speech_s)
    if vad_dir is not None:
        check_vad_folder(vad_dir)


def without_effect(
    requests: Sequence[ModelRequest], streaming: Sequence[str], given: Mapping[str, bool]
) -> list[str]:
    """What to say of options that streaming models do not heed; nothing without either.

    Args:
        requests: The models asked for.
        streaming: Names of models that stream by themselves, which the command knows.
        given: The options that only other models heed, and whether each was given.
    """
    models = dict.fromkeys(request.name for request in requests if request.name in streaming)
    names = [name for name, is_given in given.items() if is_given]
    if not models or not names:
        return []
    return [f"на потоковые модели ({', '.join(models)}) не действуют параметры: {', '.join(names)}"]


def forbid_network() -> None:
    """Keep Hugging Face's library, which reads it when it is loaded, from the network."""
    os.environ["HF_HUB_OFFLINE"] = "1"


def run_models(
    evaluate: Callable[[ProgressListener], Iterable[Report]], *, quiet: bool
) -> tuple[list[Report], Interrupted | None]:
    """Take the reports one after another, as far as the user lets it; where it ends is said.

    Stdout is the table's: what a recogniser of the user's prints goes where messages go. Relative
    paths are of the folder the user stands in, which a recogniser may leave.

    Args:
        evaluate: Makes the reports, and is told whom to show the progress.
        quiet: Show none.

    Returns:
        The reports that were complete, and how the user stopped it; None when all are there.
    """
    from stt_ru.cli.progress import progress_view

    reports: list[Report] = []
    here = Path.cwd()
    try:
        with chdir(here), progress_view(quiet=quiet) as progress, redirect_stdout(sys.stderr):
            for report in evaluate(progress):
                reports.append(report)
                os.chdir(here)
    except Interrupted as interruption:
        left = f"в таблице то, что оценено целиком, строк: {len(reports)}"
        print_message(f"Прервано: {left if reports else 'целиком не оценена ни одна модель'}")
        return reports, interruption
    return reports, None
