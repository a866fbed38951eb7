"""Evaluation of streaming recognition: latency, stability and accuracy while the audio plays.

waveform ──► sender ──► InputBuffer ──► StreamingASR ──► OutputBuffer ──► caller
└──────── history of chunks, remapped to the schedule ──────────┘
history + words in time (timings) ──► partial alignments ──► figures, plots
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_MODULES: Final = {  # which module defines which names; loaded on first use (PEP 562)
    "queue.buffer": ("Exit", "RecordingId", "StreamingQueue"),
    "queue.chunks": (
        "AUDIO_CHUNK_TYPE",
        "CHUNK_TYPE",
        "ASRStreamingQueue",
        "InputBuffer",
        "InputChunk",
        "OutputBuffer",
        "OutputChunk",
        "Signal",
        "TranscriptionChunk",
        "check_consistency",
        "convert_audio_format",
    ),
    "engines.model": ("DummyASR", "StreamingASR"),
    "engines.adapters": ("OfflineToStreaming",),
    "run.whole_recordings": ("StreamingToOffline",),
    "schedule.sender": ("Cutoff", "StreamingSender", "get_uniform_cutoffs", "make_sender"),
    "schedule.caller": ("receive_transcription", "transcribe_parallel"),
    "schedule.remap": ("remap_time",),
    "run.history": ("History", "load_history", "save_history"),
    "timing.transcription": ("Token", "Transcription", "timed_transcription"),
    "timing.timings": ("fill_word_timings_inplace",),
    "measures.evaluation": (
        "PartialAlignment",
        "StreamingASRErrorPosition",
        "StreamingEvaluationResults",
        "evaluate_streaming",
        "get_audio_seconds_processed",
        "get_audio_seconds_sent",
        "get_partial_alignments",
    ),
}
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
