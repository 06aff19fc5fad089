"""The graph of one generation: a base and a delta, read as one graph.

The two are merged for the nodes that a caller asks for, so opening costs as much as the delta. The walks of
the query service read `degrees` and `edges_of`.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from helix_memory.vocabulary.predicates import SIDES
from helix_shared.artifacts.graph.base import ENTITIES_FROM, GraphBase, flat
from helix_shared.artifacts.graph.delta import GraphDelta
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

EDGE_KINDS: Final = (
    "MENTIONS",
    "UPDATES",
    "EXTENDS",
    "DERIVES",
    "RELATES",
    "PART_OF",
    "IN_CATEGORY",
    "CONTRADICTS",
    *SIDES,
)
"""Edge types; the index is stored. Add at the end only.

The memory has an edge to the subject and to the object of a predicate, in place of its MENTIONS edge.
"""

BASE: Final = "base"
DELTA_FILE: Final = "delta.arrow"
NO_TENANT: Final = -1


@dataclass(frozen=True, slots=True)
class Link:
    """A memory's edge to an entity; `name` is canonical, `surface` as written."""

    edge: str
    kind: str
    name: str
    surface: str
    weight: float


def entity_key(tenant_id: str, name: str) -> int:
    """64-bit key of an entity; two tenants with the same name have two entities."""
    joined = f"{tenant_id}\x1f{name}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True)
class EdgeRows:
    """Edges of some nodes, node after node; `counts` has the number of edges of each node."""

    counts: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float32]
    kinds: NDArray[np.uint8]
    forward: NDArray[np.bool_]
    """Whether the edge was stated in this direction."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphSnapshot:
    """The graph of one generation; immutable and safe to read from several threads.

    Nodes below `ENTITIES_FROM` are ordinals, the others entities. Every edge is stored at both ends.
    """

    base: GraphBase
    delta: GraphDelta
    places: NDArray[np.int32]
    """By slot: 1 + the row of the delta, or 0. Slots are ordinals, then entities."""
    changes: NDArray[np.int64]
    """By that number: how many more edges the node has than in the base."""
    void: NDArray[np.bool_]
    """By slot: whether the edges in the base are void."""

    @classmethod
    def open(cls, folder: Path, *, previous: GraphBase | None = None) -> GraphSnapshot:
        """Map the snapshot in `folder`; `previous` is reused if its files are the same.

        Raises:
            CorruptArtifactError: a file is missing or they do not fit together.
        """
        base = GraphBase.open(folder / BASE, previous=previous)
        delta = GraphDelta.open(folder / DELTA_FILE)
        if delta.base_edges != base.edges or delta.memories < base.memories:
            raise CorruptArtifactError(f"graph has a delta of another base: {folder}")
        try:
            return cls.of(base, delta)
        except IndexError as error:
            raise CorruptArtifactError(f"graph names nodes it does not have: {folder}") from error

    @classmethod
    def of(cls, base: GraphBase, delta: GraphDelta) -> GraphSnapshot:
        """A base with its delta."""
        slots = delta.memories + len(base.entity_keys) + len(delta.entity_keys)
        # pages of zeros are not allocated until they are written, so this costs as much as the delta
        places, void = np.zeros(slots, np.int32), np.zeros(slots, bool)
        places[_slots(delta.nodes, delta.memories)] = np.arange(1, len(delta.nodes) + 1)
        void[delta.void] = True
        changes = np.concatenate([[0], np.diff(delta.indptr) - delta.lost])
        return cls(base, delta, places, changes, void)

    @property
    def memories(self) -> int:
        """One more than the highest ordinal."""
        return self.delta.memories

    @property
    def entities(self) -> int:
        """Number of entities with links."""
        return len(self.base.entity_keys) + len(self.delta.entity_keys) - self.delta.unlinked

    @property
    def edge_count(self) -> int:
        """Number of stored edges: two for each edge that was stated."""
        return self.base.edges + int(self.changes.sum())

    def every_node(self) -> NDArray[np.int64]:
        """All ordinals, then all entities with links."""
        numbers = len(self.base.entity_keys) + len(self.delta.entity_keys)
        entities = ENTITIES_FROM + np.arange(numbers)
        return np.concatenate([np.arange(self.memories), entities[self.degrees(entities) > 0]])

    def degrees(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of edges [n] of each of `nodes` [n], in both directions."""
        _, counts = self.base.spans(nodes)
        found: NDArray[np.int64] = counts + self.changes[self.places[_slots(nodes, self.memories)]]
        return found

    def edges_of(self, nodes: NDArray[np.int64]) -> EdgeRows:
        """All edges of `nodes`: for each node those of the base, then those of the delta."""
        counts, columns = self._columns_of(nodes, ("indices", "weights", "edge_kinds", "forward"))
        return EdgeRows(counts, columns[0].astype(np.int64), *columns[1:])

    def targets_of(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Number of edges [n] of each of `nodes` [n], and the targets of all, in the order of `edges_of`."""
        counts, [targets] = self._columns_of(nodes, ("indices",))
        return counts, targets.astype(np.int64)

    def _columns_of(
        self, nodes: NDArray[np.int64], names: Sequence[str]
    ) -> tuple[NDArray[np.int64], list[Any]]:
        slots = _slots(nodes, self.memories)
        starts, counts = self.base.spans(nodes)
        rows = self.places[slots].astype(np.int64) - 1
        changed = rows >= 0
        if not changed.any():
            return counts, self._read(names, flat(starts, counts), None)
        counts = np.where(self.void[slots], 0, counts)
        places = flat(starts, counts)
        if (self.delta.lost[rows[changed]] > 0).any():
            kept = ~self.void[_slots(self.base.indices[places].astype(np.int64), self.memories)]
            owners = np.repeat(np.arange(len(nodes)), counts)
            places, counts = places[kept], np.bincount(owners[kept], minlength=len(nodes))
        added = np.where(changed, self.delta.indptr[rows + 1] - self.delta.indptr[rows], 0)
        firsts = np.cumsum(counts + added) - counts - added
        return counts + added, self._read(
            names,
            places,
            (flat(firsts, counts), flat(firsts + counts, added), flat(self.delta.indptr[rows], added)),
        )

    def _read(
        self,
        names: Sequence[str],
        places: NDArray[np.int64],
        merged: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None,
    ) -> list[Any]:
        """Read columns of the edges of the base at `places`.

        `merged` interleaves edges of the delta: targets of the base's edges, targets and sources of the
        others.
        """
        columns: list[Any] = []
        for name in names:
            values = getattr(self.base, name)[places]
            if merged is not None:
                old, new, source = merged
                both = np.empty(len(old) + len(new), values.dtype)
                both[old], both[new] = values, getattr(self.delta, name)[source]
                values = both
            columns.append(values)
        return columns

    def entity_nodes(self, tenant_id: str, names: Sequence[str]) -> NDArray[np.int64]:
        """Distinct nodes of the tenant's entities with these canonical `names`, in their order."""
        keys = np.fromiter((entity_key(tenant_id, name) for name in dict.fromkeys(names)), np.uint64)
        old, new = _found(self.base.entity_keys, keys), _found(self.delta.entity_keys, keys)
        new = np.where(new < 0, -1, new + len(self.base.entity_keys))
        numbers = np.maximum(old, new)
        nodes = ENTITIES_FROM + numbers[numbers >= 0]
        linked: NDArray[np.int64] = nodes[self.degrees(nodes) > 0]
        return linked

    def entity_names(self, nodes: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """Canonical names of entity nodes."""
        return self.entity_column(np.asarray(nodes, np.int64), "name")

    def entities_of(self, ordinals: NDArray[np.int64]) -> list[tuple[str, ...]]:
        """Distinct canonical names of the entities that each of `ordinals` is linked to."""
        edges = self.edges_of(ordinals)
        linked = edges.targets >= ENTITIES_FROM
        owners, nodes = np.repeat(np.arange(len(ordinals)), edges.counts)[linked], edges.targets[linked]
        order = np.lexsort((nodes, owners))
        owners, nodes = owners[order], nodes[order]
        again = (owners[1:] == owners[:-1]) & (nodes[1:] == nodes[:-1])
        once = np.concatenate([np.ones(min(len(nodes), 1), bool), ~again])
        names = iter(self.entity_names(nodes[once]))
        counts = np.bincount(owners[once], minlength=len(ordinals))
        return [tuple(itertools.islice(names, count)) for count in counts.tolist()]

    def memory_tenants(self) -> NDArray[np.int32]:
        """Tenant code of every ordinal; `NO_TENANT` for a memory that is not in the graph."""
        tenants = np.full(self.memories, NO_TENANT, np.int32)
        tenants[: self.base.memories] = self.base.memory_tenants
        tenants[self.delta.stated] = self.delta.stated_tenants
        return tenants

    def entity_column(self, nodes: NDArray[np.int64], column: str) -> list[Any]:
        """Values of a column of `entities_schema` for entity nodes, in their order."""
        numbers, old = nodes - ENTITIES_FROM, len(self.base.entity_keys)
        is_old = numbers < old
        values = np.empty(len(nodes), object)
        for table, chosen, first in ((self.base.entities, is_old, 0), (self.delta.entities, ~is_old, old)):
            if chosen.any():
                # one chunk: a take from a chunked column costs ten times as much
                picked = table[column].chunk(0).take(pa.array(numbers[chosen] - first))
                values[chosen] = picked.to_pylist()
        return values.tolist()


def _slots(nodes: NDArray[np.int64], memories: int) -> NDArray[np.int64]:
    slots: NDArray[np.int64] = np.where(nodes < ENTITIES_FROM, nodes, nodes - (ENTITIES_FROM - memories))
    return slots


def _found(sorted_keys: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Places of `keys` in `sorted_keys`; -1 where missing."""
    if not len(sorted_keys):
        return np.full(len(keys), -1)
    places = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return np.where(sorted_keys[places] == keys, places, -1)
