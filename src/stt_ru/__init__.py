"""Measure Russian speech recognition: WER, CER and speed of models on your own recordings."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stt_ru.recognition.recognizer import Recognizer, Transcript
    from stt_ru.recognition.segmentation import VadOptions
    from stt_ru.recognition.transcriber import Transcriber
    from stt_ru.results import Segment

_MODULE_OF: Final = {  # the heavy libraries load on first use (PEP 562)
    "Recognizer": "stt_ru.recognition.recognizer",
    "Segment": "stt_ru.results",
    "Transcriber": "stt_ru.recognition.transcriber",
    "Transcript": "stt_ru.recognition.recognizer",
    "VadOptions": "stt_ru.recognition.segmentation",
}

__all__ = ["Recognizer", "Segment", "Transcriber", "Transcript", "VadOptions", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("stt-ru")
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
