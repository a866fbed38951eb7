"""CTC models for forced alignment, and access to those of onnx-asr."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import soxr

from stt_ru.audio import SAMPLE_RATE
from stt_ru.errors import ModelLoadError
from stt_ru.recognition.onnx_models import load_model, providers_for
from stt_ru.recognition.transcriber import Transcriber

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray


@runtime_checkable
class CtcModel(Protocol):
    """What forced alignment needs from a model."""

    @property
    def tokens(self) -> Mapping[str, int]:
        """The index of each token; a space in a token is a space between words."""
        ...

    @property
    def blank(self) -> int:
        """The index of the blank."""
        ...

    @property
    def frame_s(self) -> float:
        """Seconds of audio per frame."""
        ...

    def log_probs(self, waveform: NDArray[np.float32]) -> NDArray[np.float32]:
        """Natural-log token probabilities, shape (frames, tokens), for 16 kHz mono samples."""
        ...


class OnnxCtcModel:
    """A CTC model loaded by onnx-asr.

    The public API of onnx-asr gives texts, not the probabilities of all tokens; this class is the
    only place that uses the private attributes computing them.

    Args:
        asr: The ``asr`` attribute of onnx-asr's adapter.

    Raises:
        ModelLoadError: If it is not a CTC model.
    """

    def __init__(self, asr: Any) -> None:
        names = ("_preprocessor", "_encode", "_vocab", "_blank_idx", "_subsampling_factor")
        is_ctc = any("Ctc" in kind.__name__ for kind in type(asr).__mro__)
        if not is_ctc or not all(hasattr(asr, name) for name in names):
            raise ModelLoadError(
                f"модель {type(asr).__name__} – не CTC: время слов находит только CTC-модель, "
                "например tiny-ru или gigaam-v3-ctc"
            )
        self._asr = asr
        self._rate = int(asr._get_sample_rate())
        self._tokens = {
            str(token): int(number)
            for number, token in asr._vocab.items()
            if number != asr._blank_idx and not re.fullmatch(r"<.*>", token)
        }

    @property
    def tokens(self) -> Mapping[str, int]:
        """The index of each token."""
        return self._tokens

    @property
    def blank(self) -> int:
        """The index of the blank."""
        return int(self._asr._blank_idx)

    @property
    def frame_s(self) -> float:
        """Seconds of audio per frame."""
        return float(self._asr.window_step) * int(self._asr._subsampling_factor)

    def log_probs(self, waveform: NDArray[np.float32]) -> NDArray[np.float32]:
        """Natural-log token probabilities, shape (frames, tokens)."""
        if self._rate != SAMPLE_RATE:
            waveform = soxr.resample(waveform, SAMPLE_RATE, self._rate, quality="HQ")
        features = self._asr._preprocessor(
            waveform[None].astype(np.float32), np.array([len(waveform)], np.int64)
        )
        encoded, lengths = self._asr._encode(*features)
        found: NDArray[np.float32] = np.asarray(encoded[0][: int(lengths[0])], np.float32)
        return found


def ctc_model(model: object) -> CtcModel:
    """The CTC model inside a `stt_ru.Transcriber` or an onnx-asr adapter; a `CtcModel` as it is.

    Raises:
        ModelLoadError: If it is not a CTC model.
    """
    if isinstance(model, CtcModel):
        return model
    adapter: object = model.adapter if isinstance(model, Transcriber) else model
    return OnnxCtcModel(getattr(adapter, "asr", adapter))


def load_ctc_model(name: str, folder: Path | None = None, *, offline: bool = False) -> CtcModel:
    """Load an onnx-asr CTC model for alignment.

    Raises:
        UsageError: If the name is unknown.
        ModelLoadError: If the model cannot be loaded, or is not a CTC model.
    """
    loaded = load_model(
        name,
        folder=folder,
        quantization="int8",
        providers=providers_for("cpu"),
        intra_op_threads=1,
        offline=offline,
    )
    return ctc_model(loaded.adapter)
