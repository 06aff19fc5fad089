"""Quantises a float32 graph to int8: dynamic, per channel, with signed weights.

Weights become int8 with one scale per output column; activations are quantised at run time with one scale per
text. The result is compared with the original.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, Literal, Protocol, TypeVar, get_args

import onnx

from helix_cli.model_build.graph_file import Precision, precision_of
from helix_shared.encoders.engine import onnxruntime
from helix_shared.encoders.model import GRAPH_FILE
from helix_shared.errors import PermanentError

T = TypeVar("T")
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


@dataclass(frozen=True, slots=True)
class Making(Generic[T]):
    """How one kind of model folder is finished around its graph, and compared with another."""

    lay_out: Callable[[Path], object]
    """Writes the other files that `results` needs into a folder."""
    seal: Callable[[Path, Precision, str], object]
    """Writes the card of a folder, with the precision of the graph and a note about it."""
    results: Callable[[Path], T]
    """What the model of a folder gives for the sample texts."""
    compare: Callable[[T, T], Comparison]
    """Compares the results of the original with those of the int8 model."""


def write_graph(
    model: onnx.ModelProto, folder: Path, making: Making[T], *, name: str, keep_fp32: bool
) -> tuple[Precision, str]:
    """Write the graph of a model into its folder, a float32 one as int8 unless `keep_fp32`.

    The folder must be laid out. Returns what its card must say: the precision and a note.

    Raises:
        PermanentError: the int8 graph differs too much from the original.
    """
    precision = precision_of(model)
    if precision != "fp32" or keep_fp32:
        onnx.save(model, folder / GRAPH_FILE)
        return precision, f"{precision} as published"
    with TemporaryDirectory(prefix="helix-fp32-") as scratch:
        original = Path(scratch)
        making.lay_out(original)
        onnx.save(model, original / GRAPH_FILE)
        making.seal(original, "fp32", "reference")
        reference = making.results(original)
    for bits in WEIGHT_BITS:
        quantise(model, folder / GRAPH_FILE, weight_bits=bits)
        making.seal(folder, "int8", "unchecked")
        found = making.compare(reference, making.results(folder))
        if found.sufficient:
            return "int8", f"int8 ({bits}-bit weights), {found}"
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
