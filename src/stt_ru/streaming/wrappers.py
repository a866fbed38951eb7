"""Public path of `stt_ru.streaming.engines.adapters`."""

from stt_ru.streaming.engines.adapters import OfflineToStreaming
from stt_ru.streaming.run.whole_recordings import StreamingToOffline

__all__ = [
    "OfflineToStreaming",
    "StreamingToOffline",
]
