from __future__ import annotations

import pytest

from stt_ru.cli.progress import clock, describe
from stt_ru.evaluation import Progress
from stt_ru.scoring.counts import EditCounts


def progress(done: int, **more: int | bool) -> Progress:
    return Progress(
        model="m",
        recordings_done=done,
        recordings=10,
        audio_s=120.0 * done,
        wall_s=60.0,
        words=EditCounts(substitutions=done, length=10 * done),
        **more,  # type: ignore[arg-type]  # whole numbers and a flag
    )


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (progress(0), "0 из 10, аудио 0.0 мин"),
        (progress(1), "1 из 10, аудио 2.0 мин, 2.0x, WER 10.0 %, осталось 9:00"),
        # One of ten recordings, and half of the audio: the largest comes first.
        (
            progress(1, bytes_done=50, bytes_total=100),
            "1 из 10, аудио 2.0 мин, 2.0x, WER 10.0 %, осталось 1:00",
        ),
        (progress(10, finished=True), "10 из 10, аудио 20.0 мин, 20.0x, WER 10.0 %, за 1:00"),
    ],
)
def test_where_the_loop_stands_in_one_line(state: Progress, text: str) -> None:
    assert describe(state) == text


def test_hours_are_shown_when_there_are_any() -> None:
    assert (clock(12.4), clock(3723)) == ("0:12", "1:02:03")
