"""Sketches: the signs of a vector, one bit a dimension, by which a scan finds candidates for rescoring.

The number of differing signs estimates the angle between two vectors (Charikar, "Similarity Estimation
Techniques from Rounding Algorithms", STOC 2002). A sketch of 384 dimensions takes 48 bytes, so a scan
compares thousands in the time of one call to an engine. For the best of them, each differing sign is
weighted by the query's number in that dimension, in four bits. This is the product of the query with the
signs, and it orders as the estimate of RaBitQ does (Gao and Long, "RaBitQ: Quantizing High-Dimensional
Vectors with a Theoretical Error Bound for Approximate Nearest Neighbor Search", SIGMOD 2024). Then stored
vectors are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_WORD_BITS: Final = 64
_CHUNK_ROWS: Final = 16_384
"""Sketches compared at once: the intermediate arrays fit into the cache of a core."""
_WEIGHT_BITS: Final = 4
"""Bits of a query's number; more bits raise recall by a thousandth."""
_WORDS_IN_A_BYTE: Final = 3
"""Words whose set bits a byte can count together."""
_MOST: Final = int(np.iinfo(np.uint16).max)


@dataclass(frozen=True, slots=True, eq=False)
class SketchQuery:
    """A query in the form in which sketches are compared with it."""

    signs: NDArray[np.uint64]
    """Its sketch [words]."""
    planes: NDArray[np.uint64]
    """Weights of its numbers as bit planes [bits, words], the highest bit first."""

    @classmethod
    def of(cls, vector: NDArray[np.float32]) -> Self:
        """From a `vector` [dimensions] of any norm."""
        sizes = np.abs(vector)
        most = min(2**_WEIGHT_BITS - 1, _MOST // max(1, len(vector)))
        largest = float(sizes.max(initial=0)) or 1.0
        weights = np.rint(sizes.astype(np.float64) * (most / largest)).astype(np.int64)
        bits = np.arange(_WEIGHT_BITS - 1, -1, -1)[:, None]
        return cls(sketches_of(vector), sketches_of((weights >> bits & 1).astype(np.float32)))


def sketches_of(vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Sketches [..., words] of `vectors` [..., dimensions]: 64 signs a word, the last padded with zeros."""
    words = -(-vectors.shape[-1] // _WORD_BITS)
    bits = np.zeros((*vectors.shape[:-1], words * _WORD_BITS), bool)
    np.greater(vectors, 0, out=bits[..., : vectors.shape[-1]])
    return np.packbits(bits, axis=-1).view(np.uint64)


def differing_signs(sketches: NDArray[np.uint64], query: SketchQuery) -> NDArray[np.uint16]:
    """Number of signs [n] in which each of `sketches` [words, n] differs from `query`."""
    summed = np.zeros(sketches.shape[1], np.uint16)
    for chunk, differing, counted in _differing(sketches, query, summed):
        _add_ones(chunk, differing, counted)
    return summed


def differing_weight(sketches: NDArray[np.uint64], query: SketchQuery) -> NDArray[np.uint16]:
    """Sum of the weights [n] of the signs in which each of `sketches` [words, n] differs from `query`.

    With W the sum of all weights, W - 2 x the result is the product of the query, its numbers rounded to
    weights, with the signs as -1 and 1.
    """
    summed = np.zeros(sketches.shape[1], np.uint16)
    for chunk, differing, counted in _differing(sketches, query, summed):
        for plane in query.planes:
            np.left_shift(chunk, 1, out=chunk)
            _add_ones(chunk, differing & plane[:, None], counted)
    return summed


def _differing(
    sketches: NDArray[np.uint64], query: SketchQuery, summed: NDArray[np.uint16]
) -> Iterator[tuple[NDArray[np.uint16], NDArray[np.uint64], NDArray[np.uint8]]]:
    """For each chunk: its part of `summed` [n], the differing signs, and a buffer for their counts."""
    words, count = sketches.shape
    rows = min(count, _CHUNK_ROWS)
    differing, counted = np.empty((words, rows), np.uint64), np.empty((words, rows), np.uint8)
    for start in range(0, count, _CHUNK_ROWS):
        chunk = summed[start : start + _CHUNK_ROWS]
        here = differing[:, : len(chunk)]
        np.bitwise_xor(sketches[:, start : start + _CHUNK_ROWS], query.signs[:, None], out=here)
        yield chunk, here, counted[:, : len(chunk)]


def _add_ones(summed: NDArray[np.uint16], bits: NDArray[np.uint64], counted: NDArray[np.uint8]) -> None:
    """Add to `summed` [n] the number of set bits of `bits` [words, n]; `counted` [words, n] is a buffer."""
    np.bitwise_count(bits, out=counted)
    for first in range(0, len(counted), _WORDS_IN_A_BYTE):
        some = counted[first : first + _WORDS_IN_A_BYTE]
        # numpy adds bytes to bytes with vector instructions, bytes to longer numbers one by one
        np.add(summed, np.add.reduce(some, axis=0, dtype=np.uint8), out=summed)


def smallest(distances: NDArray[np.uint16], count: int, ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places, ascending, of the `count` smallest of `distances` [n]; ties go to the lowest `ordinals` [n].

    Distances are small integers, so the largest one to take is found by bisection: ten passes that count how
    many lie below. numpy's partition is fast on processors with AVX-512 only; on others it takes eight times
    as long.
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
