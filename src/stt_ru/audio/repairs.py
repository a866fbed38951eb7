"""Samples that are no sound, replaced and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stt_ru.errors import AudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stt_ru.audio.source import Frames

FULL_SCALE_TOLERANCE = 2**-10  # 32768/32767 and other roundings of full scale are not clipping
ABSURD_PEAK = 8.0  # +18 dBFS; no gain explains it, integers stored as floats do
ABSURD_SHARE = 0.01  # of one piece; fewer samples are damage, and are clipped


class Repairs:
    """Samples that are no sound, replaced and counted."""

    def __init__(self) -> None:
        self._n_nan = 0
        self._n_infinite = 0
        self._n_loud = 0
        self._peak = 0.0

    def repair(self, frames: Frames, *, keeps_level: bool) -> Frames:
        """Return the frames finite and in [-1, 1].

        Args:
            frames: One piece of the recording, not empty.
            keeps_level: Whether the file itself holds these values. Lossy decoders pass full scale
                by a little on any loud recording, which is nothing to warn about.

        Raises:
            AudioError: If the samples are on another scale, that of integers.
        """
        if frames.min() >= -1.0 and frames.max() <= 1.0:  # false when there is a NaN
            return frames
        self._n_nan += int(np.count_nonzero(np.isnan(frames)))
        self._n_infinite += int(np.count_nonzero(np.isinf(frames)))
        frames = np.nan_to_num(frames, nan=0.0, posinf=1.0, neginf=-1.0)
        if keeps_level:
            levels = np.abs(frames)
            peak = float(levels.max())
            if np.count_nonzero(levels > ABSURD_PEAK) > ABSURD_SHARE * levels.size:
                raise AudioError(
                    f"отсчёты с плавающей точкой доходят до {peak:.6g}, а должны лежать от -1 до 1:"
                    " похоже, это целые числа, записанные как float; поделите их на полную шкалу "
                    "(32768 для 16 бит) и сохраните файл заново"
                )
            self._n_loud += int(np.count_nonzero(levels > 1.0 + FULL_SCALE_TOLERANCE))
            self._peak = max(self._peak, peak)
        return np.clip(frames, -1.0, 1.0)

    def sentences(self, n_values: int) -> Iterator[str]:
        """Yield a sentence for each kind of repair; ``n_values`` were read over all channels."""
        if self._n_nan:
            yield f"не числа (NaN) заменены тишиной: {self._n_nan} из {n_values} отсчётов"
        if self._n_infinite:
            yield (
                f"бесконечности заменены полной шкалой: {self._n_infinite} из {n_values} отсчётов"
            )
        if self._n_loud:
            yield (
                f"отсчёты громче полной шкалы обрезаны: {self._n_loud} из {n_values}, "
                f"пик {self._peak:.6g}"
            )
