"""Quantises a float32 graph to int8: dynamic, per channel, with signed weights.

Weights become int8 with one scale per output column; activations are quantised at run time with one scale per
text. `fidelity` compares the result with the original.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, Protocol, get_args

import onnx

from helix_shared.encoders.engine import onnxruntime
from helix_shared.errors import PermanentError

WeightBits = Literal[7, 8]
# Matrix products, and the word embeddings, which are half of the weights of a small encoder.
QUANTISED_OPERATORS = ["MatMul", "Gather"]
FULL_BITS = 8
# Full range first: it is more exact on processors that do not saturate.
WEIGHT_BITS: tuple[WeightBits, ...] = tuple(reversed(get_args(WeightBits)))


class Comparison(Protocol):
    """How an int8 model compares with its original; printed, it is a part of the card."""

    @property
    def sufficient(self) -> bool:
        """Whether the int8 model may replace the original."""


def quantise_checked(
    model: onnx.ModelProto, target: Path, *, name: str, compared: Callable[[], Comparison]
) -> str:
    """Write the int8 form of `model` to `target` and return its comparison with the original as text.

    `compared` compares what `target` holds now.

    Raises:
        PermanentError: it differs too much from the original.
    """
    for bits in WEIGHT_BITS:
        quantise(model, target, weight_bits=bits)
        found = compared()
        if found.sufficient:
            return f"int8 ({bits}-bit weights), {found}"
    raise PermanentError(f"the int8 model of {name} differs too much: {found}: import it with --fp32")


def quantise(model: onnx.ModelProto, target: Path, *, weight_bits: WeightBits) -> None:
    """Write the int8 form of the float32 graph `model` to `target`.

    With `weight_bits` 7 the weights keep to -64..64: processors without VNNI add pairs of 8-bit products
    in 16 bits and saturate on the full range.
    """
    # imported after `onnxruntime`, which `engine` imports with its telemetry off
    quantization = import_module(f"{onnxruntime.__name__}.quantization")
    prepared = onnx.ModelProto()
    prepared.CopyFrom(model)
    # Without this property the quantiser warns that the graph was not preprocessed.
    onnx.helper.set_model_props(prepared, {"onnx.quant.pre_process": "onnxruntime.quant"})
    # The quantiser writes files beside its input, so the input gets a folder of its own.
    with TemporaryDirectory(prefix="helix-quantise-") as scratch:
        source = Path(scratch) / "model.onnx"
        onnx.save(prepared, source)
        quantization.quantize_dynamic(
            source,
            target,
            op_types_to_quantize=QUANTISED_OPERATORS,
            per_channel=True,
            reduce_range=weight_bits < FULL_BITS,
            weight_type=quantization.QuantType.QInt8,
        )
