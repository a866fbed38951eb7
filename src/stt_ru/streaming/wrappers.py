"""Public path of `stt_ru.streaming.engines.adapters`."""

from stt_ru.streaming.engines.adapters import (
    OfflineToStreaming,
    StreamingToOffline,
)

__all__ = [
    "OfflineToStreaming",
    "StreamingToOffline",
]
