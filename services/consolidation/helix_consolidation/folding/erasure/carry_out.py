"""Carries out an erasure in the stores: removes memories, and their quotations in others.

An erasure by ids takes the whole event of each memory: its pieces quote each other, and the log holds the
event whole. `delivery.erasing` removes what lies outside the stores.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from helix_consolidation.folding.erasure.quotations import remove_quotations
from helix_consolidation.folding.event_memories import memories_of
from helix_consolidation.folding.removal import remove_memories
from helix_consolidation.ledger.event_reach import NOTHING, TENANT, value_code
from helix_consolidation.ledger.lifecycle.erasures import Erasure
from helix_shared.edges import FIRST_STATEMENT_PIECE
from helix_shared.identity import memory_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.folding.incoming.rows import IncomingRow
    from helix_consolidation.ledger.lifecycle.pending_actions import LifecycleAction

BATCH_ROWS: Final = 20_000
"""Rows that are read together: an erasure may reach all memories of a user."""


def carry_out_erasure(context: FoldContext, action: LifecycleAction, reached: Sequence[int]) -> None:
    """Remove the memories that an erasure reaches, with their events and what quotes them."""
    state = context.state
    erasure = Erasure(action.sequence, action.event, action.tenant_id, action.actor, action.selector_kind)
    names = _event_ids(context, reached)
    whole = _whole_events(context, action, names) if action.selector_kind == "memory" else set(reached)
    whole |= state.extracted.of_sources(whole)
    names = _event_ids(context, sorted(whole))
    ids = {name for name in names.values() if name}
    repeats = _repeats(context, action.tenant_id, ids)
    own = {state.ledger.memory_facts(ordinal).session for ordinal in whole}
    sessions = own.union(repeats.values()) - {NOTHING}
    erasure.events = {state.ledger.sequences(ordinal)[0] for ordinal in whole}.union(repeats)
    _count(context, erasure, whole)
    remove_memories(context, whole, erased_at=action.sequence)
    remove_quotations(context, erasure, sorted(sessions), ids)
    state.erasures.open[action.sequence] = erasure


def remove_quotations_without_memory(
    context: FoldContext, erasure: Erasure, events: Iterable[tuple[str, str]]
) -> None:
    """Remove the quotations of erased events that have no memory, given by session and id.

    They are turns at which ingest failed: only the log knows them.
    """
    named = set(events)
    sessions = {value_code(erasure.tenant_id, "session", session) for session, _ in named} - {NOTHING}
    remove_quotations(context, erasure, sorted(sessions), {name for _, name in named if name})


def erase_on_arrival(context: FoldContext, row: IncomingRow) -> bool:
    """Whether a row that arrives, or its event, is erased; if so, the whole event is erased.

    The order of arrival does not matter: memories of the event that arrived before are removed too.
    """
    entry, tombstones = row.entry, context.state.tombstones
    erased_at = tombstones.erased_at(row.facts)
    if not erased_at and not tombstones.is_event_erased(entry.tenant_id, row.event_id, entry.stream_sequence):
        return False
    first = value_code(entry.tenant_id, "memory", memory_id(entry.tenant_id, row.event_id, 0))
    erased_at = erased_at or tombstones.erased_memories[first].erased_at
    tombstones.record_erased_memory(row.facts, erased_at)
    if entry.piece >= FIRST_STATEMENT_PIECE:
        return True
    if first not in tombstones.erased_memories:
        tombstones.record_erased_memory(replace(row.facts, memory=first), erased_at)
    others = memories_of(context, entry.tenant_id, row.event_id, entry.stream_sequence)
    remove_memories(context, others, erased_at=erased_at)
    remove_quotations_of_republished(context, entry.tenant_id, row.event_id, entry.session)
    context.state.erasures.note_republished(entry.tenant_id, entry.stream_sequence)
    return True


def remove_quotations_of_republished(
    context: FoldContext, tenant_id: str, event_id: str, session: int
) -> None:
    """Remove the quotations of an erased event that was published again, counted or not."""
    collected = Erasure(0, 0, tenant_id, TENANT, "memory")
    remove_quotations(context, collected, {session} - {NOTHING}, {event_id})
    context.state.erasures.to_rederive |= collected.to_rederive


def _whole_events(context: FoldContext, action: LifecycleAction, names: Mapping[int, str]) -> set[int]:
    """The memories of the events of these ordinals that the action reaches."""
    ledger = context.state.ledger
    found = set(names)
    for ordinal, name in names.items():
        stream, _ = ledger.sequences(ordinal)
        found |= set(memories_of(context, action.tenant_id, name, stream))
    return {ordinal for ordinal in found if action.reaches(ledger.memory_facts(ordinal))}


def _event_ids(context: FoldContext, ordinals: Sequence[int]) -> dict[int, str]:
    rows = context.values_of_many(ordinals, ("event_id",))
    return {ordinal: row["event_id"] for ordinal, row in rows.items()}


def _repeats(context: FoldContext, tenant_id: str, ids: set[str]) -> dict[int, int]:
    """Sequence and session of every publication of these events that does not count."""
    found: dict[int, int] = {}
    for name in ids:
        found |= context.state.tombstones.repeats.get(value_code(tenant_id, "event", name), {})
    return found


def _count(context: FoldContext, erasure: Erasure, ordinals: set[int]) -> None:
    each = sorted(ordinals)
    derived = [ordinal for ordinal in each if context.state.is_derived(ordinal)]
    erasure.add("memories", len(ordinals) - len(derived))
    erasure.add("derived_statements", len(derived))
    erasure.add("vectors", len(ordinals))
    erasure.add("lexicon", len(ordinals))
    erasure.add("graph", len(ordinals))
    for start in range(0, len(each), BATCH_ROWS):
        rows = context.values_of_many(each[start : start + BATCH_ROWS], ("expansions",))
        erasure.add("expansions", sum(len(row.get("expansions") or ()) for row in rows.values()))
