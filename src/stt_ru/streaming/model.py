"""Public path of `stt_ru.streaming.engines.model` and of what its queues carry."""

from stt_ru.streaming.engines.model import DummyASR, StreamingASR
from stt_ru.streaming.queue.buffer import Exit
from stt_ru.streaming.queue.chunks import (
    AUDIO_CHUNK_TYPE,
    CHUNK_TYPE,
    ASRStreamingQueue,
    AudioType,
    InputBuffer,
    InputChunk,
    OutputBuffer,
    OutputChunk,
    Signal,
    TranscriptionChunk,
    check_consistency,
    convert_audio_format,
)

__all__ = [
    "AUDIO_CHUNK_TYPE",
    "CHUNK_TYPE",
    "ASRStreamingQueue",
    "AudioType",
    "DummyASR",
    "Exit",
    "InputBuffer",
    "InputChunk",
    "OutputBuffer",
    "OutputChunk",
    "Signal",
    "StreamingASR",
    "TranscriptionChunk",
    "check_consistency",
    "convert_audio_format",
]
