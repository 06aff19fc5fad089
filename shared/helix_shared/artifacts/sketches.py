"""Sketches: the signs of a vector, a bit a dimension, by which a scan finds candidates for rescoring.

The angle between two vectors shows in how many signs differ (Charikar, "Similarity Estimation Techniques
from Rounding Algorithms", STOC 2002). That orders roughly and costs 48 bytes of 384 dimensions, so thousands
are looked at in the time of one call to an engine; the best are ordered by their stored vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORD_BITS: Final = 64
_PIECE_ROWS: Final = 8_192
"""Looked at in one piece: what is written and read again stays in the core's own cache."""


def sketches_of(vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Sketches of `vectors` [..., dimensions]: [..., words of 64 signs], the last filled up with zeros."""
    words = -(-vectors.shape[-1] // _WORD_BITS)
    bits = np.zeros((*vectors.shape[:-1], words * _WORD_BITS), bool)
    np.greater(vectors, 0, out=bits[..., : vectors.shape[-1]])
    return np.packbits(bits, axis=-1).view(np.uint64)


def nearest_sketches(
    sketches: NDArray[np.uint64], rows: NDArray[np.int64], sought: NDArray[np.uint64], count: int
) -> NDArray[np.int64]:
    """Those of `rows` whose sketch differs least from `sought`: `count`, and all who equal the last."""
    if len(rows) <= count:
        return rows
    distances = np.empty(len(rows), np.uint16)
    # one row of signs for each of a piece: numpy repeats a single one a few words at a time
    signs = np.tile(sought, (_PIECE_ROWS, 1))
    gathered = np.empty_like(signs)
    for start in range(0, len(rows), _PIECE_ROWS):
        piece = rows[start : start + _PIECE_ROWS]
        # clip: without it numpy takes into a buffer first; the rows are in bounds
        differing = np.take(sketches, piece, axis=0, mode="clip", out=gathered[: len(piece)])
        counts = np.bitwise_count(np.bitwise_xor(differing, signs[: len(piece)], out=differing))
        summed = counts[:, 0].astype(np.uint16)
        for word in range(1, counts.shape[1]):
            summed += counts[:, word]
        distances[start : start + len(piece)] = summed
    within = np.cumsum(np.bincount(distances))
    return rows[distances <= np.searchsorted(within, count)]
