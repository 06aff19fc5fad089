"""Which memories a tenant has: ordinals by tenant code, for searches that need no index.

Immutable: a generation shares with the one before what did not change, and adding costs by what is new.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MERGE_RATIO: Final = 2
"""A piece is at least this many times the next, so a tenant has few of them however often it grew."""

Pieces = tuple["NDArray[np.int32]", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """Ordinals of every tenant; an erased memory may still be among them, hidden."""

    pieces: Mapping[int, Pieces]

    @classmethod
    def none(cls) -> Self:
        """Of an empty store."""
        return cls({})

    def with_new(self, ordinals: NDArray[np.int64], tenant_codes: NDArray[np.int64]) -> Members:
        """These and further ordinals, none of which is known yet."""
        order = np.argsort(tenant_codes, kind="stable")
        codes, starts = np.unique(tenant_codes[order], return_index=True)
        grown = dict(self.pieces)
        for code, piece in zip(codes.tolist(), np.split(ordinals[order], starts[1:]), strict=False):
            grown[code] = _merged((*grown.get(code, ()), piece.astype(np.int32)))
        return Members(grown)

    def count(self, tenant_code: int) -> int:
        """How many memories a tenant has or had."""
        return sum(map(len, self.pieces.get(tenant_code, ())))

    def of(self, tenant_code: int) -> NDArray[np.int64]:
        """All of them; costs by their number."""
        return np.concatenate([np.empty(0, np.int64), *self.pieces.get(tenant_code, ())])

    def sample(self, tenant_code: int, count: int) -> NDArray[np.int64]:
        """About `count` of a tenant's memories, evenly out of its largest piece."""
        largest = max(self.pieces.get(tenant_code, ()), key=len, default=np.empty(0, np.int32))
        return largest[:: max(1, len(largest) // count)].astype(np.int64)


def _merged(pieces: Pieces) -> Pieces:
    start, size = len(pieces) - 1, len(pieces[-1])
    while start > 0 and len(pieces[start - 1]) < MERGE_RATIO * size:
        start -= 1
        size += len(pieces[start])
    return (*pieces[:start], np.concatenate(pieces[start:]))
