"""Sketches: the signs of a vector, a bit a dimension, by which a scan finds candidates for rescoring.

The angle between two vectors shows in how many signs differ (Charikar, "Similarity Estimation Techniques
from Rounding Algorithms", STOC 2002). That orders roughly and costs 48 bytes of 384 dimensions, so thousands
are looked at in the time of one call to an engine. Of the best a nearer estimate weighs each differing sign
by the query's number there, in four bits: the product of the query itself with the signs, which orders as
the estimate of RaBitQ does (Gao and Long, "RaBitQ: Quantizing High-Dimensional Vectors with a Theoretical
Error Bound for Approximate Nearest Neighbor Search", SIGMOD 2024). Then stored vectors are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_WORD_BITS: Final = 64
_PIECE_ROWS: Final = 16_384
"""Looked at in one piece: what is written and read again stays in the core's own cache."""
_WEIGHT_BITS: Final = 4
"""Of a query's number: with more, the estimate finds a thousandth more."""
_WORDS_IN_A_BYTE: Final = 3
"""Words whose ones together a byte can count."""
_MOST: Final = int(np.iinfo(np.uint16).max)


@dataclass(frozen=True, slots=True, eq=False)
class Sought:
    """A query as sketches are compared with it."""

    signs: NDArray[np.uint64]
    """Its sketch [words]."""
    planes: NDArray[np.uint64]
    """How much each of its numbers counts, as bits [bits, words] beside the signs; the highest bit first."""

    @classmethod
    def of(cls, vector: NDArray[np.float32]) -> Self:
        """That of a query `vector` [dimensions], of any length."""
        sizes = np.abs(vector)
        most = min(2**_WEIGHT_BITS - 1, _MOST // max(1, len(vector)))
        largest = float(sizes.max(initial=0)) or 1.0
        weights = np.rint(sizes.astype(np.float64) * (most / largest)).astype(np.int64)
        bits = np.arange(_WEIGHT_BITS - 1, -1, -1)[:, None]
        return cls(sketches_of(vector), sketches_of((weights >> bits & 1).astype(np.float32)))


def sketches_of(vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Sketches of `vectors` [..., dimensions]: [..., words of 64 signs], the last filled up with zeros."""
    words = -(-vectors.shape[-1] // _WORD_BITS)
    bits = np.zeros((*vectors.shape[:-1], words * _WORD_BITS), bool)
    np.greater(vectors, 0, out=bits[..., : vectors.shape[-1]])
    return np.packbits(bits, axis=-1).view(np.uint64)


def differing_signs(sketches: NDArray[np.uint64], sought: Sought) -> NDArray[np.uint16]:
    """In how many signs each of `sketches` [words, n] differs from those of `sought`."""
    summed = np.zeros(sketches.shape[1], np.uint16)
    for piece, differing, counted in _differing(sketches, sought, summed):
        _add_ones(piece, differing, counted)
    return summed


def differing_weight(sketches: NDArray[np.uint64], sought: Sought) -> NDArray[np.uint16]:
    """What the signs in which each of `sketches` [words, n] differs from those of `sought` weigh together.

    With W, the sum of all weights, W - 2 x this is the product of the query, its numbers rounded to weights,
    with the signs as -1 and 1.
    """
    summed = np.zeros(sketches.shape[1], np.uint16)
    for piece, differing, counted in _differing(sketches, sought, summed):
        for plane in sought.planes:
            np.left_shift(piece, 1, out=piece)
            _add_ones(piece, differing & plane[:, None], counted)
    return summed


def _differing(
    sketches: NDArray[np.uint64], sought: Sought, summed: NDArray[np.uint16]
) -> Iterator[tuple[NDArray[np.uint16], NDArray[np.uint64], NDArray[np.uint8]]]:
    """Piece by piece that of `summed` [n], the signs that differ, and where their ones may be counted."""
    words, count = sketches.shape
    rows = min(count, _PIECE_ROWS)
    differing, counted = np.empty((words, rows), np.uint64), np.empty((words, rows), np.uint8)
    for start in range(0, count, _PIECE_ROWS):
        piece = summed[start : start + _PIECE_ROWS]
        here = differing[:, : len(piece)]
        np.bitwise_xor(sketches[:, start : start + _PIECE_ROWS], sought.signs[:, None], out=here)
        yield piece, here, counted[:, : len(piece)]


def _add_ones(summed: NDArray[np.uint16], bits: NDArray[np.uint64], counted: NDArray[np.uint8]) -> None:
    """Add to `summed` [n] the ones of `bits` [words, n], which are counted in `counted` of that shape."""
    np.bitwise_count(bits, out=counted)
    for first in range(0, len(counted), _WORDS_IN_A_BYTE):
        some = counted[first : first + _WORDS_IN_A_BYTE]
        # bytes are added to bytes at once, to longer numbers one after the other
        np.add(summed, np.add.reduce(some, axis=0, dtype=np.uint8), out=summed)


def least(distances: NDArray[np.uint16], count: int, ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of the `count` least of `distances` [n], ascending; of equal ones the lowest `ordinals` [n].

    Distances are small whole numbers, so the greatest of them is found by counting how many lie below: ten
    passes in instructions every processor has. A partition needs instructions of few, and takes eight times
    as long without.
    """
    if len(distances) <= count:
        return np.arange(len(distances))
    low, high = int(distances.min()), int(distances.max())
    while low < high:
        middle = (low + high) // 2
        if np.count_nonzero(distances <= middle) < count:
            low = middle + 1
        else:
            high = middle
    near: NDArray[np.int64] = np.flatnonzero(distances <= low)
    surplus = len(near) - count
    if not surplus:
        return near
    equal = distances[near] == low
    tied = ordinals[near[equal]]
    last = len(tied) - surplus
    equal[equal] = tied >= np.partition(tied, last)[last]
    chosen: NDArray[np.int64] = near[~equal]
    return chosen
