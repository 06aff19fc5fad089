"""The base of the graph: all edges at the last compaction, as compressed sparse rows on the disk.

Written once by `compact`, hard-linked from generation to generation, mapped by the writer and all readers.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from helix_shared.artifacts.files.mapped import mapped
from helix_shared.artifacts.files.saved import save_array
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

ENTITIES_FROM: Final = 1 << 30
"""Nodes below this are ordinals, the others are this plus the number of an entity."""

BASE_ARRAYS: Final[Mapping[str, type[np.generic]]] = {
    # rows of the memories, then of the entities
    "indptr": np.int64,
    "indices": np.int32,
    "weights": np.float32,
    "edge_kinds": np.uint8,
    # whether the edge was stated in this direction; the reverse edge has False
    "forward": np.bool_,
    # ascending; the index is the number of the entity
    "entity_keys": np.uint64,
    "memory_tenants": np.int32,
}
ENTITIES_FILE: Final = "entities.arrow"


def entities_schema() -> pa.Schema:
    """Schema of an entity table: one row for each entity, in the order of their numbers."""
    return pa.schema(
        [
            pa.field("name", pa.string(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("surface", pa.string(), nullable=False),
            pa.field("tenant", pa.int32(), nullable=False),
        ]
    )


@dataclass(frozen=True, slots=True, eq=False)
class GraphBase:
    """The edges of row r are at `indptr[r]:indptr[r + 1]`, ascending by target; targets are nodes."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]
    edge_kinds: NDArray[np.uint8]
    forward: NDArray[np.bool_]
    entity_keys: NDArray[np.uint64]
    memory_tenants: NDArray[np.int32]
    entities: pa.Table
    identity: tuple[int, ...] = ()
    """Equal for folders that hold the same files; empty for a base that was never written."""

    @classmethod
    def empty(cls) -> GraphBase:
        """A base without memories, entities and edges."""
        arrays: dict[str, Any] = {name: np.empty(0, dtype) for name, dtype in BASE_ARRAYS.items()}
        return cls(**(arrays | {"indptr": np.zeros(1, np.int64)}), entities=entities_schema().empty_table())

    @classmethod
    def open(cls, folder: Path, *, previous: GraphBase | None = None) -> GraphBase:
        """Map the base in `folder`; returns `previous` if its files are the same.

        Raises:
            CorruptArtifactError: a file is missing or they do not fit together.
        """
        try:
            identity = _identity(folder)
            if previous is not None and previous.identity == identity:
                return previous
            arrays: dict[str, Any] = {
                name: _mapped(folder / f"{name}.npy", dtype) for name, dtype in BASE_ARRAYS.items()
            }
            entities = read_table(folder / ENTITIES_FILE)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise CorruptArtifactError(f"graph cannot be read: {folder}") from error
        base = cls(**arrays, entities=entities, identity=identity)
        if not base._fits():
            raise CorruptArtifactError(f"graph files do not fit together: {folder}")
        return base

    @property
    def memories(self) -> int:
        """Number of ordinals at the compaction."""
        return len(self.memory_tenants)

    @property
    def edges(self) -> int:
        """Number of stored edges: two for each edge that was stated."""
        return len(self.indices)

    def spans(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First edge and number of edges [n] of each of `nodes` [n]; 0 edges for a node not in the base."""
        is_entity = nodes >= ENTITIES_FROM
        numbers = nodes - ENTITIES_FROM * is_entity
        exists = numbers < np.where(is_entity, len(self.entity_keys), self.memories)
        rows = np.where(exists, numbers + self.memories * is_entity, 0)
        starts = self.indptr[rows]
        counts = (self.indptr[np.minimum(rows + 1, len(self.indptr) - 1)] - starts) * exists
        return starts, counts

    def void_edges(self, void: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Nodes, ascending, and the number of their edges that end at a memory of `void`, which ascends."""
        starts, counts = self.spans(void)
        targets = self.indices[flat(starts, counts)].astype(np.int64)
        others, times = np.unique(targets[~np.isin(targets, void)], return_counts=True)
        nodes = np.concatenate([void, others])
        order = np.argsort(nodes)
        return nodes[order], np.concatenate([counts, times])[order]

    def link_into(self, folder: Path, source: Path | None) -> None:
        """Write the files into the new folder `folder`; hard links if they exist in `source`."""
        if source is not None:
            shutil.copytree(source, folder, copy_function=os.link)
            return
        folder.mkdir(parents=True)
        for name, dtype in BASE_ARRAYS.items():
            save_array(folder / f"{name}.npy", np.asarray(getattr(self, name), dtype))
        save_table(folder / ENTITIES_FILE, self.entities)

    def _fits(self) -> bool:
        is_entity = self.indices >= ENTITIES_FROM
        numbers = self.indices & (ENTITIES_FROM - 1)
        return (
            len(self.indptr) == self.memories + len(self.entity_keys) + 1
            and len(self.entity_keys) == self.entities.num_rows
            and {len(self.weights), len(self.edge_kinds), len(self.forward)} == {self.edges}
            and self.edges == int(self.indptr[-1])
            and bool((np.diff(self.indptr) >= 0).all())
            and int(self.indices.min(initial=0)) >= 0
            and int(numbers[is_entity].max(initial=-1)) < len(self.entity_keys)
            and int(numbers[~is_entity].max(initial=-1)) < self.memories
        )


def flat(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places `start`, `start + 1`, ... of spans with lengths `counts`, concatenated."""
    before = np.cumsum(counts) - counts
    places: NDArray[np.int64] = np.repeat(starts - before, counts) + np.arange(int(counts.sum()))
    return places


def save_table(path: Path, table: pa.Table) -> None:
    """Write an Arrow file without compression, so that it can be mapped."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())


def read_table(path: Path) -> pa.Table:
    """Map an Arrow file."""
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as reader:
        return reader.read_all()


def _identity(folder: Path) -> tuple[int, ...]:
    status = (folder / "indices.npy").stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _mapped(path: Path, dtype: type[np.generic]) -> NDArray[np.generic]:
    array: NDArray[np.generic] = mapped(path)
    if array.dtype != dtype:
        raise ValueError(f"array has another type: {path.name}")
    return array
