"""The operator's settings for the vectors of a store; readers see them in the files themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

if TYPE_CHECKING:
    from helix_shared.artifacts.signals.vector_storage import StorageChoice

IndexKind = Literal["scalar", "binary", "product"]
"""Quantisation of the vector index, in which candidates are found.

scalar (IVF-SQ): a byte a dimension. binary (IVF-RQ): a bit a dimension. product (IVF-PQ): two bits
a dimension.
"""

ScanChoice = Literal["auto", "scalar", "binary", "product"]
"""An index kind for every size; auto: by the number of rows."""

INDEX_KINDS: Final[tuple[IndexKind, ...]] = get_args(IndexKind)


@dataclass(frozen=True, slots=True)
class VectorForm:
    """`storage` is the form of the stored vectors, by which candidates are ranked."""

    storage: StorageChoice = "auto"
    scan: ScanChoice = "auto"
    scan_dimensions: int = 0
    """Leading dimensions of a Matryoshka model's vector that are scanned; 0: all."""


DEFAULT_FORM: Final = VectorForm()
