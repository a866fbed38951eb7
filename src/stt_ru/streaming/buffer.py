"""Public path of `stt_ru.streaming.queue.buffer`."""

from stt_ru.streaming.queue.buffer import (
    Exit,
    RecordingId,
    StreamingQueue,
)

__all__ = [
    "Exit",
    "RecordingId",
    "StreamingQueue",
]
