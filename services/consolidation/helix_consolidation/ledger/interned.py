"""Values that occur in many rows, kept once and named by a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

T = TypeVar("T", bound="Hashable")


class Interned(Generic[T]):
    """Values by number; numbers are given in order of first use."""

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._values = list(values)
        self._numbers = {value: number for number, value in enumerate(self._values)}

    def __getitem__(self, number: int) -> T:
        return self._values[number]

    def number(self, value: T) -> int:
        """The number of a value; a new one if it has none yet."""
        number = self._numbers.setdefault(value, len(self._values))
        if number == len(self._values):
            self._values.append(value)
        return number
