"""Indexes inside the ledger: ids, corrections, sources of derived statements, numbered values."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from numpy.typing import NDArray

T = TypeVar("T", bound="Hashable")
_TAIL_IDS: Final = 65_536


class IdIndex:
    """Ordinals by memory id: a sorted array, and a dictionary of the ids added since it was sorted."""

    def __init__(self) -> None:
        self._ids = np.empty(0, "S32")
        self._ordinals = np.empty(0, np.int64)
        self._tail: dict[str, int] = {}

    def find(self, memory_id: str) -> int | None:
        """The ordinal last given to an id, erased or not."""
        ordinal = self._tail.get(memory_id)
        if ordinal is not None:
            return ordinal
        key = memory_id.encode("utf-8", "replace")
        at = int(np.searchsorted(self._ids, np.bytes_(key)))
        if at == len(self._ids) or bytes(self._ids[at]) != key:
            return None
        return int(self._ordinals[at])

    @property
    def is_tail_long(self) -> bool:
        """Whether the dictionary is so long that `load` saves memory."""
        return len(self._tail) > max(_TAIL_IDS, len(self._ids) // 3)

    def add(self, memory_id: str, ordinal: int) -> None:
        """Add an id."""
        self._tail[memory_id] = ordinal

    def remove(self, memory_id: str) -> None:
        """Drop an id; one of the sorted array stays until the next `load`."""
        self._tail.pop(memory_id, None)

    def load(self, ids: NDArray[np.bytes_], ordinals: NDArray[np.int64]) -> None:
        """Replace the content."""
        order = np.argsort(ids)
        self._ids, self._ordinals, self._tail = ids[order], ordinals[order], {}


class CorrectionIndex:
    """Which memory corrects which, in both directions; the corrected one is given by its code."""

    def __init__(self) -> None:
        self._corrected: dict[int, tuple[int, str]] = {}
        self._own: dict[int, int] = {}
        """Ordinal of a correction -> its own code."""
        self._corrections: dict[int, set[int]] = {}
        self._above: dict[int, int] = {}
        """Code of a correction -> code of what it corrects."""
        self._roots: dict[int, int] = {}
        """What `root` found, until a correction comes that has corrections already, or one goes."""

    def add(self, ordinal: int, own: int, code: int, memory_id: str) -> None:
        """The memory at `ordinal`, of the code `own`, corrects the one of this code and id."""
        self.remove(ordinal)
        self._corrected[ordinal] = (code, memory_id)
        self._corrections.setdefault(code, set()).add(ordinal)
        if self._corrections.get(own):
            self._roots.clear()
        self._above[own], self._own[ordinal] = code, own

    def remove(self, ordinal: int) -> None:
        """The memory at `ordinal` corrects none."""
        if ordinal in self._corrected:
            code, _ = self._corrected.pop(ordinal)
            self._corrections[code].discard(ordinal)
            del self._above[self._own.pop(ordinal)]
            self._roots.clear()

    def root(self, code: int) -> int:
        """Code of the memory that a chain of corrections corrects; the given one if it corrects none.

        A long chain is walked once.
        """
        walked: dict[int, None] = {}
        while code not in self._roots and code not in walked:
            above = self._above.get(code)
            if above is None:
                break
            walked[code] = None
            code = above
        root = self._roots.get(code, code)
        self._roots.update(dict.fromkeys(walked, root))
        return root

    def corrected_memory_of(self, ordinal: int) -> tuple[int, str]:
        """Code and id of what a memory corrects; 0 and an empty id when it corrects none."""
        return self._corrected.get(ordinal, (0, ""))

    def of(self, code: int) -> list[int]:
        """Ordinals of the corrections of the memory of this code, ascending."""
        return sorted(self._corrections.get(code, ()))


class SourceIndex:
    """Which statement of a turn stands beside which verbatim memory, in both directions."""

    def __init__(self, sources: Mapping[int, int] = MappingProxyType({})) -> None:
        self._sources: dict[int, int] = {}
        self._derived: dict[int, set[int]] = {}
        for ordinal, source in sources.items():
            self.add(ordinal, source)

    def add(self, ordinal: int, source: int) -> None:
        """The memory at `ordinal` was derived from the one at `source`."""
        self._sources[ordinal] = source
        self._derived.setdefault(source, set()).add(ordinal)

    def remove(self, ordinal: int) -> None:
        """Drop a memory that is erased."""
        for derived in self._derived.pop(ordinal, ()):
            del self._sources[derived]
        source = self._sources.pop(ordinal, None)
        if source is not None:
            self._derived[source].discard(ordinal)

    def of(self, ordinal: int) -> int | None:
        """The memory that this one was derived from."""
        return self._sources.get(ordinal)

    def same_turn(self, ordinal: int) -> list[int]:
        """The source of a derived memory, and what was derived from a verbatim one, ascending."""
        source = self._sources.get(ordinal)
        return [source] if source is not None else sorted(self._derived.get(ordinal, ()))


class Interned(Generic[T]):
    """Values that occur in many rows, each stored once; numbered in order of first use."""

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
