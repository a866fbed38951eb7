"""What a decoder gives, and what is asked of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE_RATE: Final = 16_000
"""Hz; what models hear (onnx-asr brings it to 8 kHz itself for the one that wants that), and what
recordings are brought to unless another rate is asked for."""

Waveform: TypeAlias = NDArray[np.float32]
"""Samples, shape ``(n_channels, n_samples)``, in [-1, 1]."""

Frames: TypeAlias = NDArray[np.float32]
"""Samples as decoders give them, shape ``(n_samples, n_channels)``, of any size."""

READ_VALUES = 1 << 17  # values decoded at a time, over all channels: 0.5 MB, 8 s of 16 kHz mono


class Source(Protocol):
    """A decoder with a recording in it."""

    channels: int
    sample_rate: int
    keeps_level: bool
    """Whether values beyond [-1, 1] are the file's own, not the decoder's."""

    def read(self) -> Frames:
        """Return the next frames, empty at the end."""

    def warnings(self, decoded_s: float) -> Iterator[str]:
        """Yield what is known to be wrong, once all is read."""

    def close(self) -> None:
        """Let go of the decoder; the file is the reader's."""


def cut_sentence(decoded_s: float, promised_s: float) -> str:
    """Say that less was there than promised."""
    return (
        f"файл оборван или испорчен: прочитано {decoded_s:.1f} с из {promised_s:.1f} с, "
        "обещанных заголовком"
    )
