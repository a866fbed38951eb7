"""The lags of a streamed recording are those of ``stt_ru.simultaneous``, in seconds."""

from __future__ import annotations

import pytest

from stt_ru.streaming.measures.lagging import lagging
from stt_ru.streaming.measures.latency import EmittedWord


def test_the_known_answers_in_seconds() -> None:
    # Delays 1000 2000 3000 of 3000 ms and their elapsed, as in docs/metrics-latency.md.
    words = [EmittedWord(at_s=at, sent_s=sent) for at, sent in ((1.2, 1), (2.3, 2), (3.6, 3))]
    lags = lagging(words, 3, 3)

    assert lags is not None
    assert (lags.al, lags.laal, lags.dal) == (1, 1, 1)
    assert lags.ap == pytest.approx(0.6667, abs=5e-5)
    assert lags.al_elapsed == lags.laal_elapsed == pytest.approx(1.36667, abs=5e-6)
    assert lags.dal_elapsed == pytest.approx(1.36667, abs=5e-6)
    assert lags.ap_elapsed == pytest.approx(0.7889, abs=5e-5)


@pytest.mark.parametrize(("words", "audio_s", "said"), [(0, 3, 3), (1, 0, 3), (1, 3, 0)])
def test_there_are_none_of_nothing(words: int, audio_s: float, said: int) -> None:
    assert lagging([EmittedWord(at_s=1, sent_s=1)] * words, audio_s, said) is None
