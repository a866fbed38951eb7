"""Public path of `stt_ru.streaming.measures.evaluation`, and what a run is made with."""

from stt_ru.streaming.measures.evaluation import (
    PartialAlignment,
    StreamingASRErrorPosition,
    StreamingEvaluationResults,
    Token,
    Transcription,
    evaluate_streaming,
    get_audio_seconds_processed,
    get_audio_seconds_sent,
    get_partial_alignments,
    timed_transcription,
)
from stt_ru.streaming.schedule.remap import remap_time
from stt_ru.streaming.schedule.sender import make_sender

__all__ = [
    "PartialAlignment",
    "StreamingASRErrorPosition",
    "StreamingEvaluationResults",
    "Token",
    "Transcription",
    "evaluate_streaming",
    "get_audio_seconds_processed",
    "get_audio_seconds_sent",
    "get_partial_alignments",
    "make_sender",
    "remap_time",
    "timed_transcription",
]
