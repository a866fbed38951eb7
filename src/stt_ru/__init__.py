"""Measure Russian speech recognition: WER, CER and speed of models on one's own recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stt_ru.recognition.segmentation import VadOptions
    from stt_ru.recognition.transcriber import Recognizer, Transcriber, Transcript
    from stt_ru.results import Segment

__all__ = ["Recognizer", "Segment", "Transcriber", "Transcript", "VadOptions", "__version__"]


def __getattr__(name: str) -> Any:  # the heavy libraries load on first use (PEP 562)
    if name == "__version__":
        from importlib.metadata import version

        return version("stt-ru")
    if name in __all__:
        from stt_ru.recognition import transcriber

        return getattr(transcriber, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
