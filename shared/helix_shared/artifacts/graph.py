"""The graph: built from links and relations, written as a snapshot, read from there.

Consolidation owns the one builder. `load` restores everything from a snapshot, so a restart goes on
where the last generation stopped. An entity no memory mentions any more is not written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from helix_shared.artifacts.edge_log import Column, EdgeLog, Edges
from helix_shared.artifacts.graph_snapshot import (
    ARRAYS,
    EDGE_KINDS,
    ENTITIES_FILE,
    NO_TENANT,
    TENANTS_FILE,
    GraphSnapshot,
    Link,
    entities_schema,
    entity_key,
)
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["EDGE_KINDS", "GraphBuilder", "GraphSnapshot", "Link", "entity_key"]


class GraphBuilder:
    """The graph in memory; one thread at a time."""

    def __init__(self) -> None:
        self.revision = 0
        """Grows with every change; equal revisions write equal snapshots."""
        self._links = EdgeLog()
        self._relations = EdgeLog()
        self._link_stamps = Column(np.int32, 0)
        self._lives = Column(np.int32, 0)
        self._memory_tenants = Column(np.int32, NO_TENANT)
        self._tenants: dict[str, int] = {}
        self._numbers: dict[int, int] = {}
        self._keys = Column(np.uint64, 0)
        self._entities: list[tuple[str, str, str, int]] = []

    @classmethod
    def empty(cls) -> Self:
        """A graph without edges."""
        return cls()

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The graph a snapshot was written from.

        Raises:
            CorruptArtifactError: the snapshot cannot be read.
        """
        snapshot = GraphSnapshot.open(folder)
        builder = cls()
        builder._tenants = {tenant: code for code, tenant in enumerate(snapshot.tenants)}
        builder._memory_tenants.upto(snapshot.memories)[:] = snapshot.memory_tenants
        builder._numbers = {key: number for number, key in enumerate(snapshot.entity_keys.tolist())}
        builder._keys.upto(len(snapshot.entity_keys))[:] = snapshot.entity_keys
        columns = (snapshot.entities[name].to_pylist() for name in ("name", "kind", "surface", "tenant"))
        builder._entities = list(zip(*columns, strict=True))
        source = np.repeat(np.arange(snapshot.nodes), snapshot.degree)
        to_entity = snapshot.indices >= snapshot.memories
        for log, chosen, offset in (
            (builder._links, snapshot.forward & to_entity, snapshot.memories),
            (builder._relations, snapshot.forward & ~to_entity, 0),
        ):
            log.append(
                source[chosen],
                snapshot.indices[chosen].astype(np.int64) - offset,
                snapshot.edge_kinds[chosen],
                snapshot.weights[chosen],
            )
        return builder

    def set_links(self, ordinal: int, tenant_id: str, links: Sequence[Link]) -> None:
        """Replace the links of a memory; of two to one entity by one edge type the heavier counts.

        Raises:
            InvalidInputError: an unknown edge type, or a weight that is not above zero.
        """
        tenant = self._tenants.setdefault(tenant_id, len(self._tenants))
        heaviest: dict[tuple[int, int], float] = {}
        for link in links:
            place = (self._entity(tenant_id, tenant, link), _kind(link.edge))
            heaviest[place] = max(heaviest.get(place, 0.0), _weight(link.weight))
        self._memory_tenants[ordinal] = tenant
        self._link_stamps.bump(ordinal)
        self._links.append(
            np.full(len(heaviest), ordinal, np.int64),
            [entity for entity, _ in heaviest],
            [kind for _, kind in heaviest],
            list(heaviest.values()),
            source_stamp=self._link_stamps[ordinal],
        )
        self.revision += 1

    def relate(self, source_ordinal: int, target_ordinal: int, edge: str, weight: float) -> None:
        """Set the weight of a typed edge between two memories.

        Raises:
            InvalidInputError: an unknown edge type, a weight that is not above zero, or a loop.
        """
        if source_ordinal == target_ordinal:
            raise InvalidInputError("target", "a memory cannot be related to itself")
        self._relations.append(
            np.array([source_ordinal], np.int64),
            [target_ordinal],
            [_kind(edge)],
            [_weight(weight)],
            source_stamp=self._lives[source_ordinal],
            target_stamp=self._lives[target_ordinal],
        )
        self.revision += 1

    def remove(self, ordinal: int) -> None:
        """Remove all edges of a memory, in both directions."""
        self._memory_tenants[ordinal] = NO_TENANT
        self._link_stamps.bump(ordinal)
        self._lives.bump(ordinal)
        self.revision += 1

    def write(self, folder: Path, *, memories: int) -> None:
        """Write the snapshot into the new folder `folder`; nodes below `memories` are ordinals.

        Raises:
            InvalidInputError: an edge belongs to an ordinal from `memories` on.
        """
        links = self._links.living(self._link_stamps, None)
        relations = _last_stated(self._relations.living(self._lives, self._lives))
        highest = max(edges.max(initial=-1) for edges in (links.source, relations.source, relations.target))
        if highest >= memories:
            raise InvalidInputError("memories", f"must be above {highest}, which has edges")
        used, targets = np.unique(links.target, return_inverse=True)
        keys = self._keys.upto(len(self._entities))[used]
        order = np.argsort(keys)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        linked = Edges(links.source, place[targets] + memories, links.kind, links.weight)
        arrays = _compressed(linked, relations, memories + len(used))
        arrays |= {"entity_keys": keys[order], "memory_tenants": self._memory_tenants.upto(memories)}
        folder.mkdir(parents=True)
        for name, dtype in ARRAYS.items():
            np.save(folder / f"{name}.npy", arrays[name].astype(dtype, copy=False))
        _save_table(folder / ENTITIES_FILE, _entity_table([self._entities[n] for n in used[order].tolist()]))
        _save_table(
            folder / TENANTS_FILE, pa.table({"tenant_id": pa.array(list(self._tenants), pa.string())})
        )

    def _entity(self, tenant_id: str, tenant: int, link: Link) -> int:
        key = entity_key(tenant_id, link.name)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._entities)
            self._keys[number] = key
            self._entities.append((link.name, link.kind, link.surface, tenant))
        return number


def _kind(edge: str) -> int:
    if edge not in EDGE_KINDS:
        raise InvalidInputError("edge", f"must be one of {', '.join(EDGE_KINDS)}")
    return EDGE_KINDS.index(edge)


def _weight(weight: float) -> float:
    if not (np.isfinite(weight) and weight > 0):
        raise InvalidInputError("weight", "must be finite and above 0")
    return float(weight)


def _last_stated(edges: Edges) -> Edges:
    """Of an edge stated twice the last statement."""
    if not len(edges):
        return edges
    nodes = int(max(edges.source.max(), edges.target.max())) + 1
    identity = (edges.source * nodes + edges.target) * len(EDGE_KINDS) + edges.kind
    _, from_end = np.unique(identity[::-1], return_index=True)
    kept = len(identity) - 1 - from_end
    return Edges(edges.source[kept], edges.target[kept], edges.kind[kept], edges.weight[kept])


def _compressed(links: Edges, relations: Edges, nodes: int) -> dict[str, NDArray[Any]]:
    """Compressed sparse rows of both directions of all edges, ascending by target and kind."""
    source = np.concatenate([links.source, relations.source])
    target = np.concatenate([links.target, relations.target])
    rows, columns = np.concatenate([source, target]), np.concatenate([target, source])
    kinds = np.tile(np.concatenate([links.kind, relations.kind]), 2)
    weights = np.tile(np.concatenate([links.weight, relations.weight]), 2)
    forward = np.repeat([True, False], len(source))
    # One integer key sorts faster than four columns, and makes the order independent of history.
    order = np.argsort(((rows * nodes + columns) * len(EDGE_KINDS) + kinds) * 2 + forward)
    return {
        "indptr": np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=nodes))]),
        "indices": columns[order],
        "weights": weights[order],
        "edge_kinds": kinds[order],
        "forward": forward[order],
    }


def _entity_table(entities: Sequence[tuple[str, str, str, int]]) -> pa.Table:
    schema = entities_schema()
    columns: list[Any] = [list(column) for column in zip(*entities, strict=True)] or [[] for _ in schema]
    return pa.Table.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )


def _save_table(path: Path, table: pa.Table) -> None:
    # Compression would forbid mapping the file.
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
