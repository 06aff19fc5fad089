"""The delta of the graph: edges added or changed since the last compaction, in one file per generation.

It adds edges to the base, in both directions, and lists void memories. All edges of a void memory in the base
are invalid; those that still exist are repeated in the delta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from helix_shared.artifacts.graph.base import entities_schema, read_table, save_table
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from helix_shared.artifacts.graph.edge_log import StatedEdges

_LISTS: Final[Mapping[str, Any]] = {
    "nodes": np.int64,
    "indptr": np.int64,
    "lost": np.int64,
    "indices": np.int32,
    "weights": np.float32,
    "edge_kinds": np.uint8,
    "forward": np.uint8,
    "void": np.int64,
    "stated": np.int64,
    "stated_tenants": np.int32,
    "entity_keys": np.uint64,
}
_KINDS: Final = 256
_COUNTS: Final = ("memories", "base_edges", "unlinked")


@dataclass(frozen=True, slots=True, eq=False)
class GraphDelta:
    """The edges of `nodes[r]` are at `indptr[r]:indptr[r + 1]`, ascending by target; targets are nodes."""

    memories: int
    """One more than the highest ordinal."""
    base_edges: int
    """Number of edges of the base that the delta belongs to."""
    unlinked: int
    """Entities of the base without links."""
    nodes: NDArray[np.int64]
    """Ascending: all nodes whose edges differ from the base."""
    indptr: NDArray[np.int64]
    lost: NDArray[np.int64]
    """By node: number of its edges in the base that are void."""
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]
    edge_kinds: NDArray[np.uint8]
    forward: NDArray[np.uint8]
    void: NDArray[np.int64]
    """Ascending: memories whose edges in the base are void."""
    stated: NDArray[np.int64]
    """Ascending: memories whose links were set or removed since the compaction."""
    stated_tenants: NDArray[np.int32]
    entity_keys: NDArray[np.uint64]
    """Ascending; their numbers follow those of the base."""
    entities: pa.Table
    tenants: tuple[str, ...]

    def write(self, path: Path) -> None:
        """Write one file, since every file costs a sync: one row, whose lists are the arrays."""
        lists: dict[str, Any] = {name: pa.array(getattr(self, name)) for name in _LISTS}
        lists |= {
            _of_entity(name): self.entities[name].combine_chunks() for name in self.entities.column_names
        }
        lists["tenants"] = pa.array(self.tenants, pa.string())
        columns: dict[str, Any] = {name: pa.array([getattr(self, name)], pa.int64()) for name in _COUNTS}
        for name, values in lists.items():
            offsets = pa.array([0, len(values)], pa.int64())
            columns[name] = pa.LargeListArray.from_arrays(offsets, values)
        save_table(path, pa.table(columns))

    @classmethod
    def open(cls, path: Path) -> GraphDelta:
        """Map the file.

        Raises:
            CorruptArtifactError: it is missing, or its parts do not fit together.
        """
        try:
            row = read_table(path).combine_chunks()
            values: dict[str, Any] = {name: row[name][0].as_py() for name in _COUNTS}
            for name, dtype in _LISTS.items():
                values[name] = row[name][0].values.to_numpy().astype(dtype, casting="no", copy=False)
            schema = entities_schema()
            of_entities = [row[_of_entity(name)][0].values for name in schema.names]
            values["entities"] = pa.Table.from_arrays(of_entities, schema=schema)
            values["tenants"] = tuple(row["tenants"][0].as_py())
        except (OSError, ValueError, TypeError, KeyError, IndexError, pa.ArrowException) as error:
            raise CorruptArtifactError(f"graph cannot be read: {path}") from error
        delta = cls(**values)
        if not delta._fits():
            raise CorruptArtifactError(f"graph file does not fit together: {path}")
        return delta

    def _fits(self) -> bool:
        return (
            len(self.indptr) == len(self.nodes) + 1 == len(self.lost) + 1
            and {len(self.weights), len(self.edge_kinds), len(self.forward)} == {len(self.indices)}
            and len(self.indices) == int(self.indptr[-1])
            and len(self.entity_keys) == self.entities.num_rows
            and len(self.stated) == len(self.stated_tenants)
            and bool((np.diff(self.indptr) >= 0).all())
        )


def compressed(
    links: StatedEdges, relations: StatedEdges, losing: NDArray[np.int64], lost: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Arrays of a delta: both directions of all edges, and the nodes `losing` edges of the base.

    `lost` [n] is parallel to `losing` [n]. The edges of a node ascend by target and kind.
    """
    source = np.concatenate([links.source, relations.source])
    target = np.concatenate([links.target, relations.target])
    nodes, places = np.unique(np.concatenate([source, target, losing]), return_inverse=True)
    rows, columns = places[: len(source)], places[len(source) : 2 * len(source)]
    losses = np.zeros(len(nodes), np.int64)
    losses[places[2 * len(source) :]] = lost
    rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    kinds = np.tile(np.concatenate([links.kind, relations.kind]), 2)
    weights = np.tile(np.concatenate([links.weight, relations.weight]), 2)
    forward = np.repeat(np.array([1, 0], np.uint8), len(source))
    # one integer key sorts faster than four columns
    order = np.argsort(((rows * len(nodes) + columns) * _KINDS + kinds) * 2 + forward)
    return {
        "nodes": nodes,
        "indptr": np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(nodes)))]).astype(np.int64),
        "lost": losses,
        "indices": nodes[columns[order]].astype(np.int32),
        "weights": weights[order],
        "edge_kinds": kinds[order],
        "forward": forward[order],
    }


def entity_table(entities: Sequence[tuple[str, str, str, int]]) -> pa.Table:
    """A table of entities: name, kind, surface, tenant."""
    schema = entities_schema()
    columns: list[Any] = [list(column) for column in zip(*entities, strict=True)] or [[] for _ in schema]
    return pa.Table.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )


def _of_entity(column: str) -> str:
    return f"entity_{column}"
