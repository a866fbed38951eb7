"""The lags of a streamed recording are those of ``stt_ru.simultaneous``, in seconds."""

from __future__ import annotations

import pytest

from stt_ru.streaming.measures.lagging import lagging
from stt_ru.streaming.measures.latency import EmittedWord


def test_known_answers_in_seconds() -> None:
    # Delays of 1000, 2000 and 3000 ms in 3000 ms of audio, with their elapsed times, as in
    # docs/metrics-latency.md.
    words = [EmittedWord(at_s=at, sent_s=sent) for at, sent in ((1.2, 1), (2.3, 2), (3.6, 3))]
    lags = lagging(words, 3, 3)

    assert lags is not None
    assert (lags.al, lags.laal, lags.dal) == (1, 1, 1)
    assert lags.ap == pytest.approx(0.6667, abs=5e-5)
    assert lags.al_elapsed == lags.laal_elapsed == pytest.approx(1.36667, abs=5e-6)
    assert lags.dal_elapsed == pytest.approx(1.36667, abs=5e-6)
    assert lags.ap_elapsed == pytest.approx(0.7889, abs=5e-5)


@pytest.mark.parametrize(("words", "audio_s", "said"), [(0, 3, 3), (1, 0, 3), (1, 3, 0)])
def test_there_are_no_lags_without_words_audio_or_reference(
    words: int, audio_s: float, said: int
) -> None:
    assert lagging([EmittedWord(at_s=1, sent_s=1)] * words, audio_s, said) is None
