"""Models and VAD as onnx-asr loads them: names, folders, weights, devices, plain errors."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, get_args

import onnxruntime
from onnx_asr.loader import (
    AsrNames,
    AsrTypeNames,
    Manager,
    create_asr_resolver,
    create_vad_resolver,
)
from onnx_asr.utils import (
    InvalidModelTypeInConfigError,
    MoreThanOneModelFileFoundError,
)

from stt_ru.defaults import DEFAULT_MODEL, DEVICES, EMBEDDED_MODEL
from stt_ru.errors import ModelLoadError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from onnx_asr.asr import TimestampedResult
    from onnx_asr.resolver import Resolver

    from stt_ru.recognition.segmentation import VoiceDetector

_EMBEDDED_TYPE: Final = "nemo-conformer-ctc"
VAD_FILE: Final = "silero_vad.onnx"

_PROVIDERS: Final[dict[str, str]] = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "directml": "DmlExecutionProvider",
}
_PROVIDER_HINTS: Final[dict[str, str]] = {
    "cuda": "поставьте onnxruntime-gpu вместо onnxruntime и драйвер NVIDIA",
    "coreml": "CoreML есть только на macOS",
    "directml": "поставьте onnxruntime-directml вместо onnxruntime (только Windows)",
}


class SpeechModel(Protocol):
    """The part of onnx-asr's adapter that is used."""

    def recognize(
        self, waveform: list[str | Path | NDArray[np.float32]], *, language: str | None = None
    ) -> list[TimestampedResult]:
        """What was heard in a batch of waveforms, each of shape (n,) at 16 kHz."""
        ...


def word_starts(heard: TimestampedResult) -> list[float]:
    """Where each word between blanks of the text begins, seconds; empty when it is not known.

    Blanks of the text differ from those of its tokens («да .»), letters do not: a word begins with
    the token of its first letter.

    Example:
        >>> from onnx_asr.asr import TimestampedResult
        >>> word_starts(TimestampedResult("да, нет", [0.1, 0.2, 0.7], [" да", " ,", " нет"]))
        [0.1, 0.7]
    """
    if heard.timestamps is None or heard.tokens is None:
        return []
    times = [
        time_s
        for token, time_s in zip(heard.tokens, heard.timestamps, strict=True)
        for _ in "".join(token.split())
    ]
    words = heard.text.split()
    if len(times) != sum(map(len, words)):
        return []  # e.g. a letter of several byte tokens
    firsts = accumulate((len(word) for word in words), initial=0)
    return [times[first] for first, _ in zip(firsts, words, strict=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A model in memory and what there is to say about it.

    Attributes:
        adapter: Recognises batches of waveforms.
        weights: First 12 hex digits of the SHA-256 over the model's files.
        quantization: What was found, e.g. ``int8``; None for full weights.
        provider: ONNX Runtime's first provider, e.g. ``CPUExecutionProvider``.
        warnings: Sentences in Russian.
    """

    adapter: SpeechModel
    weights: str
    quantization: str | None
    provider: str
    warnings: tuple[str, ...]


def known_models() -> tuple[str, ...]:
    """Names that can be asked for without a folder."""
    return (EMBEDDED_MODEL, *get_args(AsrNames))


def check_model_name(name: str, *, has_folder: bool, also: Sequence[str] = ()) -> None:
    """Refuse a name that nothing can be loaded by.

    A name with «/» is one of Hugging Face and is checked when it is loaded.

    Args:
        name: What the user asked for.
        has_folder: Whether its files are in a folder that was named.
        also: Names of models that others than onnx-asr load.

    Raises:
        UsageError: With the nearest known names.
    """
    names = (*known_models(), *also)
    types = get_args(AsrTypeNames)
    if "/" in name or name in names or (has_folder and name in types):
        return
    if name in types:
        raise UsageError(
            f"«{name}» – вид модели, а не модель: укажите каталог с её файлами, -m {name}=КАТАЛОГ"
        )
    candidates = (*names, *types) if has_folder else names
    near = [known for known in candidates if name.lower() in known.lower()]
    near = near or difflib.get_close_matches(name, candidates, n=3, cutoff=0.5)
    near.sort(key=lambda known: known != DEFAULT_MODEL)
    hint = f"похожие: {', '.join(near)}; все" if near else "известные"
    raise UsageError(f"нет модели «{name}»; {hint}: {', '.join(candidates)}")


def providers_for(device: str) -> list[str]:
    """ONNX Runtime providers for a device, best first.

    ``auto`` is CUDA or DirectML where the installed onnxruntime has it, else the CPU.

    Raises:
        UsageError: If the installed onnxruntime has no such provider.
    """
    available = onnxruntime.get_available_providers()
    cpu = _PROVIDERS["cpu"]
    if device == "auto":
        accelerators = (_PROVIDERS["cuda"], _PROVIDERS["directml"])
        return [*(name for name in accelerators if name in available), cpu]
    if device not in _PROVIDERS:
        raise UsageError(f"нет устройства «{device}»; есть: {', '.join(DEVICES)}")
    provider = _PROVIDERS[device]
    if provider not in available:
        raise UsageError(
            f"устройство {device} недоступно: в установленном onnxruntime нет {provider}; "
            f"{_PROVIDER_HINTS[device]}, или возьмите --device cpu"
        )
    return [provider] if provider == cpu else [provider, cpu]


def _check_providers(providers: Sequence[str]) -> None:
    available = onnxruntime.get_available_providers()
    if not providers or set(providers) - set(available):
        raise UsageError(
            f"провайдеры ONNX Runtime {list(providers)}: в установленном onnxruntime есть "
            f"{', '.join(available)}"
        )


def session_options(intra_op_threads: int) -> onnxruntime.SessionOptions:
    """Options for a session that shares the processor with others.

    Args:
        intra_op_threads: Threads inside one run.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = intra_op_threads
    options.inter_op_num_threads = 1
    # A plan of memory is kept for each new input length, and lengths hardly repeat.
    options.enable_mem_pattern = False
    if intra_op_threads == 1:
        return options
    # Threads that spin while they wait take the processor from the decoders and the VAD.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def load_model(
    name: str,
    *,
    folder: Path | None,
    quantization: str | None,
    providers: Sequence[str],
    intra_op_threads: int,
    offline: bool,
) -> LoadedModel:
    """Load a model by its name from Hugging Face's cache, the network, or a folder.

    Raises:
        UsageError: If there is no such name.
        ModelLoadError: If its files are absent, incomplete or broken, with what to do.
    """
    check_model_name(name, has_folder=folder is not None)
    _check_providers(providers)
    asr_name = name
    is_embedded = name == EMBEDDED_MODEL and folder is None
    if name == EMBEDDED_MODEL:
        asr_name = _EMBEDDED_TYPE
    if is_embedded:
        folder, quantization = _embedded_folder(), None  # int8 under the plain name
    elif folder is not None:
        _check_folder(name, folder)
    warnings: list[str] = []
    resolver = _resolver(asr_name, name, folder, offline=offline)
    try:
        model_files = resolver.resolve_model(quantization=quantization)
    except MoreThanOneModelFileFoundError as error:
        raise ModelLoadError(
            f"в каталоге модели {name} несколько подходящих файлов: {error}"
        ) from error
    except FileNotFoundError as error:
        if quantization is None:
            wanted = _wanted_files(resolver, (None,))
            raise _files_missing(name, wanted, folder, error, offline=offline) from error
        try:
            model_files = resolver.resolve_model(quantization=None)
        except FileNotFoundError as second:
            wanted = _wanted_files(resolver, (quantization, None))
            raise _files_missing(name, wanted, folder, second, offline=offline) from second
        warnings.append(f"весов {quantization} у модели {name} нет, взяты полные")
        quantization = None
    except Exception as error:
        raise _no_download(name, error) from error
    try:
        manager = Manager(session_options(intra_op_threads), list(providers))
        # What has just been found is on the disk: the second look needs no network.
        adapter: Any = manager.create_asr(asr_name, folder, quantization=quantization, offline=True)
    except Exception as error:
        raise ModelLoadError(
            f"файлы модели {name} повреждены или не от неё: {_first_line(error)}"
        ) from error
    return LoadedModel(
        adapter=adapter.with_timestamps(),
        weights=weights_digest(model_files.values()),
        quantization="int8" if is_embedded else quantization,
        provider=_provider(adapter.asr) or providers[0],
        warnings=tuple(warnings),
    )


def load_vad(folder: Path | None, *, offline: bool) -> VoiceDetector:
    """Load Silero VAD from a folder or from Hugging Face.

    Raises:
        ModelLoadError: If it cannot be had, with what to do.
    """
    try:
        resolver = create_vad_resolver("silero", folder, offline=offline or None)
        resolver.resolve_model()
    except FileNotFoundError as error:
        if folder is None and not offline:
            raise _vad_not_downloaded(error) from error
        where = _hub_folder("silero") if folder is None else folder
        raise ModelLoadError(f"нет файла VAD {VAD_FILE} в {where}; {vad_advice()}") from error
    except Exception as error:
        raise _vad_not_downloaded(error) from error
    options = session_options(intra_op_threads=1)
    try:
        manager = Manager()
        detector: Any = manager.create_vad(
            "silero",
            folder,
            offline=True,
            config={"sess_options": options, "providers": [_PROVIDERS["cpu"]]},
        )
    except Exception as error:
        raise ModelLoadError(f"VAD Silero не загрузился: {_first_line(error)}") from error
    checked: VoiceDetector = detector
    return checked


def _vad_not_downloaded(error: Exception) -> ModelLoadError:
    return ModelLoadError(
        f"VAD Silero не скачался с Hugging Face: {_first_line(error)} Проверьте сеть или "
        f"{vad_advice()}"
    )


def vad_advice() -> str:
    """What to do when there is no VAD."""
    return (
        f"положите файл {VAD_FILE} (репозиторий istupakov/silero-vad-onnx на Hugging Face) "
        "в каталог и укажите --vad-dir КАТАЛОГ"
    )


def _provider(model: object) -> str | None:
    """The provider that the model's sessions really run on; None when it has none."""
    for session in vars(model).values():
        if isinstance(session, onnxruntime.InferenceSession):
            provider: str = session.get_providers()[0]
            return provider
    return None


def _embedded_folder() -> Path:
    return Path(str(files("stt_ru"))) / "models" / "tiny_ru"


def _check_folder(name: str, folder: Path) -> None:
    if not folder.exists():
        raise ModelLoadError(f"нет каталога {folder} с файлами модели {name}")
    if not folder.is_dir():
        raise ModelLoadError(f"{folder} – не каталог; укажите каталог с файлами модели {name}")


def _resolver(asr_name: str, name: str, folder: Path | None, *, offline: bool) -> Resolver[Any]:
    try:
        return create_asr_resolver(asr_name, folder, offline=offline or None)
    except FileNotFoundError as error:
        raise _files_missing(name, "config.json", folder, error, offline=offline) from error
    except InvalidModelTypeInConfigError as error:
        raise ModelLoadError(
            f"onnx-asr не знает вида модели {name} ({error}); "
            f"виды: {', '.join(get_args(AsrTypeNames))}"
        ) from error
    except Exception as error:
        raise _no_download(name, error) from error


def _wanted_files(resolver: Resolver[Any], quantizations: Sequence[str | None]) -> str:
    return " или ".join(
        ", ".join(sorted(set(resolver.model_type._get_model_files(quantization).values())))
        for quantization in quantizations
    )


def _files_missing(
    name: str, wanted: str, folder: Path | None, error: Exception, *, offline: bool
) -> ModelLoadError:
    marks = " («?» – любой знак, «*» – любые)" if set("?*") & set(wanted) else ""
    if folder is not None:
        return ModelLoadError(f"в каталоге {folder} нет файлов модели {name}: {wanted}{marks}")
    by_hand = f"положите файлы модели в каталог и укажите -m {name}=КАТАЛОГ"
    place = _hub_folder(name)
    if offline:
        return ModelLoadError(
            f"модели {name} нет на этом компьютере: искали {wanted}{marks} в {place}; "
            f"уберите --offline, чтобы скачать её, или {by_hand}"
        )
    return ModelLoadError(
        f"модели {name} нет в {place}, и с Hugging Face она не скачалась: {_first_line(error)} "
        f"Проверьте имя и сеть или {by_hand}; нужны {wanted}{marks}"
    )


def _no_download(name: str, error: Exception) -> ModelLoadError:
    return ModelLoadError(
        f"модель {name} не скачалась с Hugging Face: {_first_line(error)} Проверьте имя и сеть "
        f"или укажите каталог с файлами: -m {name}=КАТАЛОГ"
    )


def _hub_folder(name: str) -> Path:
    from huggingface_hub.constants import HF_HUB_CACHE  # the network's client: only for a message
    from onnx_asr.resolver import model_repos

    repo = model_repos.get(name, name)
    return Path(HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}"


def weights_digest(paths: Iterable[str | Path]) -> str:
    """First 12 hex digits of the SHA-256 over files, and over the weights kept beside graphs."""
    digest = hashlib.sha256()
    for path in sorted({Path(path) for path in paths}):
        data = sorted(path.parent.glob(f"{path.stem}.onnx?data"))  # weights kept beside the graph
        for file in (path, *data):
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:12]


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = lines[0] if lines else type(error).__name__
    return line if line.endswith(".") else f"{line}."
