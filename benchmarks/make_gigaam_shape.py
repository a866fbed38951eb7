"""A network of GigaAM-v3 CTC's shape with random weights: as fast as the real one, and as large.

Speed does not depend on the weights. Run it with a Python that has ``numpy``, ``onnx`` and
``onnxruntime``; nothing of stt-ru is needed. The text such a network writes means nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

if TYPE_CHECKING:
    from numpy.typing import NDArray

# GigaAM-v3: https://huggingface.co/ai-sage/GigaAM-v3
MELS = 64
WIDTH = 768
LAYERS = 16
HEADS = 16
HEAD_WIDTH = WIDTH // HEADS  # 48
FEED_FORWARD = 4 * WIDTH
SUBSAMPLING_KERNEL = 5  # two convolutions of stride 2
CONVOLUTION_KERNEL = 5
LONGEST = 5_000  # frames the table of rotations has
TOKENS = ["▁", *(chr(ord("а") + i) for i in range(32)), "<blk>"]
BRANCH_GAIN = 0.1  # weak branches: the text depends on the sound smoothly, not chaotically
BLANK_BIAS = 2.0  # half of the frames are blank, as of speech; without it one in 34 would be


class Graph:
    """Nodes and weights of a model, named as they are added."""

    def __init__(self, seed: int) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._random = np.random.default_rng(seed)

    def add(self, operation: str, *inputs: str, **attributes: object) -> str:
        """Add a node with one output; return the output's name."""
        name = f"{operation}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, list(inputs), [name], name, **attributes))
        return name

    def constant(self, array: NDArray[np.generic] | np.generic) -> str:
        """Add a tensor; return its name."""
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def integers(self, *values: int) -> str:
        """Add a vector of integers."""
        return self.constant(np.array(values, np.int64))

    def random(self, *shape: int, fan_in: int, gain: float = 1.0) -> str:
        """Add random weights under which activations keep their size, times ``gain``."""
        scale = np.float32(gain / math.sqrt(fan_in))
        return self.constant(self._random.standard_normal(shape, np.float32) * scale)

    def zeros(self, n: int) -> str:
        """Add a bias."""
        return self.constant(np.zeros(n, np.float32))

    def linear(self, x: str, n_in: int, n_out: int, gain: float = 1.0) -> str:
        """A dense layer."""
        product = self.add("MatMul", x, self.random(n_in, n_out, fan_in=n_in, gain=gain))
        return self.add("Add", product, self.zeros(n_out))

    def convolution(
        self,
        x: str,
        n_in: int,
        n_out: int,
        kernel: int,
        *,
        stride: int = 1,
        group: int = 1,
        gain: float = 1.0,
    ) -> str:
        """A convolution over time."""
        n_inputs = n_in // group
        weights = self.random(n_out, n_inputs, kernel, fan_in=n_inputs * kernel, gain=gain)
        return self.add(
            "Conv",
            x,
            weights,
            self.zeros(n_out),
            kernel_shape=[kernel],
            strides=[stride],
            pads=[kernel // 2, kernel // 2],
            group=group,
        )

    def norm(self, x: str) -> str:
        """Layer normalisation over the width."""
        ones = self.constant(np.ones(WIDTH, np.float32))
        return self.add("LayerNormalization", x, ones, self.zeros(WIDTH), axis=-1)

    def silu(self, x: str) -> str:
        """Swish: x · sigmoid(x)."""
        return self.add("Mul", x, self.add("Sigmoid", x))


def build(layers: int, seed: int) -> onnx.ModelProto:
    """The network with full weights."""
    g = Graph(seed)
    lengths = g.add("Cast", "feature_lengths", to=TensorProto.FLOAT)
    x = "features"
    for n_in in (MELS, WIDTH):
        x = g.convolution(x, n_in, WIDTH, SUBSAMPLING_KERNEL, stride=2)
        x = g.add("Relu", x)
        half = g.constant(np.float32(2))
        one = g.constant(np.float32(1))
        lengths = g.add("Add", g.add("Floor", g.add("Div", g.add("Sub", lengths, one), half)), one)
    x = g.add("Transpose", x, perm=[0, 2, 1])  # batch, time, width

    shape = g.add("Shape", x)
    n_frames = g.add("Gather", shape, g.constant(np.array(1, np.int64)))
    zero, step = g.constant(np.array(0, np.int64)), g.constant(np.array(1, np.int64))
    positions = g.add("Cast", g.add("Range", zero, n_frames, step), to=TensorProto.FLOAT)
    valid = g.add(
        "Less",
        g.add("Unsqueeze", positions, g.integers(0)),
        g.add("Unsqueeze", lengths, g.integers(1)),
    )
    padding = g.add("Not", valid)  # batch, time
    attention_padding = g.add("Unsqueeze", padding, g.integers(1, 2))
    convolution_padding = g.add("Unsqueeze", padding, g.integers(1))

    angles = np.arange(LONGEST)[:, None] / 10_000 ** (np.arange(0, HEAD_WIDTH, 2) / HEAD_WIDTH)
    table = np.concatenate([angles, angles], axis=1).astype(np.float32)[None, :, None]
    end = g.add("Unsqueeze", n_frames, g.integers(0))
    rotations = tuple(
        g.add("Slice", g.constant(values), g.integers(0), end, g.integers(1))
        for values in (np.cos(table), np.sin(table))
    )
    for _ in range(layers):
        x = _feed_forward(g, x)
        x = _attention(g, x, rotations, attention_padding)
        x = _convolution_module(g, x, convolution_padding)
        x = _feed_forward(g, x)
        x = g.norm(x)

    head = g.add("MatMul", x, g.random(WIDTH, len(TOKENS), fan_in=WIDTH))
    bias = np.zeros(len(TOKENS), np.float32)
    bias[-1] = BLANK_BIAS
    log_probs = g.add("LogSoftmax", g.add("Add", head, g.constant(bias)), axis=-1)
    g.nodes.append(helper.make_node("Identity", [log_probs], ["log_probs"]))
    graph = helper.make_graph(
        g.nodes,
        "gigaam_shape",
        [
            helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", MELS, "time"]),
            helper.make_tensor_value_info("feature_lengths", TensorProto.INT64, ["batch"]),
        ],
        [
            helper.make_tensor_value_info(
                "log_probs", TensorProto.FLOAT, ["batch", "frames", len(TOKENS)]
            )
        ],
        g.weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _feed_forward(g: Graph, x: str) -> str:
    inner = g.silu(g.linear(g.norm(x), WIDTH, FEED_FORWARD))
    outer = g.linear(inner, FEED_FORWARD, WIDTH, BRANCH_GAIN)
    return g.add("Add", x, g.add("Mul", outer, g.constant(np.float32(0.5))))


def _attention(g: Graph, x: str, rotations: tuple[str, ...], padding: str) -> str:
    normed = g.norm(x)
    split = g.integers(0, 0, HEADS, HEAD_WIDTH)
    rotated = _rotate(g, g.add("Reshape", normed, split), rotations)
    rotated = g.add("Reshape", rotated, g.integers(0, 0, WIDTH))
    query, key, value = (
        g.add("Reshape", g.linear(source, WIDTH, WIDTH), split)
        for source in (rotated, rotated, normed)
    )
    scores = g.add(
        "MatMul",
        g.add("Transpose", query, perm=[0, 2, 1, 3]),
        g.add("Transpose", key, perm=[0, 2, 3, 1]),
    )
    scores = g.add("Div", scores, g.constant(np.float32(math.sqrt(HEAD_WIDTH))))
    scores = g.add("Where", padding, g.constant(np.float32(-10_000)), scores)
    weights = g.add("Where", padding, g.constant(np.float32(0)), g.add("Softmax", scores, axis=-1))
    mixed = g.add("MatMul", weights, g.add("Transpose", value, perm=[0, 2, 1, 3]))
    mixed = g.add("Transpose", mixed, perm=[0, 2, 1, 3])
    joined = g.add("Reshape", mixed, g.integers(0, 0, WIDTH))
    return g.add("Add", x, g.linear(joined, WIDTH, WIDTH, BRANCH_GAIN))


def _rotate(g: Graph, x: str, rotations: tuple[str, ...]) -> str:
    cosines, sines = rotations
    half, end, last = g.integers(HEAD_WIDTH // 2), g.integers(HEAD_WIDTH), g.integers(3)
    first = g.add("Slice", x, g.integers(0), half, last)
    second = g.add("Slice", x, half, end, last)
    turned = g.add("Concat", g.add("Neg", second), first, axis=-1)
    return g.add("Add", g.add("Mul", x, cosines), g.add("Mul", turned, sines))


def _convolution_module(g: Graph, x: str, padding: str) -> str:
    y = g.add("Transpose", g.norm(x), perm=[0, 2, 1])
    y = g.convolution(y, WIDTH, 2 * WIDTH, 1)
    first = g.add("Slice", y, g.integers(0), g.integers(WIDTH), g.integers(1))
    gate = g.add("Slice", y, g.integers(WIDTH), g.integers(2 * WIDTH), g.integers(1))
    y = g.add("Mul", first, g.add("Sigmoid", gate))
    y = g.add("Where", padding, g.constant(np.float32(0)), y)
    y = g.convolution(y, WIDTH, WIDTH, CONVOLUTION_KERNEL, group=WIDTH)
    y = g.norm(g.add("Transpose", y, perm=[0, 2, 1]))
    y = g.add("Transpose", g.silu(y), perm=[0, 2, 1])
    y = g.convolution(y, WIDTH, WIDTH, 1, gain=BRANCH_GAIN)
    return g.add("Add", x, g.add("Transpose", y, perm=[0, 2, 1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=Path(__file__).resolve().parent.parent / "build" / "gigaam-shape",
        help="where to put the model (default: build/gigaam-shape)",
    )
    parser.add_argument("--layers", type=int, default=LAYERS, help="fewer for a quick trial")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        full = Path(temporary) / "v3_ctc.onnx"
        onnx.save(build(arguments.layers, arguments.seed), full)
        # All defaults, convolutions too. Unsigned: for years ONNX Runtime had no ConvInteger with
        # signed weights, and the one it has now is many times slower on x86-64.
        quantize_dynamic(full, folder / "v3_ctc.int8.onnx", weight_type=QuantType.QUInt8)
    config = {
        "model_type": "gigaam-v3-ctc",
        "version": "v3",
        "features_size": MELS,
        "subsampling_factor": 4,
    }
    (folder / "config.json").write_text(json.dumps(config) + "\n", encoding="utf-8")
    vocabulary = "".join(f"{token} {number}\n" for number, token in enumerate(TOKENS))
    (folder / "v3_vocab.txt").write_text(vocabulary, encoding="utf-8")
    print(folder)


if __name__ == "__main__":
    main()
