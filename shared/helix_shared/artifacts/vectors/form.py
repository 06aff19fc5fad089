"""What an operator chooses for the vectors of a store; readers see it in the files themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from helix_shared.artifacts.signals.vector_storage import StorageChoice

Scan = Literal["auto", "scalar", "binary"]
"""How the vector index codes a number: in a byte, in a bit, or as the number of rows suggests."""


@dataclass(frozen=True, slots=True)
class VectorForm:
    """`storage` is the form of the stored vectors, which candidates are ordered by."""

    storage: StorageChoice = "auto"
    scan: Scan = "auto"
    scan_dimensions: int = 0
    """How many numbers of a Matryoshka model's vector are scanned; 0: all."""


DEFAULT_FORM: Final = VectorForm()
