"""Search for many byte sequences in one pass: its time hardly depends on how many they are.

As many bytes as the shortest sequence has are looked up at every position, by numpy, in a table of the
beginnings of all sequences; the first and the last eight of them count. Where a sequence may begin, the
sorted sequences are searched: those that the bytes there begin with are beginnings of the last sequence that
is not after these bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

_WIDTHS: Final = (8, 4, 2, 1)
"""Bytes of a number that counts: the most that the shortest sequence has."""
_AT_ONCE: Final = 1 << 18
"""Positions that are looked up together."""
_SLOTS_PER_BEGINNING: Final = 64
_SLOT_BITS: Final = (16, 24)
"""Least and most bits of the number of a slot."""
_MULTIPLIERS: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03))
"""Of multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4)."""


class Patterns:
    """Byte sequences to be found; empty ones are left out."""

    def __init__(self, sequences: Iterable[bytes]) -> None:
        """Any order, repeated or not."""
        self._sorted = sorted({one for one in sequences if one})
        self._shorter = _beginnings(self._sorted)
        self.longest = max(map(len, self._sorted), default=0)
        """Bytes of the longest sequence."""
        shortest = min(map(len, self._sorted), default=1)
        self._width = next(width for width in _WIDTHS if width <= shortest)
        self._second = shortest - self._width
        """Where the last bytes that count begin."""
        beginnings = b"".join(one[:shortest] for one in self._sorted)
        self._keys = np.unique(self._keys_of(beginnings, 0, len(self._sorted), step=shortest))
        least, most = _SLOT_BITS
        bits = min(max((len(self._keys) * _SLOTS_PER_BEGINNING).bit_length(), least), most)
        self._shift = np.uint64(64 - bits)
        self._is_taken = np.zeros(1 << bits, np.bool_)
        self._is_taken[self._keys >> self._shift] = True

    def count(self, content: bytes, *, known: int = 0) -> int:
        """Occurrences from left to right that do not overlap, the longest at each position.

        Those that end within the first `known` bytes, which were looked through before, are not counted.
        """
        found = end = 0
        for position in self._positions(content):
            if position >= end and (longest := next(self._at(content, position), None)) is not None:
                end = position + len(longest)
                found += end > known
        return found

    def occurring(self, content: bytes) -> set[bytes]:
        """The sequences that occur, also inside one another."""
        return set(chain.from_iterable(self._at(content, one) for one in self._positions(content)))

    def _positions(self, content: bytes) -> Iterator[int]:
        """Where a sequence may begin, in order."""
        positions = len(content) - self._second - self._width + 1 if self._sorted else 0
        for start in range(0, positions, _AT_ONCE):
            keys = self._keys_of(content, start, min(_AT_ONCE, positions - start), step=1)
            likely = np.flatnonzero(self._is_taken[keys >> self._shift])
            nearest = np.searchsorted(self._keys, keys[likely]).clip(max=len(self._keys) - 1)
            yield from (likely[self._keys[nearest] == keys[likely]] + start).tolist()

    def _keys_of(self, content: bytes, start: int, count: int, *, step: int) -> NDArray[np.uint64]:
        """Hashes of the bytes from `count` positions on; the same bytes have the same."""
        keys = np.zeros(count, np.uint64)
        for offset, multiplier in zip((0, self._second), _MULTIPLIERS, strict=True):
            place, kind = start + offset, f"<u{self._width}"
            keys += np.ndarray((count,), kind, content, offset=place, strides=(step,)) * multiplier
        return keys

    def _at(self, content: bytes, position: int) -> Iterator[bytes]:
        """The sequences at a position, the longest first."""
        rest = content[position : position + self.longest]
        index = bisect_right(self._sorted, rest) - 1
        while index >= 0:
            if rest.startswith(self._sorted[index]):
                yield self._sorted[index]
            index = self._shorter[index]


def _beginnings(ordered: list[bytes]) -> list[int]:
    """For each of the sorted sequences, the index of the longest other one that it begins with; -1: none."""
    found, open_ones = list[int](), list[int]()
    for index, one in enumerate(ordered):
        while open_ones and not one.startswith(ordered[open_ones[-1]]):
            open_ones.pop()
        found.append(open_ones[-1] if open_ones else -1)
        open_ones.append(index)
    return found
