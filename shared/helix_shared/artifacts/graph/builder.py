"""The writer of the graph: collects links and relations, and writes a base and a delta.

It holds in memory what was stated since the last compaction, so publishing costs as much as the delta. When
the delta is large, a compaction writes a new base (`compact`), in the background or at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from helix_shared.artifacts.graph.base import ENTITIES_FROM, GraphBase
from helix_shared.artifacts.graph.compaction import compact
from helix_shared.artifacts.graph.delta import GraphDelta, compressed
from helix_shared.artifacts.graph.edge_log import Column, EdgeLog, StatedEdges, last_stated
from helix_shared.artifacts.graph.entities import EntityNumbers
from helix_shared.artifacts.graph.snapshot import BASE, DELTA_FILE, EDGE_KINDS, NO_TENANT, GraphSnapshot, Link
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


FOLDED_SHARE: Final = 0.05
"""A compaction is due when the delta holds more than this share of the edges of the base ..."""
LEAST_FOLDED: Final = 100_000
"""... and more than this many."""
NO_EDGE: Final = 0.0
"""Weight of a relation that was removed."""


class GraphBuilder:
    """The graph while it is written; used by one thread."""

    def __init__(self, base: GraphBase, base_folder: Path | None) -> None:
        self.revision = 0
        """Grows with every change; equal revisions write equal snapshots."""
        self._tenants: dict[str, int] = {}
        self._journal: list[Callable[[], None]] | None = None
        self._start(base, base_folder)

    def _start(self, base: GraphBase, base_folder: Path | None) -> None:
        """Start from `base`, with nothing stated since."""
        self._base = base
        self.base_folder = base_folder
        """Folder of the files of the base; None while there are none."""
        self._links = EdgeLog()
        self._relations = EdgeLog()
        self._link_stamps = Column(np.int32, 0)
        self._relation_stamps = Column(np.int32, 0)
        self._void: set[int] = set()
        self._stated: dict[int, int] = {}
        self._entities = EntityNumbers(base)

    @classmethod
    def empty(cls) -> Self:
        """A graph without edges."""
        return cls(GraphBase.empty(), None)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The graph of the snapshot in `folder`; new snapshots link the files of its base.

        Raises:
            CorruptArtifactError: the snapshot cannot be read.
        """
        snapshot = GraphSnapshot.open(folder)
        builder = cls(snapshot.base, folder / BASE)
        builder._tenants = {tenant: code for code, tenant in enumerate(snapshot.delta.tenants)}
        builder._take_over(snapshot.delta)
        return builder

    def _take_over(self, delta: GraphDelta) -> None:
        self._void.update(delta.void.tolist())
        self._stated.update(zip(delta.stated.tolist(), delta.stated_tenants.tolist(), strict=True))
        self._entities.load(delta)
        sources, forward = np.repeat(delta.nodes, np.diff(delta.indptr)), delta.forward.astype(bool)
        to_entity = delta.indices >= ENTITIES_FROM
        for log, chosen in ((self._links, forward & to_entity), (self._relations, forward & ~to_entity)):
            log.append(
                sources[chosen],
                delta.indices[chosen].astype(np.int64) & (ENTITIES_FROM - 1),
                delta.edge_kinds[chosen],
                delta.weights[chosen],
            )

    def set_links(self, ordinal: int, tenant_id: str, links: Sequence[Link]) -> None:
        """Replace the links of a memory; of two links of one type to one entity, the heavier counts.

        Raises:
            InvalidInputError: an unknown edge type, or a weight that is not above zero.
        """
        tenant = self._tenants.setdefault(tenant_id, len(self._tenants))
        heaviest: dict[tuple[int, int], float] = {}
        for link in links:
            place = (self._entities.number(tenant_id, tenant, link), _kind(link.edge))
            heaviest[place] = max(heaviest.get(place, 0.0), _weight(link.weight))
        self._copy_from_base(ordinal)
        self._stated[ordinal] = tenant
        self._link_stamps.bump(ordinal)
        self._links.append(
            np.full(len(heaviest), ordinal, np.int64),
            [entity for entity, _ in heaviest],
            [kind for _, kind in heaviest],
            list(heaviest.values()),
            source_stamp=self._link_stamps[ordinal],
        )
        self._changed(lambda: self.set_links(ordinal, tenant_id, links))

    def relate(self, source_ordinal: int, target_ordinal: int, edge: str, weight: float) -> None:
        """Add a typed edge between two memories, or set its weight.

        Raises:
            InvalidInputError: an unknown edge type, a weight that is not above zero, or a loop.
        """
        if source_ordinal == target_ordinal:
            raise InvalidInputError("target", "a memory cannot be related to itself")
        kind, checked = _kind(edge), _weight(weight)
        if self._is_in_base(source_ordinal, target_ordinal, kind):
            self._copy_from_base(source_ordinal)
        self._state_relation(source_ordinal, target_ordinal, kind, checked)
        self._changed(lambda: self.relate(source_ordinal, target_ordinal, edge, weight))

    def unrelate(self, source_ordinal: int, target_ordinal: int, edge: str) -> None:
        """Remove a typed edge between two memories, if there is one.

        Raises:
            InvalidInputError: an unknown edge type.
        """
        kind = _kind(edge)
        if self._is_in_base(source_ordinal, target_ordinal, kind):
            self._copy_from_base(source_ordinal)
        self._state_relation(source_ordinal, target_ordinal, kind, NO_EDGE)
        self._changed(lambda: self.unrelate(source_ordinal, target_ordinal, edge))

    def has_links(self, ordinal: int) -> bool:
        """Whether a memory is linked to any entity."""
        base = self._base
        if ordinal < base.memories and ordinal not in self._void:
            places = slice(base.indptr[ordinal], base.indptr[ordinal + 1])
            if (base.indices[places] >= ENTITIES_FROM).any():
                return True
        return self._links.has_valid(ordinal, self._link_stamps[ordinal])

    def remove(self, ordinal: int) -> None:
        """Remove all edges of a memory, in both directions."""
        if ordinal < self._base.memories:
            self._void.add(ordinal)
        self._stated[ordinal] = NO_TENANT
        self._link_stamps.bump(ordinal)
        self._relation_stamps.bump(ordinal)
        self._changed(lambda: self.remove(ordinal))

    def write(self, folder: Path, *, memories: int) -> None:
        """Write the snapshot into the new folder `folder`; nodes below `memories` are ordinals.

        Raises:
            InvalidInputError: the graph has an ordinal from `memories` on.
        """
        self._base.link_into(folder / BASE, self.base_folder)
        self.delta(memories).write(folder / DELTA_FILE)

    def delta(self, memories: int) -> GraphDelta:
        """The edges added or changed since the base was written.

        Raises:
            InvalidInputError: the graph has an ordinal from `memories` on.
        """
        links = self._links.valid(self._link_stamps, None)
        stated = last_stated(self._relations.valid(self._relation_stamps, self._relation_stamps))
        relations = stated.chosen(stated.weight != NO_EDGE)
        ends = (links.source, relations.source, relations.target)
        highest = max(self._base.memories - 1, *(int(edges.max(initial=-1)) for edges in ends))
        if highest >= memories:
            raise InvalidInputError("memories", f"must be above {highest}, which is in the graph")
        targets, keys, entities = self._entities.renumbered(links.target)
        linked = StatedEdges(links.source, targets + ENTITIES_FROM, links.kind, links.weight)
        void = np.sort(np.fromiter(self._void, np.int64, len(self._void)))
        nodes, lost = self._base.void_edges(void)
        rows = compressed(linked, relations, nodes, lost)
        memories_stated = np.fromiter(self._stated, np.int64, len(self._stated))
        tenants = np.fromiter(self._stated.values(), np.int32, len(memories_stated))
        order = np.argsort(memories_stated)
        return GraphDelta(
            memories=memories,
            base_edges=self._base.edges,
            unlinked=self._unlinked(rows),
            **rows,
            void=void,
            stated=memories_stated[order],
            stated_tenants=tenants[order],
            entity_keys=keys,
            entities=entities,
            tenants=tuple(self._tenants),
        )

    @property
    def base(self) -> GraphBase:
        """The base, as the last compaction wrote it."""
        return self._base

    @property
    def is_compaction_due(self) -> bool:
        """Whether the delta is large enough for a compaction, and none is running."""
        stated = 2 * (len(self._links) + len(self._relations))
        return self._journal is None and stated > max(LEAST_FOLDED, FOLDED_SHARE * self._base.edges)

    def begin_compaction(self) -> None:
        """Start recording changes: a compaction of the present snapshot runs in the background."""
        self._journal = []

    def end_compaction(self, base: GraphBase, base_folder: Path) -> None:
        """Continue from the new base, and apply the changes recorded since `begin_compaction`."""
        journal, self._journal = self._journal or [], None
        self._start(base, base_folder)
        for apply_again in journal:
            apply_again()
        self.revision += 1

    def compact(self, folder: Path, *, memories: int) -> None:
        """Write the whole graph as a base into the new folder `folder`, and continue from it."""
        snapshot = GraphSnapshot.of(self._base, self.delta(memories))
        self.begin_compaction()
        self.end_compaction(compact(snapshot, folder), folder)

    def _state_relation(self, source: int, target: int, kind: int, weight: float) -> None:
        self._relations.append(
            np.array([source], np.int64),
            [target],
            [kind],
            [weight],
            source_stamp=self._relation_stamps[source],
            target_stamp=self._relation_stamps[target],
        )

    def _changed(self, apply_again: Callable[[], None]) -> None:
        self.revision += 1
        if self._journal is not None:
            self._journal.append(apply_again)

    def _copy_from_base(self, ordinal: int) -> None:
        """Copy the base's edges of a memory into the logs, and make them void in the base."""
        base = self._base
        if ordinal >= base.memories or ordinal in self._void:
            return
        places = slice(base.indptr[ordinal], base.indptr[ordinal + 1])
        targets, forward = base.indices[places].astype(np.int64), base.forward[places]
        kinds, weights = base.edge_kinds[places], base.weights[places]
        here = np.full(len(targets), ordinal)
        to_entity = targets >= ENTITIES_FROM
        # an edge to a memory that is void already was copied with that memory
        not_copied = ~to_entity & np.array([target not in self._void for target in targets.tolist()], bool)
        for log, sources, ends, chosen in (
            (self._links, here, targets - ENTITIES_FROM, to_entity),
            (self._relations, here, targets, not_copied & forward),
            (self._relations, targets, here, not_copied & ~forward),
        ):
            log.append(sources[chosen], ends[chosen], kinds[chosen], weights[chosen])
        self._void.add(ordinal)

    def _is_in_base(self, source: int, target: int, kind: int) -> bool:
        if max(source, target) >= self._base.memories or source in self._void or target in self._void:
            return False
        places = slice(self._base.indptr[source], self._base.indptr[source + 1])
        same = (self._base.indices[places] == target) & (self._base.edge_kinds[places] == kind)
        return bool((same & self._base.forward[places]).any())

    def _unlinked(self, rows: dict[str, NDArray[Any]]) -> int:
        _, counts = self._base.spans(rows["nodes"])
        left = counts - rows["lost"] + np.diff(rows["indptr"])
        return int(np.count_nonzero((rows["nodes"] >= ENTITIES_FROM) & (counts > 0) & (left == 0)))


def _kind(edge: str) -> int:
    if edge not in EDGE_KINDS:
        raise InvalidInputError("edge", f"must be one of {', '.join(EDGE_KINDS)}")
    return EDGE_KINDS.index(edge)


def _weight(weight: float) -> float:
    if not (np.isfinite(weight) and weight > 0):
        raise InvalidInputError("weight", "must be finite and above 0")
    return float(weight)
