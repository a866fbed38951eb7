"""Public path of `stt_ru.streaming.timing.timings`."""

from stt_ru.streaming.timing.timings import fill_word_timings_inplace

__all__ = [
    "fill_word_timings_inplace",
]
