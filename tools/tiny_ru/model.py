"""The network: a stack of dense residual convolutions over 40 ms frames, trained with CTC.

Training packs a batch into one long sequence with gaps between recordings: every convolution is then
a few matrix products of contiguous rows, 1.3 times as fast on two cores as torch's own, and nothing
is spent on padding. Gaps are reset to zero after each layer, which is what padding by zeros does.
``export.py`` writes the same network with ordinary convolutions.
"""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn

ALPHABET = "▁абвгдежзийклмнопрстуфхцчшщъыьэюя"  # the first stands for the space
BLANK = len(ALPHABET)
N_MELS = 80
STRIDE = 4  # frames of 10 ms in a step of 40 ms
GAP_FRAMES = 64  # between packed recordings: more than any layer reaches, 16 steps of a causal block


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Shape of a network.

    Attributes:
        stem: Channels of the first convolution.
        channels: Channels of the rest.
        dilations: One residual block each, kernel 5.
        lookahead: Steps of 40 ms that each block sees ahead; None is symmetric, no limit.
        squeeze: Every second block is scaled by a function of the recording's mean.
    """

    stem: int = 128
    channels: int = 224
    dilations: tuple[int, ...] = (1, 1, 2, 1, 2, 1, 4, 1, 4, 1)
    lookahead: tuple[int, ...] | None = None
    squeeze: bool = True

    @property
    def right(self) -> tuple[int, ...]:
        """Steps ahead of each block."""
        return self.lookahead or tuple(2 * dilation for dilation in self.dilations)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return asdict(self)


TINY_RU = Config()
# 10 + 2.5 ms of the window, 20 + 40 ms of the two strided layers, 4 x 40 ms: 232.5 ms
TINY_RU_STREAM = Config(lookahead=(1, 1, 1, 1, 0, 0, 0, 0, 0, 0), squeeze=False)


class _RowConvolution(torch.autograd.Function):
    """``y[n] = sum_i x[stride * n + i * dilation - left] @ w[i]`` over rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, left: int, dilation: int, stride: int) -> Tensor:
        kernel = w.shape[0]
        rows = x.shape[0] // stride
        reach = (kernel - 1) * dilation
        padded = F.pad(x, (0, 0, left, reach - left))
        spans = [slice(i * dilation, i * dilation + rows * stride, stride) for i in range(kernel)]
        y = torch.mm(padded[spans[0]], w[0])
        for span, weight in zip(spans[1:], w[1:], strict=True):
            y.addmm_(padded[span], weight)
        ctx.save_for_backward(padded, w)
        ctx.spans, ctx.left, ctx.rows_in = spans, left, x.shape[0]
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        padded, w = ctx.saved_tensors
        grad = grad.contiguous()
        grad_w = torch.empty_like(w)
        for i, span in enumerate(ctx.spans):
            torch.mm(padded[span].t(), grad, out=grad_w[i])
        grad_x = None
        if ctx.needs_input_grad[0]:
            grad_padded = torch.zeros_like(padded)
            for weight, span in zip(w, ctx.spans, strict=True):
                grad_padded[span].addmm_(grad, weight.t())
            grad_x = grad_padded[ctx.left : ctx.left + ctx.rows_in]
        return grad_x, grad_w, None, None, None


class Layer(nn.Module):
    """Convolution of rows, batch normalisation, ReLU."""

    def __init__(
        self, inputs: int, outputs: int, *, right: int, dilation: int = 1, stride: int = 1
    ) -> None:
        super().__init__()
        self.kernel = 5
        self.left = (self.kernel - 1) * dilation - right
        self.dilation, self.stride = dilation, stride
        scale = (2 / (self.kernel * inputs)) ** 0.5
        self.weight = nn.Parameter(torch.randn(self.kernel, inputs, outputs) * scale)
        self.norm = nn.BatchNorm1d(outputs, momentum=0.02)

    def forward(self, x: Tensor) -> Tensor:
        """Rows in, rows out (fewer by the stride)."""
        y = _RowConvolution.apply(x, self.weight, self.left, self.dilation, self.stride)
        return F.relu(self.norm(y), inplace=True)


class Squeeze(nn.Module):
    """A gate for each channel from the mean over the recording (squeeze-and-excitation)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down = nn.Linear(channels, channels // 8)
        self.up = nn.Linear(channels // 8, channels)

    def forward(self, x: Tensor, owner: Tensor) -> Tensor:
        """``owner`` (recordings, rows) is 1 where a row belongs to a recording."""
        mean = (owner @ x) / owner.sum(1, keepdim=True)
        gate = torch.sigmoid(self.up(F.relu(self.down(mean))))
        return x * (owner.t() @ gate)


class Network(nn.Module):
    """Packed frames to log-probabilities of letters."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        width = config.channels
        self.stem = nn.ModuleList(
            [
                Layer(N_MELS, config.stem, right=2, stride=2),
                Layer(config.stem, width, right=2, stride=2),
            ]
        )
        self.blocks = nn.ModuleList(
            Layer(width, width, right=right, dilation=dilation)
            for right, dilation in zip(config.right, config.dilations, strict=True)
        )
        self.squeezes = nn.ModuleDict(
            {str(i): Squeeze(width) for i in range(1, len(self.blocks), 2) if config.squeeze}
        )
        self.head = nn.Linear(width, BLANK + 1)

    def forward(self, batch: Batch) -> Tensor:
        """Log-probabilities, shape (steps, recordings, BLANK + 1), padded after each recording."""
        x = self.stem[0](batch.frames) * batch.mask[::2]
        mask = batch.mask[::STRIDE]
        x = self.stem[1](x) * mask
        for i, block in enumerate(self.blocks):
            y = block(x)
            if str(i) in self.squeezes:
                y = self.squeezes[str(i)](y, batch.owner)
            x = (x + y) * mask
        return F.log_softmax(self.head(x)[batch.gather], dim=-1)


@dataclass(frozen=True, slots=True)
class Batch:
    """Recordings packed one after another.

    Attributes:
        frames: (rows, 80), normalised; zero in the gaps.
        mask: (rows, 1), 1 where there is a frame.
        owner: (recordings, rows / 4), 1 where a step belongs to a recording.
        gather: (longest, recordings), the row of each step of each recording.
        steps: Number of steps of each recording.
    """

    frames: Tensor
    mask: Tensor
    owner: Tensor
    gather: Tensor
    steps: Tensor


def pack(recordings: list[NDArray[np.float32]]) -> Batch:
    """Pack normalised recordings (frames, 80) into a batch."""
    lengths = [len(frames) for frames in recordings]
    slots = [-(-length // STRIDE) * STRIDE + GAP_FRAMES for length in lengths]
    starts = list(itertools.accumulate(slots, initial=GAP_FRAMES))
    packed = np.zeros((starts[-1], N_MELS), np.float32)
    mask = np.zeros((starts[-1], 1), np.float32)
    for frames, start in zip(recordings, starts, strict=False):
        packed[start : start + len(frames)] = frames
        mask[start : start + len(frames)] = 1
    steps = np.array([(length - 1) // STRIDE + 1 for length in lengths])
    owner = np.zeros((len(recordings), starts[-1] // STRIDE), np.float32)
    gather = np.zeros((steps.max(), len(recordings)), np.int64)
    for i, start in enumerate(starts[:-1]):
        first = start // STRIDE
        owner[i, first : first + steps[i]] = 1
        gather[:, i] = np.minimum(first + np.arange(steps.max()), owner.shape[1] - 1)
    return Batch(*(torch.from_numpy(a) for a in (packed, mask, owner, gather, steps)))


def encode(text: str) -> list[int]:
    """Letters of normalised text as numbers."""
    return [ALPHABET.index(letter) for letter in text.replace(" ", ALPHABET[0])]


def greedy(log_probs: NDArray[np.float32]) -> str:
    """Text of the best path: repeats merged, blanks dropped."""
    best = log_probs.argmax(-1)
    kept = [token for token, _ in itertools.groupby(best.tolist()) if token != BLANK]
    return " ".join("".join(ALPHABET[token] for token in kept).replace(ALPHABET[0], " ").split())
