"""Public path of `stt_ru.streaming.measures.evaluation` and of what a run needs."""

from stt_ru.streaming.measures.evaluation import (
    PartialAlignment,
    StreamingASRErrorPosition,
    StreamingEvaluationResults,
    evaluate_streaming,
    get_audio_seconds_processed,
    get_audio_seconds_sent,
    get_partial_alignments,
)
from stt_ru.streaming.schedule.remap import remap_time
from stt_ru.streaming.schedule.sender import make_sender
from stt_ru.streaming.timing.transcription import Token, Transcription, timed_transcription

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
