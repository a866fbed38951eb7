"""AL, LAAL, DAL, AP of a transcription: the one bridge from streaming to ``simultaneous``.

The formulas are those of `stt_ru.scoring.latency`, of plain numbers; nothing else of
that package is used here, and nothing of this package there.
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
    """Average lags of the words of the final text, seconds, and their proportion, without a unit.

    Attributes:
        al: Average Lagging by the audio that had been sent when each word was written for good.
        laal: Length-Adaptive Average Lagging by the same.
        dal: Differentiable Average Lagging by the same.
        ap: Average Proportion by the same, over the reference length; no unit.
        al_elapsed: The same figures by the wall time at which each word was written: what computing
            takes is in them.
        laal_elapsed: See above.
        dal_elapsed: See above.
        ap_elapsed: See above.
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
    """The lags of one recording; None where they do not exist: nothing written, said or sent.

    Args:
        emitted: Words of the final text.
        audio_s: Length of the recording, seconds of audio.
        reference_words: How many words were said.
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
