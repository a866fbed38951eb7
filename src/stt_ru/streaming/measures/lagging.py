"""AL, LAAL, DAL and AP of a streamed transcription, by the formulas of `stt_ru.scoring.latency`.

The same formulas score the agents of ``stt_ru.simultaneous``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stt_ru.scoring.latency import (
    average_lagging,
    average_proportion,
    differentiable_average_lagging,
    length_adaptive_average_lagging,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stt_ru.streaming.measures.latency import EmittedWord


@dataclass(frozen=True, slots=True)
class Lagging:
    """Average lags of the words of the final text, seconds, and their dimensionless proportion.

    The first four use the audio sent when each word became final; those ending in ``_elapsed`` use
    the wall time at that moment, so they include computation.

    Attributes:
        al: Average Lagging.
        laal: Length-Adaptive Average Lagging.
        dal: Differentiable Average Lagging.
        ap: Average Proportion, over the reference length; dimensionless.
        al_elapsed: Average Lagging in wall time.
        laal_elapsed: Length-Adaptive Average Lagging in wall time.
        dal_elapsed: Differentiable Average Lagging in wall time.
        ap_elapsed: Average Proportion in wall time; dimensionless.
    """

    al: float
    laal: float
    dal: float
    ap: float
    al_elapsed: float
    laal_elapsed: float
    dal_elapsed: float
    ap_elapsed: float


def lagging(emitted: Sequence[EmittedWord], audio_s: float, reference_words: int) -> Lagging | None:
    """The lags of one recording; None if there are no words, no audio or an empty reference.

    Args:
        emitted: Words of the final text.
        audio_s: Length of the recording, seconds of audio.
        reference_words: Number of reference words.
    """
    if not emitted or not audio_s or not reference_words:
        return None
    sent = [word.sent_s for word in emitted]
    elapsed = [word.at_s for word in emitted]
    return Lagging(
        *(
            measure(delays, audio_s, reference_words)
            for delays in (sent, elapsed)
            for measure in (
                average_lagging,
                length_adaptive_average_lagging,
                differentiable_average_lagging,
                average_proportion,
            )
        )
    )
