"""Public path of `stt_ru.streaming.schedule.caller`."""

from stt_ru.streaming.schedule.caller import (
    receive_transcription,
    transcribe_parallel,
)

__all__ = [
    "receive_transcription",
    "transcribe_parallel",
]
