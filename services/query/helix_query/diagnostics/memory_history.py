"""The history of a memory: the chain of what it replaced and what replaced it, and what else it relates to.

A memory that likely replaced another, or contradicts it, belongs to the chain, however far away it is. Less
sure replacements, extensions and repetitions are followed only from the memory asked for: otherwise small
probabilities would chain everything that one person said. The caller sees memories that they may recall,
could have recalled before something replaced them, or may read by id although decay hides them; never
forgotten ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_query.recall.packing.rows import with_signals
from helix_query.scheduling.deadline import raise_if_overdue
from helix_shared.artifacts.graph.base import ENTITIES_FROM
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS
from helix_shared.artifacts.relations.records import RELATION_KINDS, DecidedRelation
from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.errors import NotFoundError
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from helix_query.generations.snapshot import Snapshot
    from helix_shared.artifacts.filter.selection import Selection

MOST_MEMORIES: Final = 100
_IN_CHAIN: Final = ("UPDATES", "CONTRADICTS", "CORRECTS")
_LIKELY: Final = 0.5
"""Least probability of a relation that is followed further than the memory asked for."""
_ALL: Final = ("UPDATES", "EXTENDS", "CONTRADICTS", "RELATES", "DERIVES", "DUPLICATE")
"""Kinds of edges between memories, and of decided relations."""
_STATE: Final = ("ordinal", "memory_id", "corrects", "superseded_by", "deleted_at", "hidden")


@dataclass(frozen=True, slots=True)
class HistoryRelation:
    """A relation between two memories by ordinal."""

    newer: int
    older: int
    relation: str
    probability: float
    evidence: Mapping[str, float]
    closed: bool
    counts: bool


@dataclass(frozen=True, slots=True)
class History:
    """Rows of the memories in the order in which they occurred, and the relations between them."""

    rows: Sequence[Mapping[str, Any]]
    entities: Sequence[tuple[str, ...]]
    relations: Sequence[HistoryRelation]
    ids: Mapping[int, str]
    truncated: bool


def history_of(
    memory_id: str, selection: Selection, snapshot: Snapshot, *, now: datetime, deadline: float = math.inf
) -> History:
    """The history of a memory.

    Raises:
        NotFoundError: there is none, or the caller may not see it; the error does not say which.
        OverdueError: `deadline`, a moment of the monotonic clock, has passed.
    """
    found = _HistoryWalk(snapshot, selection, microseconds(now))
    start = [int(ordinal) for ordinal in snapshot.ordinals_of([memory_id])]
    if not found.visit(start):
        raise NotFoundError(f"no memory {memory_id} is visible to this scope")
    frontier, is_first = set(start), True
    while frontier and not found.is_full:
        raise_if_overdue(deadline)
        followed = found.relations_of(sorted(frontier), _ALL if is_first else _IN_CHAIN)
        ends = {end for link in followed if is_first or _is_likely(link) for end in (link.newer, link.older)}
        frontier, is_first = set(found.visit(sorted(ends.difference(found.rows)))), False
        found.relations |= {(link.newer, link.older, link.relation): link for link in followed}
    return found.history()


class _HistoryWalk:
    """The memories and relations found so far."""

    def __init__(self, snapshot: Snapshot, selection: Selection, now: int) -> None:
        self._generation = snapshot.generation
        self._selection = selection
        self._now = now
        self.rows: dict[int, Mapping[str, Any]] = {}
        self.relations: dict[tuple[int, int, str], HistoryRelation] = {}
        self._state: dict[int, Mapping[str, Any]] = {}

    @property
    def is_full(self) -> bool:
        """Whether no more memories are looked for."""
        return len(self.rows) >= MOST_MEMORIES

    def visit(self, ordinals: Sequence[int]) -> list[int]:
        """Add the memories that the caller may see; returns their ordinals."""
        wanted = np.array(ordinals[: MOST_MEMORIES - len(self.rows)], np.int64)
        if not len(wanted):
            return []
        states = {row["ordinal"]: row for row in self._generation.vectors.take(wanted, _STATE).to_pylist()}
        shown = np.array(
            [o for o in wanted.tolist() if o in states and self._is_shown(o, states[o])], np.int64
        )
        signals, found = self._generation.signals, []
        for row in with_signals(signals.records(shown), signals) if len(shown) else ():
            if self._selection.admits(row):
                found.append(int(row["ordinal"]))
                self.rows[found[-1]], self._state[found[-1]] = row, states[found[-1]]
        return found

    def _is_shown(self, ordinal: int, state: Mapping[str, Any]) -> bool:
        """Whether a memory may be recalled now, could be until one replaced it, or only decay hides it."""
        signals = self._generation.signals
        expires = int(signals.expires_at[ordinal])
        is_over = expires != NO_TIME and expires <= self._now
        is_decayed = int(signals.decayed_at[ordinal]) != NO_TIME
        is_hidden = state["hidden"] and not (state["superseded_by"] or is_decayed)
        is_to_come = int(signals.valid_from[ordinal]) > self._now
        return state["deleted_at"] is None and not (is_over or is_hidden or is_to_come)

    def relations_of(self, ordinals: Sequence[int], kinds: Collection[str]) -> list[HistoryRelation]:
        """Relations of `kinds` from or to these visited memories: decided ones, and other edges."""
        nodes = np.array(ordinals, np.int64)
        edges = self._edges(nodes, kinds)
        relations = []
        decided = [kind for kind in RELATION_KINDS if kind in kinds]
        for relation, counts in self._generation.relations.of(nodes, kinds=decided):
            if counts:
                edges.pop((relation.newer, relation.older, relation.edge), None)
            relations.append(_decided(relation, counts=counts))
        for (newer, older, kind), weight in edges.items():
            relations.append(HistoryRelation(newer, older, kind, weight, {}, closed=False, counts=True))
        return relations

    def _edges(
        self, nodes: np.ndarray[Any, np.dtype[np.int64]], kinds: Collection[str]
    ) -> dict[tuple[int, int, str], float]:
        """Edges of `kinds` between memories by newer, older and kind, with their weights."""
        rows = self._generation.graph.edges_of(nodes)
        owners = np.repeat(nodes, rows.counts)
        found = {}
        for owner, target, weight, number, forward in zip(
            owners.tolist(),
            rows.targets.tolist(),
            rows.weights.tolist(),
            rows.kinds.tolist(),
            rows.forward.tolist(),
            strict=True,
        ):
            if target < ENTITIES_FROM and EDGE_KINDS[number] in kinds:
                newer, older = (owner, target) if forward else (target, owner)
                found[newer, older, EDGE_KINDS[number]] = weight
        return found

    def history(self) -> History:
        """All that was found, in order; relations to a memory that is not shown are left out."""
        ids = {ordinal: str(row["memory_id"]) for ordinal, row in self.rows.items()}
        order = sorted(
            self.rows, key=lambda o: (self.rows[o]["occurred_at"], self.rows[o]["stream_sequence"])
        )
        place = {ordinal: number for number, ordinal in enumerate(order)}
        relations = [s for s in self.relations.values() if s.newer in place and s.older in place]
        relations = [self._named(link, ids) for link in relations]
        return History(
            rows=[self.rows[ordinal] for ordinal in order],
            entities=self._generation.graph.entities_of(np.array(order, np.int64)),
            relations=sorted(relations, key=lambda s: (place[s.newer], place[s.older], s.relation)),
            ids=ids,
            truncated=self.is_full,
        )

    def _named(self, link: HistoryRelation, ids: Mapping[int, str]) -> HistoryRelation:
        """The relation, called CORRECTS where it is a correction: its edge has the kind of an update."""
        if link.relation != "UPDATES" or self._state[link.newer]["corrects"] != ids[link.older]:
            return link
        return HistoryRelation(link.newer, link.older, "CORRECTS", 1.0, {}, closed=True, counts=True)


def _is_likely(link: HistoryRelation) -> bool:
    """Whether a relation is followed: always one that closed, or would have if it still counted."""
    return link.closed or not link.counts or link.probability >= _LIKELY


def _decided(relation: DecidedRelation, *, counts: bool) -> HistoryRelation:
    return HistoryRelation(
        relation.newer,
        relation.older,
        relation.kind,
        relation.probability,
        relation.evidence,
        closed=relation.closes and counts,
        counts=counts,
    )
