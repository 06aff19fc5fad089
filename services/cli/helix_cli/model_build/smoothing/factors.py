"""Moves the range of activations into the weights, so that int8 rounds both less (SmoothQuant).

A dynamically quantised product has one step for all columns of its input. A few columns of a BERT encoder are
ten times as large as the others, which the step then rounds away. Where column j of the input is divided by
s_j, and row j of the weights multiplied by it, the float32 product is the same. With the ranges of both,
s_j = range(input_j)^a / range(weights_j)^(1 - a) (Xiao et al., SmoothQuant, ICML 2023, equation 4), here
rounded to a power of two: such a factor changes no digit of a float32 number.

The exponents of all-MiniLM-L6-v2 are a file of this package, so every machine builds the same graph.
`measuring` measures them again and writes the file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from helix_shared.encoders.engine import onnxruntime

Exponents = Mapping[str, NDArray[np.int8]]
"""log2 s [columns] for each tensor that products of constant weights take."""

ACTIVATION_SHARE: Final = 0.8
"""The exponent a: 0.7 to 0.85 agree best with float32, at 0.5 the result is worse than without."""
LEAST_RANGE: Final = 1e-4
MINILM_FILE: Final = "minilm.npz"


def minilm_exponents() -> Exponents:
    """Those of all-MiniLM-L6-v2."""
    with (resources.files(__package__) / MINILM_FILE).open("rb") as stream, np.load(stream) as arrays:
        return dict(arrays)


def measure(model: onnx.ModelProto, texts: Iterable[NDArray[np.int64]]) -> Exponents:
    """Exponents for a float32 graph, from the ids of texts, int64 [1, n] each.

    The last digits of activations differ between kinds of processors, so that an exponent may differ by one.
    """
    weights = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    of_weights = defaultdict[str, list[NDArray[np.float32]]](list)
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in weights:
            of_weights[node.input[0]].append(np.abs(weights[node.input[1]]).max(axis=1))
    ranges = _ranges(model, list(of_weights), texts)
    return {name: _exponents(ranges[name], np.max(rows, axis=0)) for name, rows in sorted(of_weights.items())}


def _ranges(
    model: onnx.ModelProto, names: list[str], texts: Iterable[NDArray[np.int64]]
) -> dict[str, NDArray[np.float32]]:
    """The largest magnitude in each column [columns] of the tensors `names`."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    del shown.graph.output[:]
    shown.graph.output.extend(
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names
    )
    session = onnxruntime.InferenceSession(shown.SerializeToString(), providers=["CPUExecutionProvider"])
    ranges: dict[str, NDArray[np.float32]] = {}
    for ids in texts:
        found = session.run(names, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        for name, values in zip(names, found, strict=True):
            largest = np.abs(values).reshape(-1, values.shape[-1]).max(axis=0)
            ranges[name] = np.maximum(ranges.get(name, 0), largest)
    return ranges


def _exponents(activations: NDArray[np.float32], weights: NDArray[np.float32]) -> NDArray[np.int8]:
    of_input, of_weights = (np.log2(np.maximum(one, LEAST_RANGE)) for one in (activations, weights))
    exact = ACTIVATION_SHARE * of_input - (1 - ACTIVATION_SHARE) * of_weights
    # a factor for all columns changes nothing
    rounded: NDArray[np.int8] = np.round(exact - exact.mean()).astype(np.int8)
    return rounded
