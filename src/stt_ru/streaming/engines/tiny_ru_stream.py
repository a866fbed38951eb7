"""Runs the embedded streaming model: audio in, the full text so far out.

The network (``models/tiny_ru_stream``, built by ``tools/tiny_ru``) carries its state from step to
step in dedicated inputs and outputs. It always gets eight frames (80 ms) at a time, whatever the
chunk size, so a recording gives bit-identical results however it is split into chunks.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODEL_DIR = Path(str(files("stt_ru"))) / "models" / "tiny_ru_stream"
FILES = ("model.onnx", "vocab.txt")

SAMPLE_RATE = 16_000
WINDOW_SAMPLES = 400  # 25 ms
HOP_SAMPLES = 160  # 10 ms
FFT_SIZE = 512
PREEMPHASIS = 0.97
STEP_FRAMES = 8  # the network's step, 80 ms
LAG_STEPS = 2  # steps by which the network's output lags, waiting for right context
LOOKAHEAD_MS = 232.5  # audio after a step that its letter may depend on
TAIL_SAMPLES = SAMPLE_RATE * 4 // 10  # silence appended, as letters come later than their sounds
UNKNOWN_END = 1 << 60  # more frames than any recording has

_TAPER = np.hanning(WINDOW_SAMPLES).astype(np.float32)


class TinyRuStreamDecoder:
    """Recognises one 16 kHz recording after another, chunk by chunk.

    The text only ever grows: letters are taken from the best path (greedy CTC) and never change.
    They come up to ``LOOKAHEAD_MS`` plus one step of 80 ms after their audio. No threads: all the
    work is done inside ``feed`` and ``finish``.

    Args:
        model_dir: Folder with ``model.onnx`` and ``vocab.txt``; None for the one in the package.

    Example:
        >>> decoder = TinyRuStreamDecoder()
        >>> silence = np.zeros(SAMPLE_RATE, np.float32)
        >>> decoder.feed(silence), decoder.finish()
        ('', '')
    """

    def __init__(self, model_dir: Path | None = None) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1  # a step is too small to parallelise
        self._session, self._tokens = _load(model_dir or MODEL_DIR, options)
        outputs = [output.name for output in self._session.get_outputs()]
        self._outputs = outputs
        self._zeros: dict[str, NDArray[Any]] = {
            node.name: np.zeros(node.shape, np.int64 if "int64" in node.type else np.float32)
            for node in self._session.get_inputs()
            if f"next_{node.name}" in outputs
        }
        self.reset()

    def reset(self) -> None:
        """Clear the state: the next chunk starts a new recording."""
        self._state = dict(self._zeros)
        # The first window is centred on 0.
        self._samples = np.zeros(WINDOW_SAMPLES // 2, np.float32)
        self._last_sample = np.float32(0)
        self._power = np.zeros((0, FFT_SIZE // 2 + 1), np.float32)
        self._received_samples = 0
        self._frames = 0
        self._previous_token = -1
        self._letters: list[str] = []
        self._finished = False

    @property
    def text(self) -> str:
        """The full text so far."""
        return " ".join("".join(self._letters).split())

    def feed(self, waveform: NDArray[np.float32]) -> str:
        """Process the next chunk, of any length.

        Args:
            waveform: Mono samples at 16 kHz in [−1, 1], shape (n_samples,).

        Returns:
            The full text so far.

        Raises:
            ValueError: If the waveform is not mono.
            RuntimeError: If the recording has been finished; call ``reset`` first.
        """
        if waveform.ndim != 1:
            raise ValueError(f"expected mono samples of shape (n,), got {waveform.shape}")
        if self._finished:
            raise RuntimeError("the recording is finished; call reset() to start a new one")
        if waveform.size:
            self._received_samples += waveform.size
            self._append(waveform.astype(np.float32, copy=False))
            self._run(UNKNOWN_END)
        return self.text

    def finish(self) -> str:
        """The final text, after the last chunk; calling it again returns the same text."""
        if not self._finished:
            if self._received_samples:
                self.feed(np.zeros(TAIL_SAMPLES, np.float32))
            self._finished = True
            end = self._received_samples // HOP_SAMPLES
            padding = np.zeros(WINDOW_SAMPLES, np.float32)
            self._samples = np.concatenate([self._samples, padding])
            self._take_frames(limit=end)
            steps = -(-end // STEP_FRAMES) + LAG_STEPS
            missing = steps * STEP_FRAMES - end
            blank = np.zeros((missing, FFT_SIZE // 2 + 1), np.float32)
            self._power = np.concatenate([self._power, blank])
            self._run(end)
        return self.text

    def _append(self, waveform: NDArray[np.float32]) -> None:
        """Pre-emphasise and store the samples, then take the complete frames."""
        before = np.concatenate([[self._last_sample], waveform[:-1]])
        self._last_sample = waveform[-1]
        emphasised = waveform - np.float32(PREEMPHASIS) * before
        self._samples = np.concatenate([self._samples, emphasised])
        self._take_frames(limit=UNKNOWN_END)

    def _take_frames(self, limit: int) -> None:
        """Turn whole windows into power spectra, up to ``limit`` frames of the recording."""
        count = max(0, (len(self._samples) - WINDOW_SAMPLES) // HOP_SAMPLES + 1)
        count = min(count, limit - self._frames)
        if count > 0:
            windows = np.lib.stride_tricks.sliding_window_view(self._samples, WINDOW_SAMPLES)
            spectra = np.fft.rfft(windows[: count * HOP_SAMPLES : HOP_SAMPLES] * _TAPER, FFT_SIZE)
            power = (spectra.real**2 + spectra.imag**2).astype(np.float32)
            self._power = np.concatenate([self._power, power])
            self._samples = self._samples[count * HOP_SAMPLES :]
            self._frames += count

    def _run(self, end: int) -> None:
        """Feed whole steps to the network and decode the letters."""
        whole = len(self._power) // STEP_FRAMES * STEP_FRAMES
        for start in range(0, whole, STEP_FRAMES):
            feed = {"power": self._power[start : start + STEP_FRAMES], "end": np.array([end])}
            values = self._session.run(self._outputs, {**feed, **self._state})
            outputs = dict(zip(self._outputs, values, strict=True))
            self._state = {name: outputs[f"next_{name}"] for name in self._state}
            for token in outputs["logprobs"].argmax(-1).tolist():
                if token != self._previous_token and token < len(self._tokens):
                    self._letters.append(self._tokens[token])
                self._previous_token = token
        self._power = self._power[whole:]


def _load(folder: Path, options: ort.SessionOptions) -> tuple[ort.InferenceSession, list[str]]:
    """The network and its letters, without the blank, which is last in ``vocab.txt``."""
    model, vocab = (folder / name for name in FILES)
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    lines = vocab.read_text(encoding="utf-8").splitlines()
    tokens = [line.rpartition(" ")[0] for line in lines]
    return session, [" " if token == "▁" else token for token in tokens[:-1]]
