"""Appends the projection of a late-interaction model to a graph that was exported without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors import SafetensorError
from safetensors.numpy import load_file

from helix_cli.model_build.description import CONFIG, read_json
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

PROJECTED: Final = "token_embeddings"
"""Name of the projected output, which `encoders.session` looks for."""
WEIGHTS_FILE: Final = "model.safetensors"
WEIGHTS: Final = "linear.weight"
_MATRIX: Final = "late_interaction_projection"


def dense_weights(folder: Path) -> NDArray[np.float32]:
    """The matrix [out, in] of a Dense module without bias and activation.

    Raises:
        InvalidInputError: the module is another one; names the file.
    """
    config = read_json(folder / CONFIG, default={})
    activation = str(config.get("activation_function", "")).rpartition(".")[2]
    if config.get("bias") or activation not in ("", "Identity"):
        reason = f"must have no bias and no activation, has bias {config.get('bias')} and {activation!r}"
        raise InvalidInputError(f"{folder.name}/{CONFIG}", f"{reason}: export the graph with its projection")
    try:
        weights: NDArray[np.float32] = load_file(folder / WEIGHTS_FILE)[WEIGHTS]
    except (OSError, KeyError, SafetensorError) as error:
        raise InvalidInputError(
            f"{folder.name}/{WEIGHTS_FILE}", f"must hold the matrix {WEIGHTS}: {error}"
        ) from error
    return weights.astype("float32")


def with_projection(model: onnx.ModelProto, output: str, weights: NDArray[np.float32]) -> onnx.ModelProto:
    """A copy of `model` whose only output is `output` times the transposed `weights` [out, in]."""
    projected = onnx.ModelProto()
    projected.CopyFrom(model)
    graph = projected.graph
    graph.initializer.append(numpy_helper.from_array(weights.T.copy(), _MATRIX))
    graph.node.append(helper.make_node("MatMul", [output, _MATRIX], [PROJECTED]))
    del graph.output[:]
    shape: list[str | int | None] = ["batch", "tokens", len(weights)]
    graph.output.append(helper.make_tensor_value_info(PROJECTED, TensorProto.FLOAT, shape))
    return projected
