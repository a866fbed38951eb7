"""An untrained transducer in sherpa-onnx's layout: loud is «да», the quiet after it is «нет»."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

VOCABULARY = ("<blk>", "<unk>", "▁да", "▁нет")
V = len(VOCABULARY)
D = 2 + V  # loud, quiet, one-hot of the last token
LOUDEST_QUIET = -5.0  # natural log of a mel band's energy; digital silence is -15.9
FRAMES = 8  # the encoder takes eight frames at a time and outputs two


def make_transducer(folder: Path) -> Path:
    """Write the encoder, decoder, joiner and tokens; needs onnx."""
    onnx: Any = import_module("onnx")
    node, kinds = onnx.helper.make_node, onnx.TensorProto

    def value(name: str, shape: list[object], kind: Any = kinds.FLOAT) -> Any:
        return onnx.helper.make_tensor_value_info(name, kind, shape)

    def write(
        name: str, nodes: list[Any], ins: list[Any], outs: list[Any], facts: dict[str, object],
        **constants: Any,
    ) -> None:  # fmt: skip
        fixed = [onnx.numpy_helper.from_array(np.array(a), key) for key, a in constants.items()]
        graph = onnx.helper.make_graph(nodes, name, ins, outs, fixed)
        opset = [onnx.helper.make_opsetid("", 13)]
        model = onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)
        onnx.helper.set_model_props(model, {key: str(fact) for key, fact in facts.items()})
        onnx.checker.check_model(model)
        onnx.save(model, folder / f"{name}.onnx")

    write(
        "encoder",
        [
            node("ReduceMax", ["x"], ["loudest"], axes=[2], keepdims=1),
            node("Slice", ["loudest", "zero", "end", "time", "step"], ["sampled"]),
            node("Greater", ["sampled", "threshold"], ["is_loud"]),
            node("Cast", ["is_loud"], ["loud"], to=kinds.FLOAT),
            node("Sub", ["unit", "loud"], ["quiet"]),
            node("Mul", ["loud", "nothing"], ["rest"]),
            node("Concat", ["loud", "quiet", "rest"], ["encoder_out"], axis=2),
            node("Identity", ["h"], ["next_h"]),
            node("Identity", ["c"], ["next_c"]),
        ],
        [value("x", ["N", FRAMES, 80]), value("h", [1, "N", D]), value("c", [1, "N", D])],
        [
            value("encoder_out", ["N", 2, D]),
            value("next_h", [1, "N", D]),
            value("next_c", [1, "N", D]),
        ],
        {
            "model_type": "lstm",
            "num_encoder_layers": 1,
            "T": FRAMES,
            "decode_chunk_len": FRAMES,
            "rnn_hidden_size": D,
            "d_model": D,
        },
        zero=np.array([0], np.int64),
        end=np.array([FRAMES], np.int64),
        time=np.array([1], np.int64),
        step=np.array([FRAMES // 2], np.int64),
        threshold=np.float32(LOUDEST_QUIET),
        unit=np.float32(1),
        nothing=np.zeros(V, np.float32),
    )
    write(
        "decoder",
        [
            node("Gather", ["y", "last"], ["token"], axis=1),
            node("OneHot", ["token", "size", "off_on"], ["one_hot"]),
            node("Mul", ["one_hot", "zero"], ["nothing"]),
            node("Slice", ["nothing", "begin", "two", "axis"], ["padding"]),
            node("Concat", ["padding", "one_hot"], ["decoder_out"], axis=1),
        ],
        [value("y", ["N", 2], kinds.INT64)],
        [value("decoder_out", ["N", D])],
        {"vocab_size": V, "context_size": 2},
        last=np.int64(1),
        size=np.int64(V),
        off_on=np.array([0, 1], np.float32),
        zero=np.float32(0),
        begin=np.array([0], np.int64),
        two=np.array([2], np.int64),
        axis=np.array([1], np.int64),
    )
    weights = np.zeros((D, V), np.float32)
    yes, no = VOCABULARY.index("▁да"), VOCABULARY.index("▁нет")
    weights[0, yes] = weights[1, no] = 1
    # Each is emitted once, «да» first.
    weights[2 + yes, yes] = weights[2 + no, no] = weights[2, no] = -1
    write(
        "joiner",
        [
            node("Add", ["encoder_out", "decoder_out"], ["both"]),
            node("MatMul", ["both", "weights"], ["scores"]),
            node("Add", ["scores", "bias"], ["logit"]),
        ],
        [value("encoder_out", ["N", D]), value("decoder_out", ["N", D])],
        [value("logit", ["N", V])],
        {"joiner_dim": D},
        weights=weights,
        bias=np.array([0.5, -9, 0, 0], np.float32),
    )
    lines = (f"{token} {number}\n" for number, token in enumerate(VOCABULARY))
    (folder / "tokens.txt").write_text("".join(lines), encoding="utf-8")
    return folder
