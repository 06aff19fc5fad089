"""The snapshot of the graph: memories, the entities they mention, and typed edges.

Compressed sparse rows in plain memory-mapped arrays, both directions of every edge stored. Nodes
below `memories` are ordinals, the entities of all tenants follow. `graph` builds and writes
snapshots, the PageRank walk of the query service reads the arrays as they are.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import networkx as nx
import numpy as np
import pyarrow as pa

from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

EDGE_KINDS: Final = ("MENTIONS", "UPDATES", "EXTENDS", "DERIVES", "RELATES", "PART_OF", "IN_CATEGORY")
"""Edge types; the index is the edge kind code. Add at the end only."""

ENTITIES_FILE: Final = "entities.arrow"
TENANTS_FILE: Final = "tenants.arrow"
NO_TENANT: Final = -1

ARRAYS: Final[Mapping[str, type[np.generic]]] = {
    "indptr": np.int64,
    "indices": np.int32,
    "weights": np.float32,
    "edge_kinds": np.uint8,
    # the direction the edge was stated in; its mirror image carries False
    "forward": np.bool_,
    # sorted; the position is the number of the entity
    "entity_keys": np.uint64,
    "memory_tenants": np.int32,
}


@dataclass(frozen=True, slots=True)
class Link:
    """A memory's edge to an entity; `name` is canonical (lower case), `surface` as written."""

    edge: str
    kind: str
    name: str
    surface: str
    weight: float


def entity_key(tenant_id: str, name: str) -> int:
    """64-bit key of an entity; equal names of two tenants are two entities."""
    joined = f"{tenant_id}\x1f{name}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "little")


def entities_schema() -> pa.Schema:
    """Schema of the entity table, one row per entity in the order of their nodes."""
    return pa.schema(
        [
            pa.field("name", pa.string(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("surface", pa.string(), nullable=False),
            pa.field("tenant", pa.int32(), nullable=False),
        ]
    )


@dataclass(frozen=True, slots=True, eq=False)
class GraphSnapshot:
    """The graph of one generation; immutable, and read by any number of threads.

    The edges of node n are at `indptr[n]:indptr[n + 1]` of `indices`, `weights`, `edge_kinds` and
    `forward`, ascending by target.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]
    edge_kinds: NDArray[np.uint8]
    forward: NDArray[np.bool_]
    entity_keys: NDArray[np.uint64]
    memory_tenants: NDArray[np.int32]
    entities: pa.Table
    tenants: tuple[str, ...]
    degree: NDArray[np.int64]
    """Edges of a node, both directions: what tells a hub."""

    @classmethod
    def open(cls, folder: Path) -> GraphSnapshot:
        """Map the snapshot in `folder`.

        Raises:
            CorruptArtifactError: a file is missing or they do not fit together.
        """
        try:
            arrays: dict[str, Any] = {name: _mapped(folder / f"{name}.npy") for name in ARRAYS}
            entities = _mapped_table(folder / ENTITIES_FILE)
            tenants = tuple(_mapped_table(folder / TENANTS_FILE)["tenant_id"].to_pylist())
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            raise CorruptArtifactError(f"graph cannot be read: {folder}") from error
        snapshot = cls(**arrays, entities=entities, tenants=tenants, degree=np.diff(arrays["indptr"]))
        if not snapshot._fits():
            raise CorruptArtifactError(f"graph files do not fit together: {folder}")
        return snapshot

    @property
    def memories(self) -> int:
        """Nodes below are ordinals."""
        return len(self.memory_tenants)

    @property
    def nodes(self) -> int:
        """Memories and entities."""
        return len(self.indptr) - 1

    @property
    def edges(self) -> int:
        """Stored edges: twice the edges stated."""
        return len(self.indices)

    def entity_nodes(self, tenant_id: str, names: Sequence[str]) -> NDArray[np.int64]:
        """Nodes of the tenant's entities among the canonical `names`, in their order, none twice."""
        keys = np.fromiter((entity_key(tenant_id, name) for name in dict.fromkeys(names)), np.uint64)
        if not len(self.entity_keys):
            return np.empty(0, np.int64)
        positions = np.minimum(np.searchsorted(self.entity_keys, keys), len(self.entity_keys) - 1)
        found: NDArray[np.int64] = positions[self.entity_keys[positions] == keys] + self.memories
        return found

    def entity_names(self, nodes: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """Canonical names of entity nodes."""
        rows = np.asarray(nodes, dtype=np.int64) - self.memories
        names: list[str] = self.entities["name"].take(pa.array(rows)).to_pylist()
        return names

    def entities_of(self, ordinal: int) -> list[str]:
        """Canonical names of the entities a memory is linked to, none twice."""
        targets = np.unique(self.indices[self.indptr[ordinal] : self.indptr[ordinal + 1]])
        return self.entity_names(targets[targets >= self.memories].astype(np.int64))

    def to_networkx(self, tenant_id: str | None = None) -> nx.MultiDiGraph[int]:
        """The edges as stated, for inspection; only one tenant's nodes if it is given.

        Nodes carry `kind` ("memory" or the entity's), `name` and `tenant`, edges `kind` and `weight`.
        """
        tenants = np.concatenate([self.memory_tenants, self.entities["tenant"].to_numpy()])
        code = self.tenants.index(tenant_id) if tenant_id in self.tenants else NO_TENANT
        kept = np.ones(self.nodes, bool) if tenant_id is None else (tenants == code) & (tenants != NO_TENANT)
        graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        for node in np.flatnonzero(kept).tolist():
            graph.add_node(node, tenant=_tenant(self.tenants, int(tenants[node])), **self._described(node))
        sources = np.repeat(np.arange(self.nodes), self.degree)
        stated = np.flatnonzero(self.forward & kept[sources] & kept[self.indices])
        for edge in stated.tolist():
            kind, weight = EDGE_KINDS[self.edge_kinds[edge]], float(self.weights[edge])
            graph.add_edge(int(sources[edge]), int(self.indices[edge]), kind=kind, weight=weight)
        return graph

    def _described(self, node: int) -> dict[str, str]:
        if node < self.memories:
            return {"kind": "memory", "name": str(node)}
        row = self.entities.slice(node - self.memories, 1).to_pylist()[0]
        return {"kind": row["kind"], "name": row["name"]}

    def _fits(self) -> bool:
        edges = {len(self.indices), len(self.weights), len(self.edge_kinds), len(self.forward)}
        return (
            self.nodes == self.memories + len(self.entity_keys)
            and len(self.entity_keys) == self.entities.num_rows
            and edges == {int(self.indptr[-1])}
            and bool((self.degree >= 0).all())
            and (
                not len(self.indices) or 0 <= int(self.indices.min()) <= int(self.indices.max()) < self.nodes
            )
        )


def _tenant(tenants: Sequence[str], code: int) -> str:
    return tenants[code] if code != NO_TENANT else ""


def _mapped(path: Path) -> NDArray[np.generic]:
    array: NDArray[np.generic] = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.dtype != ARRAYS[path.stem]:
        raise ValueError(f"array has another type: {path.name}")
    return array.view(np.ndarray)


def _mapped_table(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as reader:
        return reader.read_all()
