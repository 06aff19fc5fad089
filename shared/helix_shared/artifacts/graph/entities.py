"""Numbers of entities while a graph is built: those of the base, then new ones in order of statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from helix_shared.artifacts.graph.delta import GraphDelta, entity_table
from helix_shared.artifacts.graph.snapshot import Link, entity_key

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from helix_shared.artifacts.graph.base import GraphBase


class EntityNumbers:
    """Entities by their 64-bit key; number n of the base is its n-th key."""

    def __init__(self, base: GraphBase) -> None:
        self._base_keys = base.entity_keys
        self._numbers: dict[int, int] = {}
        self._new: list[tuple[int, tuple[str, str, str, int]]] = []

    def load(self, delta: GraphDelta) -> None:
        """Take over the new entities of a delta."""
        rows = zip(*(delta.entities[name].to_pylist() for name in delta.entities.column_names), strict=True)
        self._new = list(zip(delta.entity_keys.tolist(), rows, strict=True))
        old = len(self._base_keys)
        self._numbers = {key: old + place for place, (key, _) in enumerate(self._new)}

    def number(self, tenant_id: str, tenant: int, link: Link) -> int:
        """Number of the entity of a link; a new one if nothing was linked to it before."""
        key = entity_key(tenant_id, link.name)
        number = self._numbers.get(key)
        if number is None:
            number = self._number_in_base(key)
            if number is None:
                number = len(self._base_keys) + len(self._new)
                self._new.append((key, (link.name, link.kind, link.surface, tenant)))
            self._numbers[key] = number
        return number

    def renumbered(self, targets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any], pa.Table]:
        """`targets` [n] as a delta numbers them, and the new ones among them: sorted keys and their table."""
        old = len(self._base_keys)
        is_new = targets >= old
        used, places = np.unique(targets[is_new] - old, return_inverse=True)
        new = [self._new[number] for number in used.tolist()]
        keys = np.array([key for key, _ in new], np.uint64)
        order = np.argsort(keys)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        numbers = targets.copy()
        numbers[is_new] = old + rank[places]
        return numbers, keys[order], entity_table([new[index][1] for index in order.tolist()])

    def _number_in_base(self, key: int) -> int | None:
        keys = self._base_keys
        place = int(np.searchsorted(keys, np.uint64(key)))
        return place if place < len(keys) and int(keys[place]) == key else None
