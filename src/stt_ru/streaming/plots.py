"""Public path of `stt_ru.streaming.run.plots`."""

from stt_ru.streaming.run.plots import (
    COLOURS,
    MOST_LINES,
    NOT_YET,
    PROCESSED,
    RIGHT,
    SENT,
    WRONG,
    draw_partial_alignment,
    error_shares,
    latency_plot,
    partial_alignments_plot,
    save_recording_plot,
    save_summary_plot,
    show_last_alignments,
    streaming_error_vs_latency_histogram,
    visualize_history,
)

__all__ = [
    "COLOURS",
    "MOST_LINES",
    "NOT_YET",
    "PROCESSED",
    "RIGHT",
    "SENT",
    "WRONG",
    "draw_partial_alignment",
    "error_shares",
    "latency_plot",
    "partial_alignments_plot",
    "save_recording_plot",
    "save_summary_plot",
    "show_last_alignments",
    "streaming_error_vs_latency_histogram",
    "visualize_history",
]
