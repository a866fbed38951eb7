"""Public path of the adapters between streaming models and file recognisers."""

from stt_ru.streaming.engines.adapters import OfflineToStreaming
from stt_ru.streaming.run.whole_recordings import StreamingToOffline

__all__ = [
    "OfflineToStreaming",
    "StreamingToOffline",
]
