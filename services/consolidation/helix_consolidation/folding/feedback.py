"""Folding feedback: counts it as use of a memory, and shows a memory that decay had hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding.event_memories import turn_of
from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.ledger.event_reach import NO_TIME
from helix_consolidation.ledger.lifecycle.tombstones import Usage
from helix_consolidation.ledger.usage_facts import decayed_at, record_decay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.ledger.lifecycle.pending_actions import LifecycleAction


def count_feedback(context: FoldContext, action: LifecycleAction) -> None:
    """Count the memories that a caller named as helpful, and as unhelpful."""
    helpful_ones = _targets(context, action.tenant_id, action.memory_ids)
    unhelpful_ones = _targets(context, action.tenant_id, action.unhelpful)
    for ordinal in sorted(helpful_ones | unhelpful_ones):
        if action.reaches(context.state.ledger.memory_facts(ordinal)):
            helpful, unhelpful = ordinal in helpful_ones, ordinal in unhelpful_ones
            # an unhelpful memory was not used: it neither stays recent nor escapes decay
            accessed_at = action.at if helpful else 0
            usage = Usage(int(helpful), int(unhelpful), int(helpful), accessed_at, action.at)
            context.add_usage(ordinal, usage)
            if helpful:
                show_decayed(context, ordinal)


def _targets(context: FoldContext, tenant_id: str, ids: Iterable[str]) -> set[int]:
    """Ordinals of the named memories; in place of an extracted statement its verbatim memory."""
    found = set[int | None]()
    for memory_id in ids:
        turn = turn_of(context, tenant_id, memory_id)
        found.add(context.find(tenant_id, memory_id) if turn is None else turn)
    return {ordinal for ordinal in found if ordinal is not None}


def show_decayed(context: FoldContext, ordinal: int) -> None:
    """Show a memory that decay had hidden."""
    ledger = context.state.ledger
    if decayed_at(ledger, ordinal) != NO_TIME:
        record_decay(ledger, ordinal, NO_TIME)
        context.changes.reindex(ordinal)
        update_status(context, [ordinal])
