"""Counting errors: counts and rates, alignment, several references, relaxed rules, latency."""

from stt_ru.scoring.counts import (
    EDIT_SPLIT,
    LONG_TEXT,
    EditCounts,
    ErrorCounts,
    Score,
    count_edits,
    score_texts,
    total_score,
)

__all__ = [
    "EDIT_SPLIT",
    "LONG_TEXT",
    "EditCounts",
    "ErrorCounts",
    "Score",
    "count_edits",
    "score_texts",
    "total_score",
]
