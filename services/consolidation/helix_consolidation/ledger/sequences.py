"""Positions in the streams: which sequences are processed, and the position of a memory in the log.

The floor of `ProcessedSequences` is what a generation promises: every event up to it is in. A sequence whose
message is gone from the stream is skipped by `delivery.streams.stream_state`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    import numpy as np
    from numpy.typing import NDArray

Number = TypeVar("Number", int, "NDArray[np.int64]")
_PIECES: Final = 1 << 16
"""An event has fewer pieces."""
WHOLE_LOG: Final = sys.maxsize
"""A sequence that is above all others: what is before it is the whole log."""


def log_position(stream_sequence: Number, piece: Number) -> Number:
    """Position of a memory in the log as one number."""
    return stream_sequence * _PIECES + piece


def from_log_position(position: int) -> tuple[int, int]:
    """The inverse of `log_position`: stream sequence and piece."""
    return divmod(position, _PIECES)


class ProcessedSequences:
    """Sequences processed in any order: a floor without gaps, and the scattered ones above it."""

    def __init__(self, floor: int = 0, above: Iterable[int] = ()) -> None:
        self._floor = floor
        self._above: set[int] = set()
        for sequence in above:
            self.mark(sequence)

    @property
    def floor(self) -> int:
        """Every sequence from 1 to here is processed."""
        return self._floor

    @property
    def above(self) -> tuple[int, ...]:
        """Processed sequences beyond the first gap, ascending."""
        return tuple(sorted(self._above))

    @property
    def highest(self) -> int:
        """The highest processed sequence."""
        return max(self._above, default=self._floor)

    @property
    def count(self) -> int:
        """Number of processed sequences."""
        return self._floor + len(self._above)

    @property
    def has_gap(self) -> bool:
        """Whether something above the floor is processed and the next sequence is not."""
        return bool(self._above)

    def __contains__(self, sequence: int) -> bool:
        return sequence <= self._floor or sequence in self._above

    def floor_with(self, others: Container[int]) -> int:
        """What the floor would be if `others` were processed as well."""
        floor = self._floor
        while floor + 1 in self._above or floor + 1 in others:
            floor += 1
        return floor

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is above the floor as ranges with both ends."""
        ranges: list[list[int]] = []
        for sequence in self.above:
            if ranges and ranges[-1][1] == sequence - 1:
                ranges[-1][1] = sequence
            else:
                ranges.append([sequence, sequence])
        return {"floor": self._floor, "above": ranges}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(value["floor"], (s for first, last in value["above"] for s in range(first, last + 1)))

    def up_to(self, last: int) -> ProcessedSequences:
        """A copy in which nothing above `last` is processed."""
        return ProcessedSequences(min(self._floor, last), (one for one in self._above if one <= last))

    def without(self, unprocessed: Iterable[int]) -> ProcessedSequences:
        """A copy in which these sequences are not processed."""
        left = {sequence for sequence in unprocessed if sequence in self}
        floor = min((self._floor + 1, *left)) - 1
        lifted = (sequence for sequence in range(floor + 1, self._floor + 1) if sequence not in left)
        return ProcessedSequences(floor, (*lifted, *(self._above - left)))

    def mark(self, sequence: int) -> None:
        """Mark one sequence as processed; a repeat changes nothing."""
        if sequence > self._floor:
            self._above.add(sequence)
            self._raise_floor()

    def skip_to(self, sequence: int) -> None:
        """Mark everything up to and including `sequence`."""
        if sequence > self._floor:
            self._floor = sequence
            self._above = {s for s in self._above if s > sequence}
            self._raise_floor()

    def _raise_floor(self) -> None:
        while self._floor + 1 in self._above:
            self._floor += 1
            self._above.remove(self._floor)
