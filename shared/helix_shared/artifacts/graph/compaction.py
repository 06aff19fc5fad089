"""Compaction: writes a base and its delta as one new base.

It only reads a snapshot and writes files, so it can run in the background while the builder takes changes.
Entities without links are left out, so an erasure compacts at once.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from helix_shared.artifacts.files.saved import save_array, write_header, write_values
from helix_shared.artifacts.graph.base import BASE_ARRAYS, ENTITIES_FILE, ENTITIES_FROM, GraphBase, save_table

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from helix_shared.artifacts.graph.snapshot import EdgeRows, GraphSnapshot

_CHUNK_NODES: Final = 1 << 15
_EDGE_ARRAYS: Final = ("indices", "weights", "edge_kinds", "forward")
_CODES: Final = 512
"""Exclusive upper bound of 2 x kind + direction."""


def compact(snapshot: GraphSnapshot, folder: Path) -> GraphBase:
    """Write the whole graph of `snapshot` as a base into the new folder `folder`, and open it."""
    folder.mkdir(parents=True)
    nodes = snapshot.every_node()
    memories, entities = snapshot.memories, nodes[snapshot.memories :] - ENTITIES_FROM
    every_key = np.concatenate([snapshot.base.entity_keys, snapshot.delta.entity_keys])
    entities = entities[np.argsort(every_key[entities])]
    numbers = np.full(len(every_key), -1, np.int64)
    numbers[entities] = np.arange(len(entities))
    nodes[memories:] = ENTITIES_FROM + entities
    arrays: dict[str, NDArray[np.generic]] = {
        "indptr": np.concatenate([[0], np.cumsum(snapshot.degrees(nodes))]),
        "entity_keys": every_key[entities],
        "memory_tenants": snapshot.memory_tenants(),
    }
    for name, values in arrays.items():
        save_array(folder / f"{name}.npy", values.astype(BASE_ARRAYS[name], copy=False))
    tables = pa.concat_tables([snapshot.base.entities, snapshot.delta.entities]).combine_chunks()
    save_table(folder / ENTITIES_FILE, tables.take(pa.array(entities)))
    _write_edges(snapshot, folder, nodes, numbers)
    return GraphBase.open(folder)


def _write_edges(
    snapshot: GraphSnapshot, folder: Path, nodes: NDArray[np.int64], numbers: NDArray[np.int64]
) -> None:
    """Write the edges in chunks; not through mapped files, where a full disk would end the process."""
    with ExitStack() as opened:
        files = {name: opened.enter_context((folder / f"{name}.npy").open("wb")) for name in _EDGE_ARRAYS}
        for name, file in files.items():
            write_header(file, np.dtype(BASE_ARRAYS[name]), (snapshot.edge_count,))
        for first in range(0, len(nodes), _CHUNK_NODES):
            rows = snapshot.edges_of(nodes[first : first + _CHUNK_NODES])
            targets, order = _ordered(rows, numbers)
            columns: tuple[NDArray[Any], ...] = (
                targets,
                rows.weights[order],
                rows.kinds[order],
                rows.forward[order],
            )
            for name, values in zip(_EDGE_ARRAYS, columns, strict=True):
                write_values(files[name], values.astype(BASE_ARRAYS[name], copy=False))


def _ordered(rows: EdgeRows, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """New numbers of the targets, ascending for each node, and the order of the edges that sorts them."""
    is_entity = rows.targets >= ENTITIES_FROM
    targets = rows.targets.copy()
    targets[is_entity] = ENTITIES_FROM + numbers[targets[is_entity] - ENTITIES_FROM]
    owners = np.repeat(np.arange(len(rows.counts)), rows.counts)
    # one integer key sorts faster than four columns
    key = (owners * (2 * ENTITIES_FROM) + targets) * _CODES + rows.kinds.astype(np.int64) * 2 + rows.forward
    order = np.argsort(key)
    return targets[order], order
