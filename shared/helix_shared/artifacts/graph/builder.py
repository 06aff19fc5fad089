"""The graph's writer: links and relations as they come, written as a base and a delta.

Consolidation owns the one builder. It holds in memory what was stated since the last fold, and the
base mapped; publishing costs what the delta holds. When that has grown, the base is written anew
(`graph_fold`), beside the writer or at once. `load` goes on where the last generation stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa

from helix_shared.artifacts.graph.base import ENTITIES_FROM, GraphBase, flat
from helix_shared.artifacts.graph.delta import GraphDelta, compressed, entity_table
from helix_shared.artifacts.graph.edge_log import Column, EdgeLog, Edges, last_stated
from helix_shared.artifacts.graph.fold import fold
from helix_shared.artifacts.graph.snapshot import (
    BASE,
    DELTA_FILE,
    EDGE_KINDS,
    NO_TENANT,
    GraphSnapshot,
    Link,
    entity_key,
)
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


FOLDED_SHARE: Final = 0.05
"""The delta may hold this share of the base's edges ..."""
LEAST_FOLDED: Final = 100_000
"""... or so many, before the base is written anew."""
NO_EDGE: Final = 0.0
"""Weight by which the log says that there is no edge any more."""


class GraphBuilder:
    """The graph in memory; one thread at a time."""

    def __init__(self, base: GraphBase, home: Path | None) -> None:
        self.revision = 0
        """Grows with every change; equal revisions write equal snapshots."""
        self._tenants: dict[str, int] = {}
        self._journal: list[Callable[[], None]] | None = None
        self._start(base, home)

    def _start(self, base: GraphBase, home: Path | None) -> None:
        """Nothing is stated beyond `base`, whose files stand in `home`."""
        self._base = base
        self.home = home
        """Folder of the base's files; None while there are none."""
        self._links = EdgeLog()
        self._relations = EdgeLog()
        self._link_stamps = Column(np.int32, 0)
        self._lives = Column(np.int32, 0)
        self._void: set[int] = set()
        self._stated: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self._entities: list[tuple[int, tuple[str, str, str, int]]] = []

    @classmethod
    def empty(cls) -> Self:
        """A graph without edges."""
        return cls(GraphBase.empty(), None)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The graph a snapshot was written from; its base is linked from there.

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
        rows = zip(*(delta.entities[name].to_pylist() for name in delta.entities.column_names), strict=True)
        self._entities = list(zip(delta.entity_keys.tolist(), rows, strict=True))
        old = len(self._base.entity_keys)
        self._numbers = {key: old + place for place, (key, _) in enumerate(self._entities)}
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
        """Replace the links of a memory; of two to one entity by one edge type the heavier counts.

        Raises:
            InvalidInputError: an unknown edge type, or a weight that is not above zero.
        """
        tenant = self._tenants.setdefault(tenant_id, len(self._tenants))
        heaviest: dict[tuple[int, int], float] = {}
        for link in links:
            place = (self._entity(tenant_id, tenant, link), _kind(link.edge))
            heaviest[place] = max(heaviest.get(place, 0.0), _weight(link.weight))
        self._lift(ordinal)
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
        """Set the weight of a typed edge between two memories.

        Raises:
            InvalidInputError: an unknown edge type, a weight that is not above zero, or a loop.
        """
        if source_ordinal == target_ordinal:
            raise InvalidInputError("target", "a memory cannot be related to itself")
        kind, given = _kind(edge), _weight(weight)
        if self._stands_in_base(source_ordinal, target_ordinal, kind):
            self._lift(source_ordinal)
        self._state_relation(source_ordinal, target_ordinal, kind, given)
        self._changed(lambda: self.relate(source_ordinal, target_ordinal, edge, weight))

    def unrelate(self, source_ordinal: int, target_ordinal: int, edge: str) -> None:
        """Remove a typed edge between two memories, if there is one.

        Raises:
            InvalidInputError: an unknown edge type.
        """
        kind = _kind(edge)
        if self._stands_in_base(source_ordinal, target_ordinal, kind):
            self._lift(source_ordinal)
        self._state_relation(source_ordinal, target_ordinal, kind, NO_EDGE)
        self._changed(lambda: self.unrelate(source_ordinal, target_ordinal, edge))

    def has_links(self, ordinal: int) -> bool:
        """Whether a memory is linked to any entity."""
        base = self._base
        if ordinal < base.memories and ordinal not in self._void:
            places = slice(base.indptr[ordinal], base.indptr[ordinal + 1])
            if (base.indices[places] >= ENTITIES_FROM).any():
                return True
        return self._links.has_living(ordinal, self._link_stamps[ordinal])

    def remove(self, ordinal: int) -> None:
        """Remove all edges of a memory, in both directions."""
        if ordinal < self._base.memories:
            self._void.add(ordinal)
        self._stated[ordinal] = NO_TENANT
        self._link_stamps.bump(ordinal)
        self._lives.bump(ordinal)
        self._changed(lambda: self.remove(ordinal))

    def write(self, folder: Path, *, memories: int) -> None:
        """Write the snapshot into the new folder `folder`; nodes below `memories` are ordinals.

        Raises:
            InvalidInputError: the graph has an ordinal from `memories` on.
        """
        self._base.link_into(folder / BASE, self.home)
        self.delta(memories).write(folder / DELTA_FILE)

    def delta(self, memories: int) -> GraphDelta:
        """What was stated since the base was written.

        Raises:
            InvalidInputError: the graph has an ordinal from `memories` on.
        """
        links = self._links.living(self._link_stamps, None)
        stated = last_stated(self._relations.living(self._lives, self._lives))
        relations = stated.chosen(stated.weight != NO_EDGE)
        ends = (links.source, relations.source, relations.target)
        highest = max(self._base.memories - 1, *(int(edges.max(initial=-1)) for edges in ends))
        if highest >= memories:
            raise InvalidInputError("memories", f"must be above {highest}, which is in the graph")
        targets, keys, entities = self._numbered(links.target)
        linked = Edges(links.source, targets + ENTITIES_FROM, links.kind, links.weight)
        void = np.sort(np.fromiter(self._void, np.int64, len(self._void)))
        nodes, lost = self._lost(void)
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
        """What was written at the last fold."""
        return self._base

    @property
    def is_fold_due(self) -> bool:
        """Whether so much was stated since the last fold that another one pays."""
        stated = 2 * (len(self._links) + len(self._relations))
        return self._journal is None and stated > max(LEAST_FOLDED, FOLDED_SHARE * self._base.edges)

    def begin_fold(self) -> None:
        """A fold of the snapshot as it would be written now goes on elsewhere: remember what comes."""
        self._journal = []

    def end_fold(self, base: GraphBase, home: Path) -> None:
        """Go on from the base that was folded, in `home`, and state again what came meanwhile."""
        journal, self._journal = self._journal or [], None
        self._start(base, home)
        for state_again in journal:
            state_again()
        self.revision += 1

    def fold(self, folder: Path, *, memories: int) -> None:
        """Write all there is as a base into the new folder `folder`, at once."""
        snapshot = GraphSnapshot.of(self._base, self.delta(memories))
        self.begin_fold()
        self.end_fold(fold(snapshot, folder), folder)

    def _state_relation(self, source: int, target: int, kind: int, weight: float) -> None:
        self._relations.append(
            np.array([source], np.int64),
            [target],
            [kind],
            [weight],
            source_stamp=self._lives[source],
            target_stamp=self._lives[target],
        )

    def _changed(self, state_again: Callable[[], None]) -> None:
        self.revision += 1
        if self._journal is not None:
            self._journal.append(state_again)

    def _lift(self, ordinal: int) -> None:
        """State again what the base says of a memory, so that it can be changed; the base is void for it."""
        base = self._base
        if ordinal >= base.memories or ordinal in self._void:
            return
        places = slice(base.indptr[ordinal], base.indptr[ordinal + 1])
        targets, forward = base.indices[places].astype(np.int64), base.forward[places]
        kinds, weights = base.edge_kinds[places], base.weights[places]
        here = np.full(len(targets), ordinal)
        to_entity = targets >= ENTITIES_FROM
        # The edge to a memory lifted before was lifted with it.
        known = ~to_entity & np.array([target not in self._void for target in targets.tolist()], bool)
        for log, sources, ends, chosen in (
            (self._links, here, targets - ENTITIES_FROM, to_entity),
            (self._relations, here, targets, known & forward),
            (self._relations, targets, here, known & ~forward),
        ):
            log.append(sources[chosen], ends[chosen], kinds[chosen], weights[chosen])
        self._void.add(ordinal)

    def _stands_in_base(self, source: int, target: int, kind: int) -> bool:
        if max(source, target) >= self._base.memories or source in self._void or target in self._void:
            return False
        places = slice(self._base.indptr[source], self._base.indptr[source + 1])
        same = (self._base.indices[places] == target) & (self._base.edge_kinds[places] == kind)
        return bool((same & self._base.forward[places]).any())

    def _lost(self, void: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Nodes, ascending, and how many of their edges in the base count no more."""
        starts, counts = self._base.spans(void)
        targets = self._base.indices[flat(starts, counts)].astype(np.int64)
        others, times = np.unique(targets[~np.isin(targets, void)], return_counts=True)
        nodes = np.concatenate([void, others])
        order = np.argsort(nodes)
        return nodes[order], np.concatenate([counts, times])[order]

    def _unlinked(self, rows: dict[str, NDArray[Any]]) -> int:
        _, counts = self._base.spans(rows["nodes"])
        left = counts - rows["lost"] + np.diff(rows["indptr"])
        return int(np.count_nonzero((rows["nodes"] >= ENTITIES_FROM) & (counts > 0) & (left == 0)))

    def _numbered(self, targets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any], pa.Table]:
        """Entities as the snapshot numbers them, and the young ones: sorted keys, and their table."""
        old = len(self._base.entity_keys)
        is_young = targets >= old
        used, places = np.unique(targets[is_young] - old, return_inverse=True)
        young = [self._entities[number] for number in used.tolist()]
        keys = np.array([key for key, _ in young], np.uint64)
        order = np.argsort(keys)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        numbers = targets.copy()
        numbers[is_young] = old + rank[places]
        return numbers, keys[order], entity_table([young[index][1] for index in order.tolist()])

    def _entity(self, tenant_id: str, tenant: int, link: Link) -> int:
        key = entity_key(tenant_id, link.name)
        number = self._numbers.get(key)
        if number is None:
            number = self._number_in_base(key)
            if number is None:
                number = len(self._base.entity_keys) + len(self._entities)
                self._entities.append((key, (link.name, link.kind, link.surface, tenant)))
            self._numbers[key] = number
        return number

    def _number_in_base(self, key: int) -> int | None:
        keys = self._base.entity_keys
        place = int(np.searchsorted(keys, np.uint64(key)))
        return place if place < len(keys) and int(keys[place]) == key else None


def _kind(edge: str) -> int:
    if edge not in EDGE_KINDS:
        raise InvalidInputError("edge", f"must be one of {', '.join(EDGE_KINDS)}")
    return EDGE_KINDS.index(edge)


def _weight(weight: float) -> float:
    if not (np.isfinite(weight) and weight > 0):
        raise InvalidInputError("weight", "must be finite and above 0")
    return float(weight)
