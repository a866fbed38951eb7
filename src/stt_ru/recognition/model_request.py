"""What the user meant by ``-m``: a name, a folder, or a recogniser of their own."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stt_ru.defaults import EMBEDDED
from stt_ru.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOOKS_LIKE_A_PATH: Final = re.compile(r"[A-Za-z]:[\\/].*|[./~\\].*")


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One ``-m``, taken apart; two equal ones are one model.

    Attributes:
        name: The model's name, or ``module:factory``.
        folder: Where its files are; None for Hugging Face or inside the package.
    """

    name: str
    folder: Path | None = None

    @property
    def is_factory(self) -> bool:
        """Whether a user-supplied recogniser is meant, as in ``my_model.py:make``."""
        module, _, function = self.name.rpartition(":")
        return self.folder is None and bool(module) and function.isidentifier()


def parse_models(values: Sequence[str], model_dir: Path | None) -> list[ModelRequest]:
    """Take the values of ``-m`` apart, each model once, in their order.

    Raises:
        UsageError: If one makes no sense.
    """
    requests = list(dict.fromkeys(parse_model(value) for value in values))
    if model_dir is None:
        return requests
    if len(requests) > 1:
        raise UsageError(
            "--model-dir годится для одной модели; для нескольких пишите -m ИМЯ=КАТАЛОГ у каждой"
        )
    (request,) = requests
    if request.folder is not None:
        raise UsageError(f"каталог модели {request.name} указан дважды: в -m и в --model-dir")
    _check_request(ModelRequest(request.name, model_dir), f"--model-dir {model_dir}")
    return [ModelRequest(request.name, model_dir)]


def parse_model(value: str, option: str = "-m") -> ModelRequest:
    """Take one value apart.

    Args:
        value: What the user wrote.
        option: After which option.

    Raises:
        UsageError: If it makes no sense.
    """
    name, equals, folder = value.partition("=")
    if not name.strip() or (equals and not folder.strip()):
        raise UsageError(f"{option} «{value}»: нужно ИМЯ, ИМЯ=КАТАЛОГ или МОДУЛЬ:ФУНКЦИЯ")
    request = ModelRequest(name.strip(), Path(folder) if equals else None)
    _check_request(request, f"{option} {value}")
    return request


def _check_request(request: ModelRequest, option: str) -> None:
    """Refuse what can only be a slip of the pen, in a sentence that begins with ``option``."""
    name, folder = request.name, request.folder
    if folder is not None:
        if not folder.exists():
            raise UsageError(f"{option}: нет каталога {folder} с файлами модели {name}")
        if not folder.is_dir():
            raise UsageError(
                f"{option}: {folder} – не каталог; укажите каталог с файлами модели {name}"
            )
    elif request.is_factory:
        return
    elif name.endswith(".py"):
        raise UsageError(
            f"{option}: назовите и функцию, которая делает распознаватель: -m {name}:ФУНКЦИЯ"
        )
    elif _LOOKS_LIKE_A_PATH.fullmatch(name):
        raise UsageError(
            f"{option}: похоже на каталог; назовите и вид модели: -m ИМЯ=КАТАЛОГ, например "
            f"-m gigaam-v3-ctc={name}"
        )
    elif ":" in name:
        raise UsageError(f"{option}: после «:» нужно имя функции, как в -m МОДУЛЬ:ФУНКЦИЯ")


def labels(requests: Sequence[ModelRequest]) -> list[str]:
    """Names for the table: those that occur twice show their folders."""
    times = Counter(request.name for request in requests)
    return [_label(request, is_alone=times[request.name] == 1) for request in requests]


def _label(request: ModelRequest, *, is_alone: bool) -> str:
    if request.folder is None and request.name in EMBEDDED:
        return f"{request.name} (демонстрационная)"
    return request.name if is_alone else f"{request.name} ({request.folder or 'Hugging Face'})"
