"""Writes a BERT sentence encoder as an ONNX graph, without torch.

`bert_graph` writes the published forward pass (Devlin et al. 2019, post-norm encoder; Vaswani et al.
2017, section 3.2) with plain operators: two inputs (`input_ids`, `attention_mask`, both
int64 [batch, sequence]) and one output (`last_hidden_state`, float32 [batch, sequence, hidden]).
Batch and sequence have any length. The encoder that runs the graph does the pooling.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper
from safetensors.numpy import load_file

from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import onnx

    from helix_cli.model_build.smoothing.factors import Exponents

# LayerNormalization is an operator since 17, exact Gelu since 20; ONNX Runtime has CPU kernels for both.
OPSET = 20
# The format version that belongs to the operator set; older runtimes cannot read a newer one.
IR_VERSION = 9
# Added to the scores of padding: exp() of it is zero, and it does not overflow.
MASKED_SCORE = -1e9


@dataclass(frozen=True, slots=True)
class BertShape:
    """The sizes of a BERT encoder from its config.json."""

    hidden: int
    heads: int
    layers: int
    epsilon: float

    @classmethod
    def read(cls, config: Path) -> Self:
        """Read the sizes from `config`.

        Raises:
            InvalidInputError: it describes something this graph does not compute.
        """
        values = json.loads(config.read_text(encoding="utf-8"))
        for key, expected in (("model_type", "bert"), ("hidden_act", "gelu")):
            if values.get(key) != expected:
                raise InvalidInputError(f"config.json.{key}", f"must be {expected!r}, is {values.get(key)!r}")
        if values.get("position_embedding_type", "absolute") != "absolute":
            raise InvalidInputError("config.json.position_embedding_type", "must be 'absolute'")
        return cls(
            hidden=values["hidden_size"],
            heads=values["num_attention_heads"],
            layers=values["num_hidden_layers"],
            epsilon=values["layer_norm_eps"],
        )


@dataclass(slots=True)
class _Graph:
    """A graph under construction; each method appends operators and returns the name of their result."""

    shape: BertShape
    weights: Mapping[str, np.ndarray]
    smoothing: Exponents
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)

    def constant(self, name: str, value: np.ndarray) -> str:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def step(self, operator: str, *inputs: str, name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def dense(self, source: str, layer: str) -> str:
        """Linear layer x W^T + b; the weight is stored as [in, out], as MatMul and its quantiser need it."""
        weight = self.weights[f"{layer}.weight"].T
        if source in self.smoothing:
            factors = np.exp2(self.smoothing[source].astype(np.float32))
            source, weight = self.divided(source, factors), weight * factors[:, None]
        matrix = self.constant(f"{layer}.weight", weight)
        product = self.step("MatMul", source, matrix, name=f"{layer}.product")
        return self.step("Add", product, self.weight(f"{layer}.bias"), name=f"{layer}.sum")

    def divided(self, source: str, factors: np.ndarray) -> str:
        """Divide the columns by `factors`, once for all layers that take `source`."""
        name = f"{source}.smooth"
        if f"{name}.factors" not in self.constants:
            self.step("Mul", source, self.constant(f"{name}.factors", 1 / factors), name=name)
        return name

    def norm(self, source: str, layer: str) -> str:
        scale, shift = self.weight(f"{layer}.weight"), self.weight(f"{layer}.bias")
        epsilon = self.shape.epsilon
        return self.step("LayerNormalization", source, scale, shift, name=layer, axis=-1, epsilon=epsilon)

    def heads(self, source: str, *, transposed: tuple[int, ...]) -> str:
        """Split [batch, sequence, hidden] into heads, axes in the order of `transposed`."""
        size = self.shape.hidden // self.shape.heads
        target = self.constant("heads.shape", np.array([0, 0, self.shape.heads, size], np.int64))
        split = self.step("Reshape", source, target, name=f"{source}.split")
        return self.step("Transpose", split, name=f"{source}.heads", perm=transposed)

    def embeddings(self) -> str:
        """Word + position + type; the type is always row 0, because a text is one segment."""
        places = self.weights["embeddings.position_embeddings.weight"]
        places = places + self.weights["embeddings.token_type_embeddings.weight"][0]
        words = self.step(
            "Gather", self.weight("embeddings.word_embeddings.weight"), "input_ids", name="words"
        )
        length = self.step("Shape", "input_ids", name="sequence", start=1, end=2)
        first, axis = (self.constant(name, np.array([0], np.int64)) for name in ("first", "axis"))
        table_name = self.constant("embeddings.positions", places)
        positions = self.step("Slice", table_name, first, length, axis, name="positions")
        return self.norm(self.step("Add", words, positions, name="embedded"), "embeddings.LayerNorm")

    def mask(self) -> str:
        """[batch, 1, 1, sequence]: zero where there is a token, MASKED_SCORE where there is padding."""
        real = self.step("Cast", "attention_mask", name="mask.real", to=TensorProto.FLOAT)
        one = self.constant("one", np.array(1, np.float32))
        missing = self.step("Sub", one, real, name="mask.missing")
        score = self.constant("mask.score", np.array(MASKED_SCORE, np.float32))
        added = self.step("Mul", missing, score, name="mask.added")
        axes = self.constant("mask.axes", np.array([1, 2], np.int64))
        return self.step("Unsqueeze", added, axes, name="mask")

    def attention(self, source: str, layer: str, mask: str) -> str:
        """softmax(Q K^T / sqrt(d) + mask) V, per head, then the output projection."""
        query = self.heads(self.dense(source, f"{layer}.self.query"), transposed=(0, 2, 1, 3))
        key = self.heads(self.dense(source, f"{layer}.self.key"), transposed=(0, 2, 3, 1))
        value = self.heads(self.dense(source, f"{layer}.self.value"), transposed=(0, 2, 1, 3))
        root = math.sqrt(self.shape.hidden // self.shape.heads)
        scale = self.constant("attention.scale", np.array(1 / root, np.float32))
        scores = self.step("MatMul", query, key, name=f"{layer}.scores")
        scaled = self.step("Mul", scores, scale, name=f"{layer}.scaled")
        masked = self.step("Add", scaled, mask, name=f"{layer}.masked")
        shares = self.step("Softmax", masked, name=f"{layer}.shares", axis=-1)
        mixed = self.step("MatMul", shares, value, name=f"{layer}.mixed")
        together = self.step("Transpose", mixed, name=f"{layer}.together", perm=(0, 2, 1, 3))
        flat = self.constant("hidden.shape", np.array([0, 0, self.shape.hidden], np.int64))
        joined = self.step("Reshape", together, flat, name=f"{layer}.joined")
        return self.dense(joined, f"{layer}.output.dense")

    def layer(self, source: str, index: int, mask: str) -> str:
        prefix = f"encoder.layer.{index}"
        attended = self.attention(source, f"{prefix}.attention", mask)
        first = self.step("Add", attended, source, name=f"{prefix}.attention.residual")
        normed = self.norm(first, f"{prefix}.attention.output.LayerNorm")
        wide = self.step("Gelu", self.dense(normed, f"{prefix}.intermediate.dense"), name=f"{prefix}.gelu")
        narrow = self.dense(wide, f"{prefix}.output.dense")
        second = self.step("Add", narrow, normed, name=f"{prefix}.residual")
        return self.norm(second, f"{prefix}.output.LayerNorm")


def bert_graph(weights: Path, shape: BertShape, smoothing: Exponents | None = None) -> onnx.ModelProto:
    """Write the encoder of `weights` (a safetensors file in BERT's own naming) as a float32 graph.

    With `smoothing` int8 rounds it less; its float32 results are the same. The pooler, which sentence
    encoders do not use, is left out. Raises InvalidInputError when a weight is missing.
    """
    graph = _Graph(shape, load_file(weights), smoothing or {})
    try:
        hidden, mask = graph.embeddings(), graph.mask()
        for index in range(shape.layers):
            hidden = graph.layer(hidden, index, mask)
    except KeyError as error:
        raise InvalidInputError("model.safetensors", f"has no weight {error.args[0]!r}") from error
    graph.step("Identity", hidden, name="last_hidden_state")
    return _model(graph)


def _model(graph: _Graph) -> onnx.ModelProto:
    axes = ["batch", "sequence"]
    body = helper.make_graph(
        graph.nodes,
        "bert",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, axes)
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*axes, graph.shape.hidden])],
        list(graph.constants.values()),
    )
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="helix")
    model.ir_version = IR_VERSION
    checker.check_model(model, full_check=True)
    return model
