"""Vectors as small integers, and exact cosines between them.

The dot product of two such vectors is a whole number below 2^24, so a float32 matrix product gives it exactly
whatever the order of its sums. A cosine therefore does not depend on the size of the batch it is computed in,
and a decision does not depend on how messages were grouped.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LARGEST_EXACT_INTEGER: Final = 2**24
"""float32 holds every whole number up to here."""
_MOST_LEVELS: Final = 127


def quantised(vector: NDArray[np.float32]) -> NDArray[np.int8]:
    """The vector [d], scaled so that its largest component is as large as exactness allows."""
    largest = float(np.abs(vector).max(initial=0.0))
    levels = min(_MOST_LEVELS, math.isqrt(_LARGEST_EXACT_INTEGER // max(len(vector), 1)))
    codes: NDArray[np.int8] = np.rint(vector * (levels / largest if largest else 0.0)).astype(np.int8)
    return codes


def restored(codes: NDArray[np.int8]) -> NDArray[np.float32]:
    """The vector of length one in the direction of `codes` [d]."""
    vector = codes.astype(np.float32)
    unit: NDArray[np.float32] = vector / np.float32(max(length_of(codes[None, :])[0], 1.0))
    return unit


def length_of(codes: NDArray[np.int8]) -> NDArray[np.float64]:
    """Lengths [n] of the rows of `codes` [n, d]."""
    wide = codes.astype(np.int32)
    lengths: NDArray[np.float64] = np.sqrt((wide * wide).sum(axis=1, dtype=np.int64).astype(np.float64))
    return lengths


def dot_products(some: NDArray[np.int8], others: NDArray[np.int8]) -> NDArray[np.float32]:
    """Exact dot products [m, n] of the rows of `some` [m, d] and `others` [n, d]."""
    products: NDArray[np.float32] = some.astype(np.float32) @ others.astype(np.float32).T
    return products
