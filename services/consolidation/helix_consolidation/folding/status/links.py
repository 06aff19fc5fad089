"""Which decided relations count, and their effect on the status of the older memory.

Nothing is toggled: whether a relation counts follows from the memories, the undos and the other relations.
It counts while both memories exist and the newer one holds (not withdrawn, corrected or forgotten), unless it
was undone, a still newer memory returned to the old value (`revives`), or a later memory retracted the newer
one (`retracts`). Then it is an edge of the graph, and may close the older memory or raise its
confidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_consolidation.folding.changes import Relation
from helix_consolidation.folding.status.memory_status import NOTHING_DECIDED, Decided
from helix_shared.artifacts.relations.records import (
    CLOSES,
    RELATES,
    RELATION_KINDS,
    RETRACTS,
    REVIVES,
    graph_edge,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_shared.artifacts.relations.records import DecidedRelation

_ENDED_BY_REVIVAL: Final = ("UPDATES", "CONTRADICTS")


def add_link(context: FoldContext, relation: DecidedRelation) -> set[int]:
    """Add a decided relation; returns the memories whose status may change."""
    table = context.state.relations
    return _update_rows(context, _with_dependent(context.state, [table.add(relation)]))


def drop_links(context: FoldContext, rows: Iterable[int]) -> set[int]:
    """Take relations back; returns the memories whose status may change."""
    table, affected = context.state.relations, set[int]()
    for row in rows:
        record = table.records[row].copy()
        if table.counts(row):
            _set_edge(context, record, 0.0)
            affected.add(int(record["older"]))
        table.revoke(row)
        if record["flags"] & (REVIVES | RETRACTS):
            affected |= _update_rows(context, _depending(context.state, [record]))
    return affected


def update_links(context: FoldContext, changed: Collection[int]) -> set[int]:
    """Update the relations of memories that began or ceased to hold; returns whose status may change."""
    return _update_rows(context, _with_dependent(context.state, context.state.relations.touching(changed)))


def erase_links(context: FoldContext, erased: Collection[int]) -> set[int]:
    """Drop the relations of erased memories; returns the memories whose status may change."""
    table = context.state.relations
    others = table.erase(erased)
    for other in others:
        context.state.extracted.touch(other)
    return others | _update_rows(context, table.to(others)) if others else others


def stop_asking(context: FoldContext, removed: Collection[int]) -> None:
    """Note the memories whose unsure pairs contain the text of a memory that is forgotten or erased."""
    if context.unsure is None:
        return
    ledger = context.state.ledger
    for newer in context.state.relations.unsure_about(removed):
        context.unasked.add((ledger.tenant_id(newer), ledger.sequences(newer)[0]))


def decided_of(state: ConsolidationState, ordinal: int) -> Decided:
    """The effect of the relations that count on a memory: the first that closes it, and its repetitions."""
    table, ledger = state.relations, state.ledger
    rows = [row for row in table.on_status(ordinal) if table.counts(row)]
    if not rows:
        return NOTHING_DECIDED
    closing = [row for row in rows if table.records["flags"][row] & CLOSES]
    first = min(closing, key=lambda row: ledger.order(int(table.records["newer"][row])), default=None)
    restated = len(rows) - len(closing)
    if first is None:
        return Decided(restated=restated)
    closed_by = ledger.memory_id(int(table.records["newer"][first]))
    return Decided(closed_by, int(table.records["at"][first]), restated)


def decided_weight(state: ConsolidationState, newer: int, older: int) -> float:
    """Weight of the `RELATES` edge by a decided relation that counts; 0: there is none."""
    table = state.relations
    for row in table.between(newer, older):
        kind = RELATION_KINDS[int(table.records["kind"][row])]
        if table.counts(row) and graph_edge(kind) == RELATES:
            return float(table.records["probability"][row])
    return 0.0


def restore_links(state: ConsolidationState) -> None:
    """Compute which stored relations count, at the start; the stores hold their edges.

    Column-wise, apart from the relations of memories that an undo names or that were retracted.
    """
    table, ledger = state.relations, state.ledger
    table.set_all(ledger.in_force)
    named = (
        [o for o in np.flatnonzero(ledger.facts["is_there"]).tolist() if ledger.code(o) in undone]
        if (undone := state.tombstones.undone)
        else []
    )
    derived = {other for one in named for other in ledger.sources.same_turn(one)}
    undone_rows = table.touching({*named, *derived, *state.extracted.of_sources(named)})
    rows = {*undone_rows, *table.to(table.revived)}
    retractions = [row for one in table.retracted_memories for row in table.retractions_of(one)]
    for row in sorted({*rows, *_with_dependent(state, retractions)}, reverse=True):
        table.set_counts(row, counts=_counts(state, row))


def _with_dependent(state: ConsolidationState, rows: Iterable[int]) -> list[int]:
    """The rows, and all relations that count or not because of one of them; earlier relations come last."""
    chosen, waiting = dict.fromkeys(rows), list(rows)
    while waiting:
        found = _depending(state, [state.relations.records[row] for row in waiting])
        waiting = [row for row in found if row not in chosen]
        chosen |= dict.fromkeys(waiting)
    return sorted(chosen, reverse=True)


def _depending(state: ConsolidationState, records: Iterable[np.void]) -> list[int]:
    """Relations to memories that one of these revives, and from memories that one of these retracts."""
    revived, retracted = set[int](), set[int]()
    for record in records:
        older = int(record["older"])
        revived |= {older} if record["flags"] & REVIVES else set()
        retracted |= {older} if record["flags"] & RETRACTS else set()
    turns = (
        retracted.union(*(state.ledger.sources.same_turn(one) for one in retracted))
        if retracted
        else retracted
    )
    turns |= state.extracted.of_sources(turns) if turns else set()
    return sorted({*state.relations.to(revived), *state.relations.from_(turns)})


def _update_rows(context: FoldContext, rows: Iterable[int]) -> set[int]:
    """Compute whether relations count, and change their edges; returns the older memories of the changed."""
    state, table = context.state, context.state.relations
    affected = set[int]()
    for row in rows:
        counts = _counts(state, row)
        if counts == table.counts(row):
            continue
        table.set_counts(row, counts=counts)
        record = table.records[row]
        affected.add(int(record["older"]))
        _set_edge(context, record, float(record["probability"]) if counts else 0.0)
    return affected


def _set_edge(context: FoldContext, record: np.void, weight: float) -> None:
    newer, older = int(record["newer"]), int(record["older"])
    edge = graph_edge(RELATION_KINDS[int(record["kind"])])
    if edge == RELATES and context.state.ledger.duplicate_of(newer) == older:
        return  # `duplicates` keeps that edge
    context.changes.relate(Relation(newer, older, edge, weight))


def _counts(state: ConsolidationState, row: int) -> bool:
    record = state.relations.records[row]
    if not _is_in_force(state, row):
        return False
    if RELATION_KINDS[int(record["kind"])] not in _ENDED_BY_REVIVAL:
        return True
    order = state.ledger.order(int(record["newer"]))
    others = state.relations.revivals(int(record["older"]))
    records = state.relations.records
    return not any(
        state.ledger.order(int(records["newer"][other])) > order and _is_in_force(state, other)
        for other in others
    )


def _is_in_force(state: ConsolidationState, row: int) -> bool:
    """Whether the newer memory holds and nobody undid the relation."""
    record, ledger = state.relations.records[row], state.ledger
    newer, older = int(record["newer"]), int(record["older"])
    if not ledger.status(newer).is_in_force or _was_not_meant(state, newer):
        return False
    if not state.tombstones.undone:
        return True
    # a statement is undone with its verbatim memory
    return not any(
        state.tombstones.is_undone(ledger.memory_facts(one), ledger.code(other))
        for one in _with_sources(state, newer)
        for other in _with_sources(state, older)
    )


def _was_not_meant(state: ConsolidationState, ordinal: int) -> bool:
    """Whether a later turn took back what a memory, or the verbatim memory of a statement, says."""
    rows = [row for one in _with_sources(state, ordinal) for row in state.relations.retractions_of(one)]
    return any(_is_in_force(state, row) for row in rows)


def _with_sources(state: ConsolidationState, ordinal: int) -> list[int]:
    """A memory and, if it is a derived or extracted statement, its verbatim memory."""
    sources = (state.ledger.sources.of(ordinal), state.extracted.source_of(ordinal))
    return [ordinal, *(one for one in sources if one is not None)]
