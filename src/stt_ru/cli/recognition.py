"""What the commands that recognise do alike, before a model is loaded.

Light on purpose: a wrong manifest loads no heavy library.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from stt_ru.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from stt_ru.cli.models import ModelRequest


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
    from stt_ru.onnx_models import check_model_name
    from stt_ru.streaming.sources import check_streaming_model
    from stt_ru.transcriber import check_request, check_vad_folder

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
