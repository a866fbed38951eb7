"""The network: a stack of dense residual convolutions over 80 ms steps, trained with CTC.

Each step yields two rows of letter scores, 40 ms each: the convolutions run at half the rate that
the letters need, which halves the cost of training.

Training packs a batch into one long sequence with gaps between recordings: every convolution is
then a few matrix products of contiguous rows, 1.3 times as fast on two cores as torch's own, and
no work is spent on padding. Gaps are reset to zero after each layer, which is equivalent to zero
padding. ``export.py`` writes the same network with ordinary convolutions.
"""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALPHABET = "▁абвгдежзийклмнопрстуфхцчшщъыьэюя"  # the first stands for the space
BLANK = len(ALPHABET)
N_MELS = 80
STRIDE = 8  # frames of 10 ms per step of 80 ms
SPLIT = 2  # rows of scores per step
ROW_FRAMES = STRIDE // SPLIT  # 4: onnx-asr's subsampling factor
# The network emits a letter slightly after its sound, so every recording is surrounded by silent
# frames (the minimum of each band), and its scores start later than the recording:
HEAD_FRAMES = 8
TAIL_FRAMES = 40  # 0.4 s: more than the trunk's lookahead
LATE_ROWS = 2  # 80 ms
GAP_FRAMES = 32  # between packed recordings: the reach of any layer, 4 steps of a causal block


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Shape of a network: a trunk with little lookahead, and a top with more.

    The trunk has its own head and is the whole streaming model; in the other model that head only
    helps training (an intermediate CTC loss).

    Attributes:
        stem: Channels of the first two convolutions.
        channels: Channels of the other convolutions.
        trunk: Dilations, one residual block each, kernel 3; the first block sees one step ahead.
        top: The same, symmetric, each scaled by a function of the recording's mean. The first
            block also gets the output of the trunk's head (self-conditioning, Nozaki and Komatsu
            2021).
    """

    stem: tuple[int, ...] = (128, 192)
    channels: int = 288
    trunk: tuple[int, ...] = (1, 1, 2, 1, 2, 1, 2, 1)
    top: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return asdict(self)


TINY_RU = Config(top=(1, 2, 2, 4))
# Its lookahead: half a window, 12.5 ms, the strided layers' 20 + 40 + 80 ms and 80 ms of the first
# block: 232.5 ms.
TINY_RU_STREAM = Config()


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
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        *,
        right: int,
        dilation: int = 1,
        stride: int = 1,
    ) -> None:
        super().__init__()
        self.kernel = kernel
        self.left = (self.kernel - 1) * dilation - right
        self.dilation, self.stride = dilation, stride
        scale = (2 / (self.kernel * inputs)) ** 0.5
        self.weight = nn.Parameter(torch.randn(self.kernel, inputs, outputs) * scale)
        self.norm = nn.BatchNorm1d(outputs, momentum=0.02)

    def forward(self, x: Tensor) -> Tensor:
        """Rows in, rows out; the stride divides their number."""
        y = _RowConvolution.apply(x, self.weight, self.left, self.dilation, self.stride)
        return F.relu(self.norm(y), inplace=True)


class Squeeze(nn.Module):
    """A gate per channel, computed from the mean over the recording (squeeze-and-excitation)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down = nn.Linear(channels, channels // 12)
        self.up = nn.Linear(channels // 12, channels)

    def forward(self, x: Tensor, owner: Tensor) -> Tensor:
        """Gate the rows; ``owner`` (recordings, rows) is 1 where a row belongs to a recording."""
        mean = (owner @ x) / owner.sum(1, keepdim=True)
        gate = torch.sigmoid(self.up(F.relu(self.down(mean))))
        return x * (owner.t() @ gate)


class Network(nn.Module):
    """Maps packed frames to log-probabilities of letters."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        width = config.channels
        widths = itertools.pairwise((N_MELS, *config.stem, width))
        self.stem = nn.ModuleList(Layer(i, o, 5, right=2, stride=2) for i, o in widths)
        self.trunk = nn.ModuleList(
            Layer(width, width, 3, right=int(i == 0), dilation=dilation)
            for i, dilation in enumerate(config.trunk)
        )
        self.head = nn.Linear(width, SPLIT * (BLANK + 1))
        self.top = nn.ModuleList(
            Layer(width, width, 3, right=dilation, dilation=dilation) for dilation in config.top
        )
        self.squeezes = nn.ModuleList(Squeeze(width) for _ in config.top)
        if config.top:
            self.reading = nn.Linear(SPLIT * (BLANK + 1), width, bias=False)
            nn.init.zeros_(self.reading.weight)
            self.top_head = nn.Linear(width, SPLIT * (BLANK + 1))

    def forward(self, batch: Batch) -> list[Tensor]:
        """Log-probabilities of the last head and, if there is a top, of the trunk's head.

        Each has the shape (rows, recordings, BLANK + 1), padded after each recording; the trunk's
        has the rows of ``trunk_gather``, because a stream is processed to its end.
        """
        x, mask = batch.frames, batch.mask
        for layer in self.stem:
            mask = mask[::2]
            x = layer(x) * mask
        for layer in self.trunk:
            x = (x + layer(x)) * mask
        trunk_scores = self.head(x)
        scores = [(trunk_scores, batch.trunk_gather)]
        if self.config.top:
            read = F.softmax(trunk_scores.view(-1, SPLIT, BLANK + 1), dim=-1).flatten(1)
            x = (x + self.reading(read)) * mask
        for layer, squeeze in zip(self.top, self.squeezes, strict=True):
            x = (x + squeeze(layer(x), batch.owner)) * mask
        if self.config.top:
            scores.insert(0, (self.top_head(x), batch.gather))
        return [F.log_softmax(s.view(-1, BLANK + 1)[rows], dim=-1) for s, rows in scores]


@dataclass(frozen=True, slots=True)
class Batch:
    """Recordings packed one after another.

    Attributes:
        frames: (rows, 80), normalised; zero in the gaps.
        mask: (rows, 1), 1 where there is a frame.
        owner: (recordings, rows / 8), 1 where a step belongs to a recording.
        gather: (longest, recordings), index of each row of scores of each recording.
        steps: Number of rows of scores of each recording, equal to what onnx-asr reads.
        trunk_gather: The same for the trunk's head, including the rows of surrounding silence.
        trunk_steps: Number of rows of each recording in ``trunk_gather``.
    """

    frames: Tensor
    mask: Tensor
    owner: Tensor
    gather: Tensor
    steps: Tensor
    trunk_gather: Tensor
    trunk_steps: Tensor


def pack(recordings: list[NDArray[np.float32]]) -> Batch:
    """Pack normalised recordings (frames, 80) into a batch, each surrounded by silence."""
    whole = [_with_quiet(frames) for frames in recordings]
    slots = [-(-len(frames) // STRIDE) * STRIDE + GAP_FRAMES for frames in whole]
    starts = np.array(list(itertools.accumulate(slots, initial=GAP_FRAMES)))
    packed = np.zeros((starts[-1], N_MELS), np.float32)
    mask = np.zeros((starts[-1], 1), np.float32)
    owner = np.zeros((len(whole), starts[-1] // STRIDE), np.float32)
    for frames, start, steps in zip(whole, starts, owner, strict=False):
        stop = start + len(frames)
        packed[start:stop] = frames
        mask[start:stop] = 1
        steps[start // STRIDE : (stop - 1) // STRIDE + 1] = 1
    first = starts[:-1] // ROW_FRAMES
    n_rows = np.array([(len(frames) - 1) // ROW_FRAMES + 1 for frames in recordings])
    n_whole = np.array([(len(frames) - 1) // ROW_FRAMES + 1 for frames in whole])
    last = starts[-1] // ROW_FRAMES - 1

    def gather(first: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.minimum(first + np.arange(counts.max())[:, None], last)

    visible = gather(first + HEAD_FRAMES // ROW_FRAMES + LATE_ROWS, n_rows)
    arrays = (packed, mask, owner, visible, n_rows, gather(first, n_whole), n_whole)
    return Batch(*map(torch.from_numpy, arrays))


def _with_quiet(frames: NDArray[np.float32]) -> NDArray[np.float32]:
    quiet = frames.min(axis=0, keepdims=True)
    return np.concatenate([quiet.repeat(HEAD_FRAMES, 0), frames, quiet.repeat(TAIL_FRAMES, 0)])


def encode(text: str) -> list[int]:
    """The letters of a normalised text as token indices."""
    return [ALPHABET.index(letter) for letter in text.replace(" ", ALPHABET[0])]


def greedy(log_probs: NDArray[np.float32]) -> str:
    """The text of the best path: repeats merged, blanks dropped."""
    best = log_probs.argmax(-1)
    kept = [token for token, _ in itertools.groupby(best.tolist()) if token != BLANK]
    return " ".join("".join(ALPHABET[token] for token in kept).replace(ALPHABET[0], " ").split())
