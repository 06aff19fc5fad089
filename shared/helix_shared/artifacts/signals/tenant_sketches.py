"""Which memories a tenant has, with the sketches of their vectors: for searches that need no index.

Immutable: a generation shares with the one before what did not change, and adding costs by what is new.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_shared.artifacts.signals.sketches import Sought, differing_signs, differing_weight, least

if TYPE_CHECKING:
    from numpy.typing import NDArray

MERGE_RATIO: Final = 2
"""A piece is at least this many times the next, so a tenant has few of them however often it grew."""

ESTIMATED: Final = 8
"""Memories whose distance is estimated for every one that is chosen by the estimate.

So few that stored vectors would bring to the front are missed: of half a million, 16,000 hold .994 of the
hundred nearest and 8,000 .984.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Some memories of one tenant: ordinals, ascending, and sketches [words, memories] beside them.

    Word after word, because a scan takes the same word of all: four times as fast as row after row.
    """

    ordinals: NDArray[np.int32]
    sketches: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.ordinals)

    def with_sketches(self, ordinals: NDArray[np.int64], sketches: NDArray[np.uint64]) -> Piece:
        """The piece with these sketches [n, words] for those of `ordinals` that are in it."""
        places = np.searchsorted(self.ordinals, ordinals)
        here = np.flatnonzero(places < len(self))
        here = here[self.ordinals[places[here]] == ordinals[here]]
        said = sketches[here].T
        if (self.sketches[:, places[here]] == said).all():
            return self
        changed = self.sketches.copy()
        changed[:, places[here]] = said
        return Piece(self.ordinals, changed)


@dataclass(frozen=True, slots=True, eq=False)
class TenantSketches:
    """Memories of every tenant by its code; an erased one may still be among them, hidden."""

    pieces: Mapping[int, tuple[Piece, ...]]

    @classmethod
    def none(cls) -> Self:
        """Of an empty store."""
        return cls({})

    def with_new(
        self, ordinals: NDArray[np.int64], tenant_codes: NDArray[np.int64], sketches: NDArray[np.uint64]
    ) -> TenantSketches:
        """These and further memories, none of which is known yet; `sketches` [n, words] run parallel."""
        grown = dict(self.pieces)
        for code, rows in _by_tenant(tenant_codes):
            piece = Piece(ordinals[rows].astype(np.int32), np.ascontiguousarray(sketches[rows].T))
            grown[code] = _merged((*grown.get(code, ()), piece))
        return TenantSketches(grown)

    def with_changed(
        self, ordinals: NDArray[np.int64], tenant_codes: NDArray[np.int64], sketches: NDArray[np.uint64]
    ) -> TenantSketches:
        """These with other sketches of memories that are known; costs by the pieces they are in."""
        changed = dict(self.pieces)
        for code, rows in _by_tenant(tenant_codes):
            pieces = changed.get(code, ())
            changed[code] = tuple(one.with_sketches(ordinals[rows], sketches[rows]) for one in pieces)
        return TenantSketches(changed)

    def count(self, tenant_code: int) -> int:
        """How many memories a tenant has or had."""
        return sum(map(len, self.pieces.get(tenant_code, ())))

    def of(self, tenant_code: int) -> NDArray[np.int64]:
        """All of them; costs by their number."""
        pieces = self.pieces.get(tenant_code, ())
        return np.concatenate([np.empty(0, np.int64), *(piece.ordinals for piece in pieces)])

    def sample(self, tenant_code: int, count: int) -> NDArray[np.int64]:
        """About `count` of a tenant's memories, evenly out of its largest piece."""
        largest = max(self.pieces.get(tenant_code, ()), key=len, default=None)
        if largest is None:
            return np.empty(0, np.int64)
        return largest.ordinals[:: max(1, len(largest) // count)].astype(np.int64)

    def nearest(
        self, tenant_code: int, sought: Sought, count: int, among: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """The `count` memories of a tenant that are nearest to `sought` by estimate; ordinals, ascending.

        Those with the least `differing_weight`, of `ESTIMATED` times as many that differ in the fewest signs;
        of equal ones the lowest ordinals. With `among` of those alone; it runs parallel to `of`.
        """
        pieces, ordinals = self.pieces.get(tenant_code, ()), self.of(tenant_code)
        asked = ordinals if among is None else ordinals[among]
        if len(asked) > ESTIMATED * count:
            differing = _concatenated([differing_signs(piece.sketches, sought) for piece in pieces])
            places = least(differing if among is None else differing[among], ESTIMATED * count, asked)
        else:
            places = np.arange(len(asked))
        places = places if among is None else np.flatnonzero(among)[places]
        if len(places) > count:
            starts = np.cumsum([0, *map(len, pieces)])
            cuts = np.searchsorted(places, starts)
            weights = [
                differing_weight(np.take(piece.sketches, places[first:last] - start, axis=1), sought)
                for piece, start, first, last in zip(pieces, starts.tolist(), cuts, cuts[1:], strict=False)
            ]
            places = places[least(_concatenated(weights), count, ordinals[places])]
        return np.sort(ordinals[places])


def _concatenated(parts: Sequence[NDArray[np.uint16]]) -> NDArray[np.uint16]:
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.uint16), *parts])


def _by_tenant(tenant_codes: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Every code, with its rows in their order."""
    order = np.argsort(tenant_codes, kind="stable")
    codes, starts = np.unique(tenant_codes[order], return_index=True)
    return zip(codes.tolist(), np.split(order, starts[1:]), strict=False)


def _merged(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    start, size = len(pieces) - 1, len(pieces[-1])
    while start > 0 and len(pieces[start - 1]) < MERGE_RATIO * size:
        start -= 1
        size += len(pieces[start])
    if start == len(pieces) - 1:
        return pieces
    ordinals = np.concatenate([piece.ordinals for piece in pieces[start:]])
    sketches = np.concatenate([piece.sketches for piece in pieces[start:]], axis=1)
    if (ordinals[1:] < ordinals[:-1]).any():
        # an ordinal that had no row got one
        order = np.argsort(ordinals)
        ordinals, sketches = ordinals[order], np.take(sketches, order, axis=1)
    return (*pieces[:start], Piece(ordinals, sketches))
