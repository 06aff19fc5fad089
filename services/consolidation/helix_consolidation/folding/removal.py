"""Removing memories from every store, and repairing what pointed to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding.duplicates import match_again, match_later
from helix_consolidation.folding.status.links import erase_links, stop_asking
from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.folding.status.version_members import members_of
from helix_consolidation.ledger.lifecycle.pending_actions import PendingActions
from helix_consolidation.ledger.lifecycle.tombstones import NO_ORDINAL, ErasedCorrection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.ledger.consolidation_state import ConsolidationState


def remove_memories(context: FoldContext, ordinals: Iterable[int], *, erased_at: int = 0) -> None:
    """Remove memories; with `erased_at`, the sequence of an erasure, they never come back.

    Statements extracted from them are removed too, without a tombstone: a repeat of the message of a
    statement finds no memory that the statement could belong to.
    """
    state, named = context.state, set(ordinals)
    ledger, removed = state.ledger, sorted(named | state.extracted.of_sources(named))
    stop_asking(context, removed)
    relatives = set[int]()
    for ordinal in removed:
        if ordinal not in relatives:
            relatives.update(members_of(state, ordinal))
    duplicates, promoted = set(ledger.duplicates_of(removed)), set[int]()
    for ordinal in removed:
        state.tombstones.record_withdrawn(ledger.code(ordinal), withdrawn=False)
        if erased_at and state.extracted.source_of(ordinal) is None:
            facts, correction = ledger.memory_facts(ordinal), _correction_at(state, ordinal)
            state.tombstones.record_erased_memory(facts, erased_at, correction)
        state.provisional.get(ledger.sequences(ordinal)[0], set()).discard(ordinal)
        promoted |= state.near.remove(ordinal)
        source = state.extracted.source_of(ordinal)
        state.extracted.touch(ordinal if source is None else source)
        state.extracted.remove(ordinal)
        ledger.erase(ordinal)
        context.changes.erase(ordinal)
    state.undecided.remove(set(removed))
    state.statements.erase(removed)
    relatives |= erase_links(context, removed)
    match_again(context, sorted(duplicates.difference(removed)))
    match_later(context, sorted(promoted.difference(removed)))
    update_status(context, sorted(relatives.difference(removed)))


def drop_foreign(context: FoldContext, stays: Callable[[str], bool]) -> list[str]:
    """Remove all memories of the other tenants, and what is under way for them; returns the tenants.

    It leaves no tombstones of its own: where a tenant comes back, its events make its memories again.
    """
    state = context.state
    found = {tenant: own for tenant, own in state.ledger.tenants().items() if not stays(tenant)}
    ordinals = [ordinal for own in found.values() for ordinal in own.tolist()]
    remove_memories(context, ordinals)
    state.pending = PendingActions.of([one for one in state.pending.actions if stays(one.tenant_id)])
    state.erasures.drop_foreign(stays)
    state.erasures.blanked.difference_update(ordinals)
    return sorted(found)


def _correction_at(state: ConsolidationState, ordinal: int) -> ErasedCorrection | None:
    """What a memory corrects, in the form that outlives it; None if it corrects none."""
    corrects, corrected = state.ledger.corrected_memory_of(ordinal)
    target = NO_ORDINAL if corrected is None else corrected
    return ErasedCorrection(corrects, target, *state.ledger.order(ordinal)) if corrects else None
