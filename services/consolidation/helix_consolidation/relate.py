"""Near-duplicates: which earlier memory does a newcomer repeat?

MinHash with locality-sensitive hashing (Broder 1997; Leskovec et al., Mining of Massive Datasets,
chapter 3): signatures are cut into bands, two memories that agree in one whole band are compared
in full. datasketch chooses bands and rows for the threshold; its own index is a Python dictionary
filled row by row, over a minute and gigabytes for a million memories at every start, so the band
keys are computed for whole columns here and kept in one sorted array: 3 seconds, 130 MB, and 256 MB
of signatures.

Only memories of one group (tenant, owner, audience, type) are compared: the group is mixed into
every band key. Equal content is found through one more key of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from datasketch import MinHashLSH

from helix_shared.edges import MINHASH_PERMUTATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

THRESHOLD: Final = 0.8
"""Estimated Jaccard similarity from which two memories count as saying the same."""
FALSE_WEIGHTS: Final = (0.05, 0.95)
"""Cost of a needless comparison against a missed pair: 10 bands of 6 find 95 % of pairs at .8."""
LONGEST_BUCKET: Final = 32
"""Earliest members looked at per band; boilerplate said a thousand times stays cheap."""
_NO_WORDS: Final = np.uint32(0xFFFFFFFF)
"""Every value of the signature of a text without a single word; it resembles nothing."""
_TAIL_KEYS: Final = 500_000
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An indexed memory that says nearly the same."""

    ordinal: int
    jaccard: float


@cache
def bands() -> tuple[int, int]:
    """Number of bands and rows per band."""
    chosen = MinHashLSH(threshold=THRESHOLD, num_perm=MINHASH_PERMUTATIONS, weights=FALSE_WEIGHTS)
    return int(chosen.b), int(chosen.r)


def estimated_jaccard(signature: NDArray[np.uint32], others: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Share of equal permutations: `signature` [64] against `others` [n, 64]."""
    shares: NDArray[np.float64] = (others == signature).mean(axis=1)
    return shares


def band_keys(
    groups: NDArray[np.int64], contents: NDArray[np.int64], signatures: NDArray[np.uint32]
) -> NDArray[np.uint64]:
    """Keys [n, bands + 1] of memories: one per band, the last for equal content."""
    count, rows = bands()
    group = groups.astype(np.uint64)[:, None]
    keys = _mixed(group, np.arange(count + 1, dtype=np.uint64)[None, :])
    banded = signatures[:, : count * rows].astype(np.uint64).reshape(len(groups), count, rows)
    for column in range(rows):
        keys[:, :count] = _mixed(keys[:, :count], banded[:, :, column])
    keys[:, count] = _mixed(keys[:, count], contents.astype(np.uint64))
    return keys


def signatures_of(minhash: Sequence[bytes]) -> NDArray[np.uint32]:
    """Signatures [n, 64] from the column of the edge."""
    flat = np.frombuffer(b"".join(minhash), "<u4")
    return flat.reshape(len(minhash), MINHASH_PERMUTATIONS).astype(np.uint32)


class NearDuplicates:
    """The index; ordinals are added in any order, a removed one is told by `is_there`."""

    def __init__(self) -> None:
        self._keys = np.empty(0, np.uint64)
        self._ordinals = np.empty(0, np.int32)
        self._tail: dict[int, list[int]] = {}
        self._signatures = np.zeros((1_024, MINHASH_PERMUTATIONS), np.uint32)
        self._contents = np.zeros(1_024, np.int64)
        self._groups = np.zeros(1_024, np.int64)

    def load(
        self,
        ordinals: NDArray[np.int64],
        groups: NDArray[np.int64],
        contents: NDArray[np.int64],
        signatures: NDArray[np.uint32],
    ) -> None:
        """Add many at once; far cheaper than one by one."""
        if not len(ordinals):
            return
        self._reserve(int(ordinals.max()))
        self._signatures[ordinals] = signatures
        self._contents[ordinals] = contents
        self._groups[ordinals] = groups
        keys = band_keys(groups, contents, signatures)
        self._merge(keys.ravel(), np.repeat(ordinals, keys.shape[1]).astype(np.int32))

    def add(self, ordinal: int, group: int, content: int, signature: NDArray[np.uint32]) -> list[Neighbour]:
        """Index one memory; returns the neighbours it had, of one group, itself excluded."""
        self._reserve(ordinal)
        keys = band_keys(np.array([group]), np.array([content]), signature[None, :])[0].tolist()
        found = self._candidates(keys) - {ordinal}
        self._signatures[ordinal] = signature
        self._contents[ordinal] = content
        self._groups[ordinal] = group
        for key in keys:
            bucket = self._tail.setdefault(key, [])
            if len(bucket) < LONGEST_BUCKET and ordinal not in bucket:
                bucket.append(ordinal)
        if len(self._tail) > max(_TAIL_KEYS, len(self._keys) // 4):
            self._fold_tail()
        return self._compared(np.array(sorted(found), np.int64), group, content, signature)

    def forget(self, ordinal: int) -> None:
        """Wipe what is known of an erased memory; it is no neighbour any more."""
        self._reserve(ordinal)
        self._signatures[ordinal] = 0
        self._contents[ordinal] = self._groups[ordinal] = -1

    def _compared(
        self, ordinals: NDArray[np.int64], group: int, content: int, signature: NDArray[np.uint32]
    ) -> list[Neighbour]:
        ordinals = ordinals[self._groups[ordinals] == group]
        shares = estimated_jaccard(signature, self._signatures[ordinals])
        if (signature == _NO_WORDS).all():
            shares[:] = 0.0
        # equal content up to white space and case is the same statement whatever its shingles say
        shares[self._contents[ordinals] == content] = 1.0
        return [Neighbour(int(o), float(s)) for o, s in zip(ordinals, shares, strict=True) if s >= THRESHOLD]

    def _candidates(self, keys: list[int]) -> set[int]:
        found: set[int] = set()
        starts = np.searchsorted(self._keys, np.array(keys, np.uint64))
        for key, start in zip(keys, starts.tolist(), strict=True):
            bucket = self._keys[start : start + LONGEST_BUCKET] == np.uint64(key)
            found.update(self._ordinals[start : start + LONGEST_BUCKET][bucket].tolist())
            found.update(self._tail.get(key, ()))
        return found

    def _fold_tail(self) -> None:
        keys = np.fromiter(
            (key for key, bucket in self._tail.items() for _ in bucket),
            np.uint64,
            sum(map(len, self._tail.values())),
        )
        ordinals = np.fromiter((o for bucket in self._tail.values() for o in bucket), np.int32, len(keys))
        self._tail = {}
        self._merge(keys, ordinals)

    def _merge(self, keys: NDArray[np.uint64], ordinals: NDArray[np.int32]) -> None:
        keys = np.concatenate([self._keys, keys])
        ordinals = np.concatenate([self._ordinals, ordinals])
        # by ordinal first, so that a bucket starts with its earliest members
        order = np.argsort(ordinals, kind="stable")
        order = order[np.argsort(keys[order], kind="stable")]
        self._keys, self._ordinals = keys[order], ordinals[order]

    def _reserve(self, ordinal: int) -> None:
        missing = ordinal + 1 - len(self._groups)
        if missing > 0:
            grown = max(missing, len(self._groups))
            self._signatures = np.concatenate(
                [self._signatures, np.zeros((grown, MINHASH_PERMUTATIONS), np.uint32)]
            )
            self._contents = np.concatenate([self._contents, np.zeros(grown, np.int64)])
            self._groups = np.concatenate([self._groups, np.zeros(grown, np.int64)])


def _mixed(key: NDArray[np.uint64], value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One round of multiply and shift (splitmix64); wraps on purpose, as arrays do."""
    mixed = (key ^ value) * _ODD
    result: NDArray[np.uint64] = mixed ^ (mixed >> _SHIFT)
    return result
