"""Columns that one generation shares with the next: appending costs what is appended.

The array has spare capacity behind the values. The next generation writes there, where no reader of this one
looks. The array is copied when an old value changes or when two columns continue the same one. One thread
appends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST_SPARE: Final = 4_096
_VALUES_PER_SPARE: Final = 8
"""One more spare place for this many values."""


@dataclass(slots=True, eq=False)
class _Buffer:
    values: NDArray[Any]
    used: int


@dataclass(frozen=True, slots=True, eq=False)
class AppendOnlyColumn:
    """An immutable column of `size` values, or rows of values."""

    buffer: _Buffer
    size: int

    @classmethod
    def of(cls, values: NDArray[Any]) -> AppendOnlyColumn:
        """A column with these values; it takes over the array."""
        return cls(_Buffer(values, len(values)), len(values))

    @property
    def values(self) -> NDArray[Any]:
        """The values; must not be written to."""
        return self.buffer.values[: self.size]

    def with_values(
        self, places: NDArray[np.int64], values: NDArray[Any], *, size: int, fill: Any
    ) -> AppendOnlyColumn:
        """A column of `size` with `values` at distinct `places`, and `fill` at all other new places."""
        old = places < self.size
        changes = bool((self.buffer.values[places[old]] != values[old]).any())
        buffer = self.buffer
        if changes or buffer.used != self.size or size > len(buffer.values):
            capacity = size + size // _VALUES_PER_SPARE + _LEAST_SPARE
            buffer = _Buffer(np.empty((capacity, *buffer.values.shape[1:]), buffer.values.dtype), self.size)
            buffer.values[: self.size] = self.values
        buffer.values[self.size : size] = fill
        buffer.used = size
        written = slice(None) if changes else ~old
        buffer.values[places[written]] = values[written]
        return AppendOnlyColumn(buffer, size)
