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
_PIECE_ROWS: Final = 16_384
"""Looked at in one piece: what is written and read again stays in the core's own cache."""


def sketches_of(vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Sketches of `vectors` [..., dimensions]: [..., words of 64 signs], the last filled up with zeros."""
    words = -(-vectors.shape[-1] // _WORD_BITS)
    bits = np.zeros((*vectors.shape[:-1], words * _WORD_BITS), bool)
    np.greater(vectors, 0, out=bits[..., : vectors.shape[-1]])
    return np.packbits(bits, axis=-1).view(np.uint64)


def differing_signs(sketches: NDArray[np.uint64], sought: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """In how many signs each of `sketches` [words, n] differs from `sought` [words]."""
    count = sketches.shape[1]
    summed = np.zeros(count, np.uint16)
    words, ones = np.empty(_PIECE_ROWS, np.uint64), np.empty(_PIECE_ROWS, np.uint8)
    for start in range(0, count, _PIECE_ROWS):
        piece = summed[start : start + _PIECE_ROWS]
        differing, counted = words[: len(piece)], ones[: len(piece)]
        for word, signs in zip(sketches[:, start : start + _PIECE_ROWS], sought, strict=True):
            np.bitwise_count(np.bitwise_xor(word, signs, out=differing), out=counted)
            np.add(piece, counted, out=piece)
    return summed
