"""The index of near-duplicates: finds earlier memories with nearly the same text.

datasketch's own index is a Python dictionary filled row by row: over a minute and gigabytes for a million
memories at every start. Here the band keys of `minhash_bands` are kept in one sorted array: 3 seconds, 130
MB, and 256 MB of signatures.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_consolidation.ledger.minhash_bands import NO_WORDS, THRESHOLD, band_keys, estimated_jaccard
from helix_shared.edges import MINHASH_PERMUTATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

LONGEST_BUCKET: Final = 32
"""Members compared per bucket, the earliest of the log; it bounds the cost of repeated boilerplate."""
_TAIL_KEYS: Final = 500_000
_ERASED_GROUP: Final = -1
"""Group of an erased memory."""


@dataclass(frozen=True, slots=True)
class DuplicateMatch:
    """An indexed memory that says nearly the same."""

    ordinal: int
    jaccard: float


@dataclass(frozen=True, slots=True)
class DuplicateMatches:
    """The near-duplicates of one memory."""

    earlier: list[DuplicateMatch]
    """Those before it, in the order of the log."""
    later: list[DuplicateMatch]
    """Those after it that are compared with it."""
    displaced: set[int]
    """Ordinals that this one pushes out of the first `LONGEST_BUCKET` of a bucket."""


class NearDuplicates:
    """Memories by band key, each bucket in the order of the log.

    A memory is compared with the first `LONGEST_BUCKET` members of each of its buckets, so its match depends
    on the memories that exist, not on their order of arrival.
    """

    def __init__(self) -> None:
        self._keys = np.empty(0, np.uint64)
        self._ordinals = np.empty(0, np.int32)
        self._stamped = np.empty(0, np.int32)
        self._tail: dict[int, list[tuple[int, int, int]]] = {}
        """Key -> log position, ordinal and stamp of its members, ascending."""
        self._tail_size = 0
        self._signatures = np.zeros((1_024, MINHASH_PERMUTATIONS), np.uint32)
        self._contents = np.zeros(1_024, np.int64)
        self._groups = np.zeros(1_024, np.int64)
        self._positions = np.zeros(1_024, np.int64)
        self._stamps = np.zeros(1_024, np.int32)
        """Entries of an ordinal with another stamp are of an earlier version."""

    def load(
        self,
        ordinals: NDArray[np.int64],
        positions: NDArray[np.int64],
        groups: NDArray[np.int64],
        contents: NDArray[np.int64],
        signatures: NDArray[np.uint32],
    ) -> None:
        """Add many memories at once; `positions` are `log_position`s."""
        if not len(ordinals):
            return
        self._reserve(int(ordinals.max()))
        self._signatures[ordinals] = signatures
        self._contents[ordinals] = contents
        self._groups[ordinals] = groups
        self._positions[ordinals] = positions
        keys = band_keys(groups, contents, signatures)
        repeated = np.repeat(ordinals, keys.shape[1]).astype(np.int32)
        self._merge(keys.ravel(), repeated, self._stamps[repeated])

    def add(
        self, ordinal: int, position: int, group: int, content: int, signature: NDArray[np.uint32]
    ) -> DuplicateMatches:
        """Index a memory, or another version of it."""
        self._reserve(ordinal)
        self._stamps[ordinal] += 1
        self._signatures[ordinal] = signature
        self._contents[ordinal] = content
        self._groups[ordinal] = group
        self._positions[ordinal] = position
        member = (position, ordinal, int(self._stamps[ordinal]))
        keys = self._keys_of(ordinal)
        for key in keys.tolist():
            bisect.insort(self._tail.setdefault(key, []), member)
        self._tail_size += len(keys)
        if self._tail_size > max(_TAIL_KEYS, len(self._keys) // 4):
            self._fold_tail()
        return self._matches(ordinal, keys)

    def matches(self, ordinal: int) -> DuplicateMatches:
        """The near-duplicates of an indexed memory."""
        return self._matches(ordinal, self._keys_of(ordinal))

    def _matches(self, ordinal: int, keys: NDArray[np.uint64]) -> DuplicateMatches:
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
                earlier.update(other for other in chosen if self._positions[other] < self._positions[ordinal])
        near = self._compared(ordinal, np.array(sorted(earlier), np.int64))
        return DuplicateMatches(
            earlier=sorted(near, key=lambda other: int(self._positions[other.ordinal])),
            later=self._compared(ordinal, np.array(sorted(later), np.int64)),
            displaced=displaced,
        )

    def is_indexed_as(self, ordinal: int, group: int, content: int, signature: NDArray[np.uint32]) -> bool:
        """Whether a memory is indexed with exactly these values."""
        self._reserve(ordinal)
        return (
            int(self._groups[ordinal]) == group
            and int(self._contents[ordinal]) == content
            and bool((self._signatures[ordinal] == signature).all())
        )

    def remove(self, ordinal: int) -> set[int]:
        """Remove a memory; returns those that move up into the first `LONGEST_BUCKET` of its buckets."""
        self._reserve(ordinal)
        promoted: set[int] = set()
        if self._groups[ordinal] != _ERASED_GROUP:
            for first, _ in self._buckets(self._keys_of(ordinal)):
                if ordinal in first[:LONGEST_BUCKET]:
                    promoted.update(first[LONGEST_BUCKET:])
        self._stamps[ordinal] += 1
        self._signatures[ordinal] = 0
        self._contents[ordinal] = self._groups[ordinal] = _ERASED_GROUP
        return promoted

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
        if (signature == NO_WORDS).all():
            shares[:] = 0.0
        # content equal up to white space and case always matches; its shingles are not compared
        shares[self._contents[others] == self._contents[ordinal]] = 1.0
        near = shares >= THRESHOLD
        return [DuplicateMatch(int(o), float(s)) for o, s in zip(others[near], shares[near], strict=True)]

    def _buckets(self, keys: NDArray[np.uint64]) -> Iterator[tuple[list[int], Callable[[], set[int]]]]:
        """Each bucket with several members: its first `LONGEST_BUCKET` + 1, and a function for the rest."""
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
            base += self._current(slice(start, step)).tolist()
            start = step
        young: list[tuple[int, int]] = []
        for position, other, stamp in tail:
            if stamp == self._stamps[other]:
                young.append((position, other))
                if len(young) == count:
                    break
        if not base:
            return [other for _, other in young]
        old = zip(self._positions[base].tolist(), base, strict=True)
        return [other for _, other in sorted([*old, *young])[:count]]

    def _rest(self, start: int, end: int, tail: list[tuple[int, int, int]], first: list[int]) -> set[int]:
        if len(first) <= LONGEST_BUCKET:
            return set()
        young = {other for _, other, stamp in tail if stamp == self._stamps[other]}
        return young.union(self._current(slice(start, end)).tolist()).difference(first)

    def _current(self, entries: slice) -> NDArray[np.int64]:
        """Ordinals of the sorted entries that are of the current version of their memory."""
        ordinals = self._ordinals[entries].astype(np.int64)
        current: NDArray[np.int64] = ordinals[self._stamped[entries] == self._stamps[ordinals]]
        return current

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
        current = stamps == self._stamps[ordinals]
        keys, ordinals, stamps = keys[current], ordinals[current], stamps[current]
        # by position first: the stable sort by key keeps each bucket in the order of the log
        order = np.argsort(self._positions[ordinals], kind="stable")
        order = order[np.argsort(keys[order], kind="stable")]
        self._keys, self._ordinals, self._stamped = keys[order], ordinals[order], stamps[order]

    def _reserve(self, ordinal: int) -> None:
        missing = ordinal + 1 - len(self._groups)
        if missing > 0:
            grown = max(missing, len(self._groups))
            rows = np.zeros((grown, MINHASH_PERMUTATIONS), np.uint32)
            self._signatures = np.concatenate([self._signatures, rows])
            self._stamps = np.concatenate([self._stamps, np.zeros(grown, np.int32)])
            for name in ("_contents", "_groups", "_positions"):
                setattr(self, name, np.concatenate([getattr(self, name), np.zeros(grown, np.int64)]))
