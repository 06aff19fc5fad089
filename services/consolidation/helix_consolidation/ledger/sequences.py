"""Which sequences of a stream are answered: a contiguous floor and what lies scattered above it.

The floor is what a generation promises: every event up to it is in. Sequences that will never be
answered, because their message is gone from the stream, are skipped by the consumer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Container, Iterable


class ProcessedSequences:
    """Answered in any order, reported without holes."""

    def __init__(self, floor: int = 0, above: Iterable[int] = ()) -> None:
        self._floor = floor
        self._above: set[int] = set()
        for sequence in above:
            self.mark(sequence)

    @property
    def floor(self) -> int:
        """Every sequence from 1 to here is answered."""
        return self._floor

    @property
    def above(self) -> tuple[int, ...]:
        """Answered sequences beyond the first hole, ascending."""
        return tuple(sorted(self._above))

    @property
    def highest(self) -> int:
        """The highest answered sequence."""
        return max(self._above, default=self._floor)

    @property
    def processed(self) -> int:
        """How many sequences are answered."""
        return self._floor + len(self._above)

    @property
    def has_gap(self) -> bool:
        """Whether something above the floor is answered while the next sequence is not."""
        return bool(self._above)

    def __contains__(self, sequence: int) -> bool:
        return sequence <= self._floor or sequence in self._above

    def floor_with(self, others: Container[int]) -> int:
        """What the floor would be if `others` were answered as well."""
        floor = self._floor
        while floor + 1 in self._above or floor + 1 in others:
            floor += 1
        return floor

    def to_json(self) -> dict[str, Any]:
        """Plain values; what lies above the floor as ranges, last included."""
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

    def without(self, open_again: Iterable[int]) -> ProcessedSequences:
        """The same with some of them unanswered."""
        left = {sequence for sequence in open_again if sequence in self}
        floor = min((self._floor + 1, *left)) - 1
        lifted = (sequence for sequence in range(floor + 1, self._floor + 1) if sequence not in left)
        return ProcessedSequences(floor, (*lifted, *(self._above - left)))

    def mark(self, sequence: int) -> None:
        """Count one sequence; a repeat changes nothing."""
        if sequence > self._floor:
            self._above.add(sequence)
            self._close()

    def skip_to(self, sequence: int) -> None:
        """Everything up to and including `sequence` is answered or will never come."""
        if sequence > self._floor:
            self._floor = sequence
            self._above = {s for s in self._above if s > sequence}
            self._close()

    def _close(self) -> None:
        while self._floor + 1 in self._above:
            self._floor += 1
            self._above.remove(self._floor)
