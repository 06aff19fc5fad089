"""Columns that one generation after the other goes on with: appending costs what is appended.

Room is kept behind the values; the next generation writes there, where no reader of this one looks.
A column is copied only when an old value changes, or two go on from the same one. One thread grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST_ROOM: Final = 4_096
_ROOM_SHARE: Final = 8
"""Of so many values one more is kept free."""


@dataclass(slots=True, eq=False)
class _Room:
    values: NDArray[Any]
    used: int


@dataclass(frozen=True, slots=True, eq=False)
class AppendOnlyColumn:
    """A column of `size` values, or rows of values, none of which changes."""

    room: _Room
    size: int

    @classmethod
    def of(cls, values: NDArray[Any]) -> AppendOnlyColumn:
        """A column with these values; the array is the column's from now on."""
        return cls(_Room(values, len(values)), len(values))

    @property
    def values(self) -> NDArray[Any]:
        """The values; not to be written to."""
        return self.room.values[: self.size]

    def with_values(
        self, places: NDArray[np.int64], values: NDArray[Any], *, size: int, fill: Any
    ) -> AppendOnlyColumn:
        """The column with `values` at `places`, each once, and `fill` where nothing was said up to `size`."""
        old = places < self.size
        changes = bool((self.room.values[places[old]] != values[old]).any())
        room = self.room
        if changes or room.used != self.size or size > len(room.values):
            places_kept = size + size // _ROOM_SHARE + _LEAST_ROOM
            room = _Room(np.empty((places_kept, *room.values.shape[1:]), room.values.dtype), self.size)
            room.values[: self.size] = self.values
        room.values[self.size : size] = fill
        room.used = size
        kept = slice(None) if changes else ~old
        room.values[places[kept]] = values[kept]
        return AppendOnlyColumn(room, size)
