"""MinHash signatures cut into bands: memories that share a whole band are candidates for near-duplicates.

Locality-sensitive hashing (Broder 1997; Leskovec et al., Mining of Massive Datasets, chapter 3). Band keys
are computed for whole columns. The group (tenant, owner, audience, type) is mixed into every key, and one
more key is for equal content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_shared.edges import MINHASH_PERMUTATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

THRESHOLD: Final = 0.8
"""Estimated Jaccard similarity from which two memories are near-duplicates."""
BANDS: Final = 10
ROWS_PER_BAND: Final = 6
"""Bands, and rows of a band: datasketch's choice for the threshold where a missed pair costs 19 times a false
one. They find 95 % of the pairs at .8. Constants, because datasketch loads scipy; a test compares them."""
NO_WORDS: Final = np.uint32(0xFFFFFFFF)
"""Every value of the signature of a text without words."""
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)


def estimated_jaccard(signature: NDArray[np.uint32], others: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Share of equal permutations: `signature` [64] against `others` [n, 64]."""
    shares: NDArray[np.float64] = (others == signature).mean(axis=1)
    return shares


def band_keys(
    groups: NDArray[np.int64], contents: NDArray[np.int64], signatures: NDArray[np.uint32]
) -> NDArray[np.uint64]:
    """Keys [n, bands + 1] of memories: one per band, the last for equal content."""
    group = groups.astype(np.uint64)[:, None]
    keys = _mixed(group, np.arange(BANDS + 1, dtype=np.uint64)[None, :])
    banded = (
        signatures[:, : BANDS * ROWS_PER_BAND].astype(np.uint64).reshape(len(groups), BANDS, ROWS_PER_BAND)
    )
    for column in range(ROWS_PER_BAND):
        keys[:, :BANDS] = _mixed(keys[:, :BANDS], banded[:, :, column])
    keys[:, BANDS] = _mixed(keys[:, BANDS], contents.astype(np.uint64))
    return keys


def signatures_of(minhash: Sequence[bytes]) -> NDArray[np.uint32]:
    """Signatures [n, 64] from the `minhash` column of an edge."""
    flat = np.frombuffer(b"".join(minhash), "<u4")
    return flat.reshape(len(minhash), MINHASH_PERMUTATIONS).astype(np.uint32)


def _mixed(key: NDArray[np.uint64], value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One round of multiply and shift (splitmix64); the overflow is intended."""
    mixed = (key ^ value) * _MULTIPLIER
    result: NDArray[np.uint64] = mixed ^ (mixed >> _SHIFT)
    return result
