"""What the commands that recognise do alike: requests checked, models run until the user stops.

Light on purpose: a wrong manifest loads no heavy library.
"""

from __future__ import annotations

import os
import sys
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from stt_ru.cli.interrupts import Interrupted, finishing
from stt_ru.cli.stdio import print_message
from stt_ru.defaults import MAX_SPEECH_S
from stt_ru.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from stt_ru.evaluation import ProgressListener
    from stt_ru.recognition.model_request import ModelRequest

Report = TypeVar("Report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """How models of onnx-asr are to recognise, as the options of a command say it.

    Attributes:
        quantization: Weights; None for the full ones.
        language: Of the speech.
        device: What computes.
        offline: Whether the network is not to be asked.
        no_vad: Whether speech is not to be searched for.
        vad_dir: Folder of the VAD's file; None for its own place.
        vad: Values of `VadOptions` by their names; the rest are the defaults.
    """

    quantization: str | None
    language: str
    device: str
    offline: bool
    no_vad: bool
    vad_dir: Path | None
    vad: Mapping[str, float] = field(default_factory=dict)

    @property
    def max_speech_s(self) -> float:
        """The longest stretch that a model is given."""
        return self.vad.get("max_speech_s", MAX_SPEECH_S)

    def check(self) -> None:
        """Refuse a search for speech that is asked for and forbidden at once.

        Raises:
            UsageError: Saying so.
        """
        if self.no_vad and self.vad_dir is not None:
            raise UsageError("--no-vad и --vad-dir вместе не имеют смысла: оставьте одно из двух")

    def settings(self) -> dict[str, Any]:
        """Arguments of `stt_ru.Transcriber`; takes the heavy libraries.

        Raises:
            UsageError: If the device is not there.
        """
        from stt_ru.recognition.onnx_models import providers_for
        from stt_ru.recognition.segmentation import VadOptions

        return {
            "quantization": self.quantization,
            "language": self.language,
            "providers": providers_for(self.device),
            "vad": None if self.no_vad else VadOptions(**self.vad),
            "vad_dir": self.vad_dir,
            "longest_s": self.max_speech_s,
            "offline": self.offline,
        }


def check_models(
    requests: Sequence[ModelRequest], streaming: Sequence[str], recognition: Recognition
) -> None:
    """Refuse what cannot be loaded, before anything is; takes the heavy libraries.

    Args:
        requests: The models asked for.
        streaming: Names of models that stream by themselves, which the command knows.
        recognition: How they are to recognise.

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
            check_request(request.name, recognition.language, recognition.max_speech_s)
    if recognition.vad_dir is not None:
        check_vad_folder(recognition.vad_dir)


def without_effect(
    requests: Sequence[ModelRequest],
    streaming: Sequence[str],
    given: Collection[str],
    only_others: Sequence[str],
) -> list[str]:
    """What to say of options that streaming models do not heed; nothing without either.

    Args:
        requests: The models asked for.
        streaming: Names of models that stream by themselves, which the command knows.
        given: Names of the parameters that the user gave.
        only_others: Names of those that only other models heed.
    """
    models = dict.fromkeys(request.name for request in requests if request.name in streaming)
    names = [f"--{name.replace('_', '-')}" for name in only_others if name in given]
    if not models or not names:
        return []
    return [f"на потоковые модели ({', '.join(models)}) не действуют параметры: {', '.join(names)}"]


def forbid_network() -> None:
    """Keep Hugging Face's library, which reads it when it is loaded, from the network."""
    os.environ["HF_HUB_OFFLINE"] = "1"


def run_models(
    evaluate: Callable[[ProgressListener], Iterable[Report]],
    *,
    expected: int,
    keep: Callable[[Sequence[Report]], None],
    quiet: bool,
) -> tuple[list[Report], Interrupted | None]:
    """Take the reports one after another until the user interrupts, which is reported.

    Stdout is the table's: what a recogniser of the user's prints goes where messages go. Relative
    paths are of the folder the user stands in, which a recogniser may leave.

    Args:
        evaluate: Makes the reports; called with the progress listener.
        expected: How many reports there will be.
        keep: Saves those that are complete before the next model loads, whose code may end the
            process.
        quiet: Show none.

    Returns:
        The reports that were complete, and how the user stopped it; None when all are there.
    """
    from stt_ru.cli.progress import progress_view

    reports: list[Report] = []
    here = Path.cwd()
    try:
        with (
            chdir(here),
            progress_view(quiet=quiet) as progress,
            redirect_stdout(sys.stderr),
            no_quiet_exit(),
        ):
            for report in evaluate(progress):
                reports.append(report)
                os.chdir(here)
                if len(reports) < expected:
                    keep(reports)
    except Interrupted as interruption:
        left = f"в таблице то, что оценено целиком, строк: {len(reports)}"
        print_message(f"Прервано: {left if reports else 'целиком не оценена ни одна модель'}")
        return reports, interruption
    return reports, None


@contextmanager
def no_quiet_exit() -> Iterator[None]:
    """User-supplied code that ends the process by ``os._exit`` does not end it with success."""
    leave = os._exit

    def refuse(status: int) -> NoReturn:
        print_message(
            f"Ошибка: код распознавателя завершил программу (os._exit({status})); сохранены "
            "модели, оценённые до этого"
        )
        leave(status or 1)

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = leave


def finish(save: Callable[[], int], interrupted: Interrupted | None) -> int:
    """Print and save what is complete; a signal waits for it.

    Args:
        save: Does it, and returns its exit code.
        interrupted: How the user stopped the work before; None when all is done.

    Returns:
        The exit code of the command.
    """
    with finishing() as late:
        code = save()
    if interrupted is not None:
        code = interrupted.exit_code
    return late.exit_code or code
