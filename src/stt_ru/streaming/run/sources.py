"""Models selected with ``-m``: streaming models, and file recognisers adapted to stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from stt_ru.defaults import EMBEDDED_STREAMING_MODEL as TINY
from stt_ru.errors import ModelLoadError, SttRuError, UsageError, sentence_of
from stt_ru.recognition.recognizer import asking, checked_name, checked_settings, is_recognizer
from stt_ru.streaming.engines.adapters import OfflineToStreaming
from stt_ru.streaming.engines.model import DummyASR, StreamingASR
from stt_ru.streaming.engines.tiny_ru import TinyRuStream
from stt_ru.streaming.engines.vendors import SHERPA, VOSK, SherpaStream, VoskStream
from stt_ru.streaming.run.whole_recordings import StreamingToOffline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from stt_ru.recognition.recognizer import LoadedRecognizer

DUMMY: Final = DummyASR.name

STREAMING_ENGINES: Final = (TINY, SHERPA, VOSK)
"""Names of the native streaming models that can also be measured on whole recordings."""

STREAMING_MODELS: Final = (*STREAMING_ENGINES, DUMMY)
"""Names of all native streaming models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamInfo:
    """A streaming model's own description, read once, by `stream_info`.

    Attributes:
        name: The name shown in reports.
        settings: Fields of the report's signature: everything that can change the text.
        is_multithreaded: Whether it starts its own threads, so that its times cannot be remapped.
    """

    name: str
    settings: Mapping[str, str]
    is_multithreaded: bool


def stream_info(asr: StreamingASR) -> StreamInfo:
    """Read a streaming model's own description.

    Raises:
        UsageError: If an attribute is invalid or raises.
    """
    with asking(asr, "is_multithreaded"):
        is_multithreaded = bool(asr.is_multithreaded)
    return StreamInfo(
        name=checked_name(asr),
        settings=checked_settings(asr) or {},
        is_multithreaded=is_multithreaded,
    )


@dataclass(frozen=True, slots=True)
class LoadedStream:
    """A model in memory.

    Attributes:
        asr: The streaming model, not running.
        offline: The same model as a file recogniser; None if there is none.
        warnings: Sentences in Russian about the loading.
        info: The model's own description, read when it was loaded.

    Raises:
        UsageError: If the description is invalid.
    """

    asr: StreamingASR
    offline: LoadedRecognizer | None = None
    warnings: tuple[str, ...] = ()
    info: StreamInfo = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "info", stream_info(self.asr))


@dataclass(frozen=True, slots=True)
class StreamSource:
    """A model that can be loaded when its turn comes.

    Attributes:
        name: The name given by the user.
        label: The name shown in the table.
        load: Loads the model; an exception becomes the report's error.
    """

    name: str
    label: str
    load: Callable[[], LoadedStream]


def stream_source(
    name: str,
    folder: Path | None,
    label: str,
    *,
    step_s: float,
    settings: Mapping[str, Any],
) -> StreamSource:
    """A model by its name, loaded when its turn comes.

    Args:
        name: One of `STREAMING_MODELS`, or of `stt_ru.Transcriber`.
        folder: Folder with the model's files; None for the default one.
        label: The name shown in the table.
        step_s: Seconds of audio between two recognitions by a file recogniser.
        settings: Arguments of `stt_ru.Transcriber`.
    """
    if name in STREAMING_MODELS:
        return StreamSource(name, label, partial(_own, name, folder))
    return StreamSource(name, label, partial(_transcriber, name, folder, step_s, settings))


def check_streaming_model(name: str, folder: Path | None) -> None:
    """Check that one of `STREAMING_MODELS` has a folder if, and only if, it needs one.

    Raises:
        UsageError: If not; the message says how to specify it.
    """
    if name in (SHERPA, VOSK) and folder is None:
        raise UsageError(f"модели {name} нужен каталог с её файлами: -m {name}=КАТАЛОГ")
    if name == DUMMY and folder is not None:
        raise UsageError(f"у модели {name} нет файлов: уберите «={folder}»")


def streaming_recognizer(
    name: str, folder: Path | None, *, split_channels: bool = True
) -> StreamingToOffline:
    """A native streaming model adapted to whole recordings.

    Args:
        name: One of `STREAMING_ENGINES`.
        folder: Folder with the model's files; None for the default one.
        split_channels: Recognise each distinct channel separately; False for the mean of all.

    Raises:
        ModelLoadError, MissingExtraError: If it cannot be loaded.
    """
    return StreamingToOffline(_own(name, folder).asr, split_channels=split_channels)


def factory_source(
    name: str, label: str, factory: Callable[[], Any], *, step_s: float
) -> StreamSource:
    """A user-supplied model: a function that returns a `StreamingASR` or a `Recognizer`."""
    return StreamSource(name, label, partial(_made, name, factory, step_s))


def _own(name: str, folder: Path | None) -> LoadedStream:
    if name == TINY:
        return LoadedStream(TinyRuStream(folder))
    if name == DUMMY:
        return LoadedStream(DummyASR())
    assert folder is not None, "checked before"
    return LoadedStream(SherpaStream(folder) if name == SHERPA else VoskStream(folder))


def _transcriber(
    name: str, folder: Path | None, step_s: float, settings: Mapping[str, Any]
) -> LoadedStream:
    from stt_ru.recognition.transcriber import Transcriber

    recognizer = Transcriber(name, model_dir=folder, **settings)
    asr = OfflineToStreaming(recognizer, step_s)
    return LoadedStream(asr, asr.loaded, asr.loaded.info.warnings)


def _made(name: str, factory: Callable[[], Any], step_s: float) -> LoadedStream:
    try:
        made = factory()
    except SttRuError:
        raise
    except BaseException as error:  # user code may raise `SystemExit`
        raise ModelLoadError(sentence_of(error)) from error
    if isinstance(made, StreamingASR):
        return LoadedStream(made)
    if is_recognizer(made):
        asr = OfflineToStreaming(made, step_s)
        return LoadedStream(asr, asr.loaded)
    raise UsageError(
        f"-m {name}: функция вернула {type(made).__name__}, а нужен StreamingASR или распознаватель"
    )
