"""Public path of `stt_ru.streaming.engines.model`."""

from stt_ru.streaming.engines.model import (
    AUDIO_CHUNK_TYPE,
    CHUNK_TYPE,
    ASRStreamingQueue,
    AudioType,
    DummyASR,
    Exit,
    InputBuffer,
    InputChunk,
    OutputBuffer,
    OutputChunk,
    Signal,
    StreamingASR,
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
