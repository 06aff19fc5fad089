"""Near-duplicates: which earlier memory does a memory repeat?

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

import bisect
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
from datasketch import MinHashLSH

from helix_shared.edges import MINHASH_PERMUTATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

Number = TypeVar("Number", int, "NDArray[np.int64]")

THRESHOLD: Final = 0.8
"""Estimated Jaccard similarity from which two memories count as saying the same."""
FALSE_WEIGHTS: Final = (0.05, 0.95)
"""Cost of a needless comparison against a missed pair: 10 bands of 6 find 95 % of pairs at .8."""
LONGEST_BUCKET: Final = 32
"""Members compared per band, the earliest of the log; boilerplate said a thousand times stays cheap."""
_NO_WORDS: Final = np.uint32(0xFFFFFFFF)
"""Every value of the signature of a text without a single word; it resembles nothing."""
_TAIL_KEYS: Final = 500_000
_GONE: Final = -1
"""Group of an erased memory."""
_PIECES: Final = 1 << 16
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)


@dataclass(frozen=True, slots=True)
class DuplicateMatch:
    """An indexed memory that says nearly the same."""

    ordinal: int
    jaccard: float


def log_position(stream_sequence: Number, piece: Number) -> Number:
    """Place of a memory in the log as one number; an event has fewer than 65,536 pieces."""
    return stream_sequence * _PIECES + piece


def from_log_position(place: int) -> tuple[int, int]:
    """Sequence and piece of the memory at a `log_position`."""
    return divmod(place, _PIECES)


@dataclass(frozen=True, slots=True)
class Place:
    """A memory among its near-duplicates."""

    earliest: DuplicateMatch | None
    """The earliest of the log, before this one."""
    later: list[DuplicateMatch]
    """Those after it that are compared with it."""
    displaced: set[int]
    """Those that are compared with fewer others because of it."""


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
    """The index. Memories come in any order; a bucket is read in the order of the log.

    A memory is compared with the first `LONGEST_BUCKET` members of each of its buckets, so what it repeats
    follows from the memories that are there, and not from the order in which they came.
    """

    def __init__(self) -> None:
        self._keys = np.empty(0, np.uint64)
        self._ordinals = np.empty(0, np.int32)
        self._stamped = np.empty(0, np.int32)
        self._tail: dict[int, list[tuple[int, int, int]]] = {}
        """Key -> rank, ordinal and stamp of its members, ascending."""
        self._tail_size = 0
        self._signatures = np.zeros((1_024, MINHASH_PERMUTATIONS), np.uint32)
        self._contents = np.zeros(1_024, np.int64)
        self._groups = np.zeros(1_024, np.int64)
        self._ranks = np.zeros(1_024, np.int64)
        self._stamps = np.zeros(1_024, np.int32)
        """Entries of an ordinal with another stamp are of a version before."""

    def load(
        self,
        ordinals: NDArray[np.int64],
        ranks: NDArray[np.int64],
        groups: NDArray[np.int64],
        contents: NDArray[np.int64],
        signatures: NDArray[np.uint32],
    ) -> None:
        """Add many at once; far cheaper than one by one. `ranks` are from `log_position`."""
        if not len(ordinals):
            return
        self._reserve(int(ordinals.max()))
        self._signatures[ordinals] = signatures
        self._contents[ordinals] = contents
        self._groups[ordinals] = groups
        self._ranks[ordinals] = ranks
        keys = band_keys(groups, contents, signatures)
        repeated = np.repeat(ordinals, keys.shape[1]).astype(np.int32)
        self._merge(keys.ravel(), repeated, self._stamps[repeated])

    def add(
        self, ordinal: int, log_position: int, group: int, content: int, signature: NDArray[np.uint32]
    ) -> Place:
        """Index a memory, or another version of it."""
        self._reserve(ordinal)
        self._stamps[ordinal] += 1
        self._signatures[ordinal] = signature
        self._contents[ordinal] = content
        self._groups[ordinal] = group
        self._ranks[ordinal] = log_position
        member = (log_position, ordinal, int(self._stamps[ordinal]))
        keys = self._keys_of(ordinal)
        for key in keys.tolist():
            bisect.insort(self._tail.setdefault(key, []), member)
        self._tail_size += len(keys)
        if self._tail_size > max(_TAIL_KEYS, len(self._keys) // 4):
            self._fold_tail()
        return self._place(ordinal, keys)

    def place(self, ordinal: int) -> Place:
        """What a memory says again, what says it again, and whose place it takes."""
        return self._place(ordinal, self._keys_of(ordinal))

    def _place(self, ordinal: int, keys: NDArray[np.uint64]) -> Place:
        earlier, later, displaced = set[int](), set[int](), set[int]()
        for first, rest in self._buckets(keys):
            chosen = first[:LONGEST_BUCKET]
            if ordinal in chosen:
                at = chosen.index(ordinal)
                earlier.update(chosen[:at])
                later.update(first[at + 1 :])
                later.update(rest())
                displaced.update(first[LONGEST_BUCKET:])
            else:
                earlier.update(other for other in chosen if self._ranks[other] < self._ranks[ordinal])
        near = self._compared(ordinal, np.array(sorted(earlier), np.int64))
        return Place(
            earliest=min(near, key=lambda other: int(self._ranks[other.ordinal]), default=None),
            later=self._compared(ordinal, np.array(sorted(later), np.int64)),
            displaced=displaced,
        )

    def holds(self, ordinal: int, group: int, content: int, signature: NDArray[np.uint32]) -> bool:
        """Whether a memory is indexed with just these values."""
        self._reserve(ordinal)
        return (
            int(self._groups[ordinal]) == group
            and int(self._contents[ordinal]) == content
            and bool((self._signatures[ordinal] == signature).all())
        )

    def forget(self, ordinal: int) -> set[int]:
        """Wipe a memory; returns those that take its places among the first of its buckets."""
        self._reserve(ordinal)
        heirs: set[int] = set()
        if self._groups[ordinal] != _GONE:
            for first, _ in self._buckets(self._keys_of(ordinal)):
                if ordinal in first[:LONGEST_BUCKET]:
                    heirs.update(first[LONGEST_BUCKET:])
        self._stamps[ordinal] += 1
        self._signatures[ordinal] = 0
        self._contents[ordinal] = self._groups[ordinal] = _GONE
        return heirs

    def _keys_of(self, ordinal: int) -> NDArray[np.uint64]:
        chosen = slice(ordinal, ordinal + 1)
        keys = band_keys(self._groups[chosen], self._contents[chosen], self._signatures[chosen])
        return np.unique(keys[0])

    def _compared(self, ordinal: int, others: NDArray[np.int64]) -> list[DuplicateMatch]:
        if not len(others):
            return []
        others = others[self._groups[others] == self._groups[ordinal]]
        signature = self._signatures[ordinal]
        shares = estimated_jaccard(signature, self._signatures[others])
        if (signature == _NO_WORDS).all():
            shares[:] = 0.0
        # equal content up to white space and case is the same statement whatever its shingles say
        shares[self._contents[others] == self._contents[ordinal]] = 1.0
        return [
            DuplicateMatch(int(o), float(s)) for o, s in zip(others, shares, strict=True) if s >= THRESHOLD
        ]

    def _buckets(self, keys: NDArray[np.uint64]) -> Iterator[tuple[list[int], Callable[[], set[int]]]]:
        """Of every bucket with more than one member the first, one more than are compared, and all others."""
        starts = np.searchsorted(self._keys, keys).tolist()
        for key, start in zip(keys.tolist(), starts, strict=True):
            end = start
            if start < len(self._keys) and self._keys[start] == key:
                end = int(np.searchsorted(self._keys, np.uint64(key), side="right"))
            tail = self._tail.get(key, [])
            if end - start + len(tail) <= 1:
                continue
            first = self._first(start, end, tail)
            yield first, partial(self._rest, start, end, tail, first)

    def _first(self, start: int, end: int, tail: list[tuple[int, int, int]]) -> list[int]:
        count, base = LONGEST_BUCKET + 1, list[int]()
        while start < end and len(base) < count:
            step = min(end, start + 2 * count)
            base += self._there(slice(start, step)).tolist()
            start = step
        young: list[tuple[int, int]] = []
        for place, other, stamp in tail:
            if stamp == self._stamps[other]:
                young.append((place, other))
                if len(young) == count:
                    break
        if not base:
            return [other for _, other in young]
        old = zip(self._ranks[base].tolist(), base, strict=True)
        return [other for _, other in sorted([*old, *young])[:count]]

    def _rest(self, start: int, end: int, tail: list[tuple[int, int, int]], first: list[int]) -> set[int]:
        if len(first) <= LONGEST_BUCKET:
            return set()
        young = {other for _, other, stamp in tail if stamp == self._stamps[other]}
        return young.union(self._there(slice(start, end)).tolist()).difference(first)

    def _there(self, places: slice) -> NDArray[np.int64]:
        ordinals = self._ordinals[places].astype(np.int64)
        there: NDArray[np.int64] = ordinals[self._stamped[places] == self._stamps[ordinals]]
        return there

    def _fold_tail(self) -> None:
        members = [(key, o, stamp) for key, bucket in self._tail.items() for _, o, stamp in bucket]
        keys = np.fromiter((key for key, _, _ in members), np.uint64, len(members))
        ordinals = np.fromiter((o for _, o, _ in members), np.int32, len(members))
        stamps = np.fromiter((stamp for _, _, stamp in members), np.int32, len(members))
        self._tail, self._tail_size = {}, 0
        self._merge(keys, ordinals, stamps)

    def _merge(
        self, keys: NDArray[np.uint64], ordinals: NDArray[np.int32], stamps: NDArray[np.int32]
    ) -> None:
        keys = np.concatenate([self._keys, keys])
        ordinals = np.concatenate([self._ordinals, ordinals])
        stamps = np.concatenate([self._stamped, stamps])
        there = stamps == self._stamps[ordinals]
        keys, ordinals, stamps = keys[there], ordinals[there], stamps[there]
        # by rank first, so that a bucket is in the order of the log
        order = np.argsort(self._ranks[ordinals], kind="stable")
        order = order[np.argsort(keys[order], kind="stable")]
        self._keys, self._ordinals, self._stamped = keys[order], ordinals[order], stamps[order]

    def _reserve(self, ordinal: int) -> None:
        missing = ordinal + 1 - len(self._groups)
        if missing > 0:
            grown = max(missing, len(self._groups))
            rows = np.zeros((grown, MINHASH_PERMUTATIONS), np.uint32)
            self._signatures = np.concatenate([self._signatures, rows])
            self._stamps = np.concatenate([self._stamps, np.zeros(grown, np.int32)])
            for name in ("_contents", "_groups", "_ranks"):
                setattr(self, name, np.concatenate([getattr(self, name), np.zeros(grown, np.int64)]))


def _mixed(key: NDArray[np.uint64], value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One round of multiply and shift (splitmix64); wraps on purpose, as arrays do."""
    mixed = (key ^ value) * _ODD
    result: NDArray[np.uint64] = mixed ^ (mixed >> _SHIFT)
    return result
