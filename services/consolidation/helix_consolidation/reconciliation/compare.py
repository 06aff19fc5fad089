"""Compares the ids of the four stores of one published generation with each other and with its manifest.

Publishing compares counts only. This reads every id: at a million memories it takes seconds and some 300 MB.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import xor
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.artifacts.graph.snapshot import NO_TENANT
from helix_shared.identity import id_digest

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

EXAMPLES: Final = 10
"""Ids that a difference names."""
BATCH_ROWS: Final = 20_000
_COLUMNS: Final = ("ordinal", "memory_id", "tenant_id", "hidden")


@dataclass(frozen=True, slots=True)
class StoreDifference:
    """Memories of one tenant that one store has and another lacks; an empty tenant: none is stated."""

    kind: str
    tenant_id: str
    count: int
    examples: tuple[str, ...]
    """At most `EXAMPLES` ids; ordinals where there is no id."""

    def __str__(self) -> str:
        """One line for people."""
        whose = f" of tenant {self.tenant_id}" if self.tenant_id else ""
        return f"{self.kind}: {self.count}{whose}, e.g. {', '.join(self.examples[:3])}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one generation holds, and where its stores differ."""

    manifest: Manifest
    counts: dict[str, int]
    ids: NDArray[np.bytes_]
    """The ids of all memories, ascending."""
    differences: list[StoreDifference] = field(default_factory=list)

    def holds(self, memory_id: str) -> bool:
        """Whether the generation has the memory."""
        at = int(np.searchsorted(self.ids, memory_id.encode()))
        return at < len(self.ids) and self.ids[at] == memory_id.encode()


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of the vector table, by place."""

    ordinals: NDArray[np.int64]
    ids: NDArray[np.bytes_]
    tenants: NDArray[Any]
    hidden: NDArray[np.bool_]


def compare(root: Path, number: int, *, scratch: Path | None = None) -> Comparison:
    """Compare the stores of generation `number`; `scratch` keeps its files readable if it is retired.

    Raises:
        CorruptArtifactError: a store cannot be read.
    """
    manifest = Manifest.read(folder_of(root, number))
    generation = Generation.open(root, number, manifest=manifest, scratch=scratch)
    try:
        return _compared(generation, _rows(generation))
    finally:
        generation.close()


def _rows(generation: Generation) -> _Rows:
    ordinals, ids, tenants, hidden = [], [], [], []
    for start in range(0, generation.manifest.counts.signals, BATCH_ROWS):
        part = generation.vectors.take(np.arange(start, start + BATCH_ROWS), _COLUMNS)
        ordinals.append(part["ordinal"].to_numpy().astype(np.int64))
        ids.append(np.array(part["memory_id"].to_pylist(), "S32"))
        tenants.append(np.array(part["tenant_id"].to_pylist(), object))
        hidden.append(part["hidden"].to_numpy().astype(np.bool_))
    none = np.empty(0, np.int64)
    return _Rows(
        np.concatenate([none, *ordinals]),
        np.concatenate([none.astype("S32"), *ids]),
        np.concatenate([none.astype(object), *tenants]),
        np.concatenate([none.astype(np.bool_), *hidden]),
    )


def _compared(generation: Generation, rows: _Rows) -> Comparison:
    manifest, in_lexicon = generation.manifest, generation.lexicon.ordinals()
    size = 1 + int(np.concatenate([[len(generation.signals) - 1], rows.ordinals, in_lexicon]).max())
    there, words = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    there[rows.ordinals] = words[in_lexicon] = True
    hidden = np.ones(size, np.bool_)
    hidden[rows.ordinals] = rows.hidden
    signals = _padded(generation.signals.rows >= 0, size)
    shown = signals & ~_padded(generation.signals.hidden.astype(np.bool_), size)
    graph = _padded(generation.graph.memory_tenants() != NO_TENANT, size)
    kinds = {
        "in vectors, not in the lexicon": there & ~hidden & ~words,
        "in the lexicon, not recallable in vectors": words & hidden,
        "in vectors, not in signals": there & ~signals,
        "shown in signals, not in vectors": shown & ~there,
        "hidden in only one of vectors and signals": there & signals & (shown == hidden),
        "in vectors, not in the graph": there & ~graph,
        "in the graph, not in vectors": graph & ~there,
    }
    found = [one for kind, which in kinds.items() for one in _differences(kind, which, rows)]
    counts = {
        "memories": len(rows.ordinals),
        "hidden": int(rows.hidden.sum()),
        "lexicon": int(words.sum()),
        "signals": int(signals.sum()),
        "graph": int(graph.sum()),
    }
    return Comparison(manifest, counts, np.sort(rows.ids), [*_of_manifest(manifest, rows, counts), *found])


def _padded(values: NDArray[np.bool_], size: int) -> NDArray[np.bool_]:
    return np.pad(values, (0, size - len(values)))


def _of_manifest(manifest: Manifest, rows: _Rows, counts: dict[str, int]) -> list[StoreDifference]:
    """Counts and digest that the manifest states otherwise, and ids that are there twice."""
    digest = f"{reduce(xor, (id_digest(one.decode()) for one in rows.ids), 0):016x}"
    stated = {
        "memories": manifest.counts.memories,
        "hidden": manifest.counts.hidden,
        "lexicon": manifest.counts.lexicon,
    }
    wrong = [name for name, value in stated.items() if value != counts[name]]
    found = [
        StoreDifference(
            f"number of {name} is not that of the manifest", "", abs(stated[name] - counts[name]), ()
        )
        for name in wrong
    ]
    if digest != manifest.digest:
        found.append(StoreDifference("digest of the ids is not that of the manifest", "", 1, (digest,)))
    distinct, times = np.unique(rows.ids, return_counts=True)
    twice = [one.decode() for one in distinct[times > 1][:EXAMPLES]]
    if twice:
        found.append(StoreDifference("twice in vectors", "", int((times > 1).sum()), tuple(twice)))
    return found


def _differences(kind: str, which: NDArray[np.bool_], rows: _Rows) -> list[StoreDifference]:
    """One difference for each tenant that has such memories."""
    if not which.any():
        return []
    chosen = which[rows.ordinals]
    found = []
    for tenant in sorted(set(rows.tenants[chosen])):
        ids = rows.ids[chosen & (rows.tenants == tenant)]
        names = tuple(one.decode() for one in ids[:EXAMPLES])
        found.append(StoreDifference(kind, str(tenant), len(ids), names))
    unnamed = np.setdiff1d(np.flatnonzero(which), rows.ordinals)
    if len(unnamed):
        numbers = tuple(f"ordinal {one}" for one in unnamed[:EXAMPLES])
        found.append(StoreDifference(kind, "", len(unnamed), numbers))
    return found
