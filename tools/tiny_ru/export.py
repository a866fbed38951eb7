"""Export a trained network to ONNX, in float and int8, with its configuration and vocabulary.

``tiny-ru`` takes the normalised features of a batch, as onnx-asr's ``nemo-conformer-ctc`` requires.
``tiny-ru-stream`` takes power spectra of a piece of one recording and the state left by the
previous piece; mel bands, logarithm and running normalisation are part of the graph. Batch
normalisation is folded into the convolutions, whose weights are stored in 8 bits.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import torch
from features import LOG_GUARD, N_FFT, mel_filters
from model import (
    ALPHABET,
    BLANK,
    HEAD_FRAMES,
    LATE_ROWS,
    N_MELS,
    ROW_FRAMES,
    SPLIT,
    TAIL_FRAMES,
    Config,
    Layer,
    Network,
    pack,
)
from onnx import TensorProto, helper, numpy_helper
from running_norm import DECAY, EPSILON, PRIOR_DEVIATION, PRIOR_FRAMES, PRIOR_MEAN

OPSET = 17
NEVER = 1 << 60  # the end of a stream that has not ended


class Graph:
    """A list of ONNX nodes; each method adds nodes and returns the name of the output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Append a node; its output gets a unique name unless one is given."""
        output = output or f"{operator.lower()}_{len(self.nodes)}"
        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], name, **attributes))
        return output

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """Append a constant."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def slice(self, x: str, start: Any, stop: Any, axis: int, step: int = 1) -> str:
        """``x[start:stop:step]`` along an axis."""
        bounds = [self.constant([value], np.int64) for value in (start, stop, axis, step)]
        return self.add("Slice", x, *bounds)

    def convolution(self, x: str, layer: Layer, *, padded: bool) -> str:
        """Convolution, folded normalisation and ReLU of (batch, channels, time)."""
        norm = layer.norm
        with torch.no_grad():
            scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
            weight = (layer.weight * scale).permute(2, 1, 0).contiguous().numpy()
            bias = (norm.bias - norm.running_mean * scale).numpy()
        right = (layer.kernel - 1) * layer.dilation - layer.left
        y = self.add(
            "Conv",
            x,
            self.constant(weight),
            self.constant(bias),
            kernel_shape=[layer.kernel],
            dilations=[layer.dilation],
            strides=[layer.stride],
            pads=[layer.left, right] if padded else [0, 0],
        )
        return self.add("Relu", y)

    def linear(self, x: str, layer: torch.nn.Linear) -> str:
        """``x @ w + b`` over the last axis."""
        weight = layer.weight.detach().t().contiguous().numpy()
        bias = layer.bias.detach().numpy()
        return self.add("Add", self.add("MatMul", x, self.constant(weight)), self.constant(bias))

    def model(self, inputs: list[Any], outputs: list[Any], **metadata: str) -> onnx.ModelProto:
        """The finished model."""
        graph = helper.make_graph(self.nodes, "tiny_ru", inputs, outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 8
        helper.set_model_props(model, metadata)
        onnx.checker.check_model(model)
        return model


def offline_graph(network: Network) -> onnx.ModelProto:
    """The graph for whole utterances; padding is masked in every layer.

    As in training, the recording is surrounded by silence (the minimum of each band),
    ``HEAD_FRAMES`` and ``TAIL_FRAMES`` long, and the scores start ``LATE_ROWS`` after its
    beginning: onnx-asr reads as many rows as the recording has.
    """
    g = Graph()
    time = g.add("Gather", g.add("Shape", "audio_signal"), g.constant(2, np.int64))
    index = g.add("Range", g.constant(0, np.int64), time, g.constant(1, np.int64))
    inside = g.add("Less", index, g.add("Unsqueeze", "length", g.constant([1], np.int64)))
    inside = g.add("Cast", inside, to=TensorProto.FLOAT)
    mask = g.add("Unsqueeze", inside, g.constant([1], np.int64))
    never = g.constant(np.float32(1e4))
    outside = g.add("Mul", g.add("Sub", g.constant(1.0), mask), never)
    quiet = g.add("ReduceMin", g.add("Add", "audio_signal", outside), axes=[2], keepdims=1)
    around = g.constant([0, 0, HEAD_FRAMES, 0, 0, TAIL_FRAMES], np.int64)
    x = g.add("Pad", g.add("Mul", "audio_signal", mask), around)
    is_recording = g.add("Pad", mask, around)
    extra = HEAD_FRAMES + TAIL_FRAMES
    all_time = g.add("Add", time, g.constant(extra, np.int64))
    index = g.add("Range", g.constant(0, np.int64), all_time, g.constant(1, np.int64))
    end = g.add("Add", "length", g.constant([extra], np.int64))
    inside = g.add("Less", index, g.add("Unsqueeze", end, g.constant([1], np.int64)))
    inside = g.add("Cast", inside, to=TensorProto.FLOAT)
    mask = g.add("Unsqueeze", inside, g.constant([1], np.int64))
    x = g.add("Add", x, g.add("Mul", quiet, g.add("Sub", mask, is_recording)))
    for layer in network.stem:
        mask = g.slice(mask, 0, np.iinfo(np.int64).max, 2, 2)
        x = g.add("Mul", g.convolution(x, layer, padded=True), mask)
    for layer in network.trunk:
        x = g.add("Mul", g.add("Add", x, g.convolution(x, layer, padded=True)), mask)
    trunk_rows = g.add(
        "Reshape",
        g.linear(g.add("Transpose", x, perm=[0, 2, 1]), network.head),
        g.constant([0, 0, SPLIT, BLANK + 1], np.int64),
    )
    read = g.add("Reshape", g.add("Softmax", trunk_rows, axis=-1), g.constant([0, 0, -1], np.int64))
    reading = g.constant(network.reading.weight.detach().t().contiguous().numpy())
    heard = g.add("Transpose", g.add("MatMul", read, reading), perm=[0, 2, 1])
    x = g.add("Mul", g.add("Add", x, heard), mask)
    steps = g.add("ReduceSum", mask, g.constant([2], np.int64), keepdims=0)
    for layer, squeeze in zip(network.top, network.squeezes, strict=True):
        y = g.convolution(x, layer, padded=True)
        total = g.add("ReduceSum", g.add("Mul", y, mask), g.constant([2], np.int64), keepdims=0)
        hidden = g.add("Relu", g.linear(g.add("Div", total, steps), squeeze.down))
        gate = g.add("Sigmoid", g.linear(hidden, squeeze.up))
        y = g.add("Mul", y, g.add("Unsqueeze", gate, g.constant([2], np.int64)))
        x = g.add("Mul", g.add("Add", x, y), mask)
    scores = g.linear(g.add("Transpose", x, perm=[0, 2, 1]), network.top_head)
    rows = g.add("Reshape", scores, g.constant([0, -1, BLANK + 1], np.int64))
    rows = g.slice(rows, HEAD_FRAMES // ROW_FRAMES + LATE_ROWS, np.iinfo(np.int64).max, 1)
    g.add("LogSoftmax", rows, axis=-1, output="logprobs")
    return g.model(
        [
            helper.make_tensor_value_info(
                "audio_signal", TensorProto.FLOAT, ["batch", N_MELS, "time"]
            ),
            helper.make_tensor_value_info("length", TensorProto.INT64, ["batch"]),
        ],
        [
            helper.make_tensor_value_info(
                "logprobs", TensorProto.FLOAT, ["batch", "rows", BLANK + 1]
            )
        ],
    )


def streaming_graph(network: Network) -> onnx.ModelProto:
    """The graph for one piece of a recording.

    Inputs are ``power`` (frames, 257), a multiple of 8 frames; ``end``, the number of frames of the
    recording, or a very large number as long as it is unknown; and the state, initially all zeros:
    ``position`` (frames so far), ``sums`` (of frames, of squares, of ones) and a cache per
    convolution. The outputs of the state have the same names prefixed with ``next_``. ``logprobs``
    (frames / 4, 34) lags by two steps of 8 frames; rows before the start and after the end are
    blank.
    """
    g = Graph()
    states: list[tuple[str, list[int], int]] = [("position", [1], TensorProto.INT64)]
    one = g.constant([1], np.int64)

    def state(name: str, shape: list[int]) -> str:
        states.append((name, shape, TensorProto.FLOAT))
        return name

    def inside(first: str, count: str, end: str) -> str:
        """1 for each of ``first + 0 … count - 1`` within [0, end), else 0; shape (1, count)."""
        numbers = g.add("Range", g.constant(0, np.int64), count, g.constant(1, np.int64))
        numbers = g.add("Add", numbers, first)
        started = g.add("GreaterOrEqual", numbers, g.constant([0], np.int64))
        within = g.add("And", started, g.add("Less", numbers, end))
        return g.add(
            "Unsqueeze", g.add("Cast", within, to=TensorProto.FLOAT), g.constant([0], np.int64)
        )

    def cached(x: str, name: str, channels: int, length: int) -> str:
        """The last ``length`` columns of the past, then ``x``; outputs the columns to keep."""
        past = state(name, [1, channels, length])
        joined = g.add("Concat", past, x, axis=2)
        keep = [g.constant([value], np.int64) for value in (-length, np.iinfo(np.int64).max, 2)]
        g.add("Slice", joined, *keep, output=f"next_{name}")
        return joined

    frames = g.add("Gather", g.add("Shape", "power"), g.constant(0, np.int64))
    g.add(
        "Add",
        "position",
        g.add("Unsqueeze", frames, g.constant([0], np.int64)),
        output="next_position",
    )
    mel = g.add("MatMul", "power", g.constant(mel_filters()))
    log_mel = g.add("Log", g.add("Add", mel, g.constant(LOG_GUARD)))
    shifted = g.add("Sub", log_mel, g.constant(PRIOR_MEAN))

    # Decayed sums of [frames, squares, ones] up to each frame: a triangle of powers of the decay.
    number = g.add(
        "Range", g.constant(0.0), g.add("Cast", frames, to=TensorProto.FLOAT), g.constant(1.0)
    )
    column = g.add("Unsqueeze", number, one)
    age = g.add("Sub", column, g.add("Unsqueeze", number, g.constant([0], np.int64)))
    power_of = g.add("Exp", g.add("Mul", g.add("Relu", age), g.constant(math.log(DECAY))))
    old = g.add("Cast", g.add("GreaterOrEqual", age, g.constant(0.0)), to=TensorProto.FLOAT)
    triangle = g.add("Mul", power_of, old)
    ones = g.add("Add", g.add("Mul", g.slice(shifted, 0, 1, 1), g.constant(0.0)), g.constant(1.0))
    moments = g.add("Concat", shifted, g.add("Mul", shifted, shifted), ones, axis=1)
    fading = g.add(
        "Exp", g.add("Mul", g.add("Add", column, g.constant(1.0)), g.constant(math.log(DECAY)))
    )
    past = g.add("Mul", fading, state("sums", [1, 2 * N_MELS + 1]))
    sums = g.add("Add", g.add("MatMul", triangle, moments), past)
    keep = [g.constant([value], np.int64) for value in (-1, np.iinfo(np.int64).max, 0)]
    g.add("Slice", sums, *keep, output="next_sums")
    count = g.add("Add", g.slice(sums, 2 * N_MELS, 2 * N_MELS + 1, 1), g.constant(PRIOR_FRAMES))
    mean = g.add("Div", g.slice(sums, 0, N_MELS, 1), count)
    square = g.add(
        "Add", g.slice(sums, N_MELS, 2 * N_MELS, 1), g.constant(PRIOR_FRAMES * PRIOR_DEVIATION**2)
    )
    variance = g.add("Relu", g.add("Sub", g.add("Div", square, count), g.add("Mul", mean, mean)))
    deviation = g.add("Add", g.add("Sqrt", variance), g.constant(EPSILON))
    normalized = g.add("Div", g.add("Sub", shifted, mean), deviation)
    x = g.add("Unsqueeze", g.add("Transpose", normalized, perm=[1, 0]), g.constant([0], np.int64))
    x = g.add("Mul", x, inside("position", frames, "end"))

    two = g.constant([2], np.int64)
    row_end = g.add(
        "Div", g.add("Add", "end", g.constant([3], np.int64)), g.constant([4], np.int64)
    )
    count_now, first, end = frames, "position", "end"
    for i, (layer, cache) in enumerate(zip(network.stem, (4, 3, 3), strict=True)):
        # A strided layer waits for two columns ahead, so it lags by one of its own steps.
        joined = cached(x, f"stem_{i}", int(layer.weight.shape[1]), cache)
        count_now = g.add("Div", count_now, g.constant(2, np.int64))
        first = (
            g.add("Sub", g.add("Div", first, two), one)
            if i == 0
            else g.add("Sub", g.add("Div", g.add("Add", first, one), two), one)
        )
        end = g.add("Div", g.add("Add", end, one), two)
        x = g.add("Mul", g.convolution(joined, layer, padded=False), inside(first, count_now, end))
    for i, block in enumerate(network.trunk):
        reach = (block.kernel - 1) * block.dilation
        right = reach - block.left
        joined = cached(x, f"block_{i}", network.config.channels, reach)
        y = g.convolution(joined, block, padded=False)
        delayed = g.slice(joined, block.left, -right if right else np.iinfo(np.int64).max, 2)
        first = g.add("Sub", first, g.constant([right], np.int64))
        x = g.add("Mul", g.add("Add", delayed, y), inside(first, count_now, end))
    columns = g.add("Transpose", g.add("Squeeze", x, g.constant([0], np.int64)), perm=[1, 0])
    rows = g.add("Reshape", g.linear(columns, network.head), g.constant([-1, BLANK + 1], np.int64))
    log_probs = g.add("LogSoftmax", rows, axis=-1)
    blank = np.full((1, BLANK + 1), -100.0)
    blank[0, BLANK] = 0.0
    split = g.constant(SPLIT, np.int64)
    valid = inside(g.add("Mul", first, split), g.add("Mul", count_now, split), row_end)
    is_valid = g.add("Cast", g.add("Transpose", valid, perm=[1, 0]), to=TensorProto.BOOL)
    g.add("Where", is_valid, log_probs, g.constant(blank), output="logprobs")
    return g.model(
        [
            helper.make_tensor_value_info("power", TensorProto.FLOAT, ["frames", N_FFT // 2 + 1]),
            helper.make_tensor_value_info("end", TensorProto.INT64, [1]),
            *(helper.make_tensor_value_info(name, kind, shape) for name, shape, kind in states),
        ],
        [
            helper.make_tensor_value_info("logprobs", TensorProto.FLOAT, ["rows", BLANK + 1]),
            *(
                helper.make_tensor_value_info(f"next_{name}", kind, shape)
                for name, shape, kind in states
            ),
        ],
        lookahead_ms="232.5",
    )


def store_int8(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same graph with the convolution weights in 8 bits, one scale per output channel.

    Products stay in float, so the text is that of the float model on any processor. Cast and Mul
    are used rather than DequantizeLinear: onnxruntime folds them once, when it loads the model, but
    would evaluate the latter for every piece of a stream.
    """
    stored = onnx.ModelProto()
    stored.CopyFrom(model)
    graph = stored.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        if node.op_type == "Conv":
            name = node.input[1]
            weight = numpy_helper.to_array(weights[name])
            scale = np.abs(weight).max(axis=(1, 2), keepdims=True) / np.float32(127)
            scale = np.maximum(scale, np.float32(1e-12))
            whole = np.round(weight / scale).astype(np.int8)
            graph.initializer.remove(weights[name])
            graph.initializer.append(numpy_helper.from_array(whole, f"{name}_int8"))
            graph.initializer.append(numpy_helper.from_array(scale, f"{name}_scale"))
            whole_as_float, kind = f"{name}_whole", TensorProto.FLOAT
            nodes.append(helper.make_node("Cast", [f"{name}_int8"], [whole_as_float], to=kind))
            nodes.append(helper.make_node("Mul", [whole_as_float, f"{name}_scale"], [name]))
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    onnx.checker.check_model(stored)
    return stored


def verify(network: Network, model: onnx.ModelProto) -> float:
    """Largest difference in log-probabilities between torch and the offline graph on a batch."""
    rng = np.random.default_rng(0)
    recordings = [rng.normal(size=(n, N_MELS)).astype(np.float32) for n in (203, 96, 401)]
    with torch.no_grad():
        expected = network(pack(recordings))[0].numpy()
    features = np.zeros((3, N_MELS, 401), np.float32)
    for row, frames in zip(features, recordings, strict=True):
        row[:, : len(frames)] = frames.T
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    lengths = np.array([len(frames) for frames in recordings], np.int64)
    (found,) = session.run(None, {"audio_signal": features, "length": lengths})
    return max(
        float(np.abs(expected[:rows, i] - found[i, :rows]).max())
        for i, rows in enumerate((lengths - 1) // ROW_FRAMES + 1)
    )


def main() -> None:
    """Export a checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("model", choices=("tiny-ru", "tiny-ru-stream"))
    parser.add_argument("--build", type=Path, default=Path("build/tiny_ru"))
    parser.add_argument(
        "--checkpoint",
        type=Path,
        help="default: the model's name in the build; tiny-ru's will do for both",
    )
    parser.add_argument("--output", type=Path, help="folder; default src/stt_ru/models/<model>")
    arguments = parser.parse_args()
    streaming = arguments.model == "tiny-ru-stream"
    checkpoint = arguments.checkpoint or arguments.build / f"{arguments.model}.pt"
    state = torch.load(checkpoint, weights_only=True)
    config = Config(**state["config"])
    network = Network(replace(config, top=()) if streaming else config)
    names = network.state_dict().keys()
    network.load_state_dict({name: state["average"][name] for name in names})
    network.eval()
    output = arguments.output or Path("src/stt_ru/models") / arguments.model.replace("-", "_")
    output.mkdir(parents=True, exist_ok=True)
    floats = arguments.build / f"{arguments.model}-float"
    floats.mkdir(exist_ok=True)
    model = streaming_graph(network) if streaming else offline_graph(network)
    onnx.save(model, floats / "model.onnx")
    if not streaming:
        print(f"torch and ONNX differ by {verify(network, model):.1e}")
    onnx.save(store_int8(model), output / "model.onnx")
    layout: dict[str, Any] = {"features_size": N_MELS, "subsampling_factor": ROW_FRAMES}
    layout["model_type"] = "tiny-ru-stream" if streaming else "nemo-conformer-ctc"
    vocabulary = "".join(f"{token} {i}\n" for i, token in enumerate([*ALPHABET, "<blk>"]))
    for folder in (output, floats):
        (folder / "config.json").write_text(
            json.dumps(layout, sort_keys=True) + "\n", encoding="utf-8"
        )
        (folder / "vocab.txt").write_text(vocabulary, encoding="utf-8")
    size = (output / "model.onnx").stat().st_size
    print(
        f"{output / 'model.onnx'}: {size / 1e6:.2f} MB, {state['spent_s'] / 60:.0f} min of training"
    )


if __name__ == "__main__":
    main()
