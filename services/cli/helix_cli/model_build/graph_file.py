"""Finds and reads the graph of a model folder.

A graph must be one file: external data would not be covered by its checksum, and the graph itself chooses the
path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped] # stubs are a namespace package
from onnx import TensorProto
from onnx.external_data_helper import uses_external_data

from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The float32 graph comes first: it is quantised here, per channel, and compared with itself. A published int8
# file, often quantised per tensor (mean cosine .855), cannot be compared.
GRAPH_PATTERNS = (
    "model.onnx",
    "onnx/model.onnx",
    "onnx/*int8*.onnx",
    "*int8*.onnx",
    "onnx/*quant*.onnx",
    "*quant*.onnx",
)
INTEGER_OPERATORS = {"MatMulInteger", "QLinearMatMul", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"}
HALF_TYPES = {TensorProto.FLOAT16, TensorProto.BFLOAT16}


Precision = Literal["int8", "fp32"]


def find_graph(folder: Path) -> Path:
    """Find the graph of `folder`: model.onnx if there is one, else a quantised one.

    Raises:
        InvalidInputError: there is none.
    """
    for pattern in GRAPH_PATTERNS:
        found = sorted(folder.glob(pattern))
        if found:
            return found[0]
    raise InvalidInputError("folder", f"must hold model.onnx or onnx/model.onnx, {folder} does not")


def read_graph(path: Path) -> onnx.ModelProto:
    """Read a graph without following the paths in it.

    Raises:
        InvalidInputError: it is not an ONNX graph, has data in other files, or has half precision.
    """
    try:
        model = onnx.load(path, load_external_data=False)
    except DecodeError as error:
        raise InvalidInputError(path.name, f"must be an ONNX graph: {error}") from error
    outside = next((tensor.name for tensor in _tensors(model) if uses_external_data(tensor)), None)
    if outside is not None:
        reason = f"must contain all its data, has {outside!r} in another file: export it as a single file"
        raise InvalidInputError(path.name, reason)
    if any(tensor.data_type in HALF_TYPES for tensor in _tensors(model)):
        raise InvalidInputError("graph", "must be float32 or int8, is half precision: export it as float32")
    return model


def precision_of(model: onnx.ModelProto) -> Precision:
    """Whether the matrix products are quantised."""
    operators = {node.op_type for node in _nodes(model)}
    return "int8" if operators & INTEGER_OPERATORS else "fp32"


def _bodies(model: onnx.ModelProto) -> Iterator[Any]:
    """The graph, the functions that it may call, and the bodies of branches and loops in each."""
    waiting: list[Any] = [model.graph, *model.functions]
    while waiting:
        body = waiting.pop()
        yield body
        for attribute in _attributes(body):
            waiting += [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]


def _nodes(model: onnx.ModelProto) -> Iterator[Any]:
    return (node for body in _bodies(model) for node in body.node)


def _attributes(body: Any) -> Iterator[Any]:
    if isinstance(body, onnx.FunctionProto):
        yield from body.attribute_proto
    for node in body.node:
        yield from node.attribute


def _tensors(model: onnx.ModelProto) -> Iterator[Any]:
    """All stored tensors: initialisers and attributes."""
    for body in _bodies(model):
        sparse: list[Any] = []
        if isinstance(body, onnx.GraphProto):
            yield from body.initializer
            sparse += body.sparse_initializer
        for attribute in _attributes(body):
            yield from (attribute.t, *attribute.tensors)
            sparse += [attribute.sparse_tensor, *attribute.sparse_tensors]
        for one in sparse:
            yield from (one.values, one.indices)
