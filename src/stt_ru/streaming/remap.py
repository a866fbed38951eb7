"""Public path of `stt_ru.streaming.schedule.remap`."""

from stt_ru.streaming.schedule.remap import remap_time

__all__ = [
    "remap_time",
]
