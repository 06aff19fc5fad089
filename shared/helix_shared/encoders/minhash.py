"""MinHash signatures of texts: consolidation finds near-duplicates by them (Broder 1997).

The values are those of datasketch 2 (scheme `affine32`, seed 1, CRC-32). The formula is repeated here because
datasketch loads scipy, and because stored signatures must not change with a library.
"""

from __future__ import annotations

import functools
import itertools
import zlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from helix_shared.edges import MINHASH_PERMUTATIONS
from helix_shared.text.scripts import WORD

CACHED_TEXTS: Final = 512
"""Texts whose signature is cached: the last piece of a turn is built again with the next turn."""

_SEED: Final = 1
_LARGEST: Final = np.uint32(2**32 - 1)


@functools.lru_cache(CACHED_TEXTS)
def minhash(text: str) -> bytes:
    """Signature over words and word pairs: `MINHASH_PERMUTATIONS` little-endian uint32.

    A letter of a script without spaces counts as a word.
    """
    words = [word.lower() for word in WORD.findall(text)]
    shingles = {*words, *(f"{a} {b}" for a, b in itertools.pairwise(words))}
    hashes = [zlib.crc32(shingle.encode("utf-8", "surrogatepass")) for shingle in shingles]
    factors, offsets = _permutations()
    permuted = _mixed(np.array(hashes, np.uint32))[:, None] * factors + offsets
    signature = permuted.min(axis=0, initial=_LARGEST)
    packed: bytes = signature.astype(np.dtype("<u4")).tobytes()
    return packed


@functools.cache
def _permutations() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Factors and offsets of h -> factor x h + offset modulo 2^32; odd factors make it a permutation."""
    drawn = np.random.RandomState(_SEED)
    halves = drawn.randint(0, 2**31, MINHASH_PERMUTATIONS, dtype=np.uint32)
    offsets = drawn.randint(0, 2**32, MINHASH_PERMUTATIONS, dtype=np.uint32)
    return halves * np.uint32(2) + np.uint32(1), offsets


def _mixed(hashes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Finalizer of MurmurHash3 for 32 bits."""
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))
