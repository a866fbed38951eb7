"""Public path of `stt_ru.streaming.schedule.sender`."""

from stt_ru.streaming.schedule.sender import (
    Cutoff,
    SenderStatus,
    StreamingSender,
    get_uniform_cutoffs,
    make_sender,
)

__all__ = [
    "Cutoff",
    "SenderStatus",
    "StreamingSender",
    "get_uniform_cutoffs",
    "make_sender",
]
