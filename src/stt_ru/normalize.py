"""Public path of `stt_ru.text.normalize`."""

from stt_ru.text.normalize import (
    NORMALIZER,
    has_digits,
    has_mixed_scripts,
    normalize,
)

__all__ = [
    "NORMALIZER",
    "has_digits",
    "has_mixed_scripts",
    "normalize",
]
