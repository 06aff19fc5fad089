"""Looks up in the state of the writer whether events have a memory left, and whether ids were erased.

The functions read the state: they run in the thread of the stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from helix_shared.identity import memory_id
from helix_shared.value_codes import value_code

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.ledger.lifecycle.erasures import LoggedCandidate


class MessageIds(NamedTuple):
    """Ids that a message holds."""

    events: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()


def without_memories(state: ConsolidationState, candidates: Iterable[LoggedCandidate]) -> set[int]:
    """Sequences of the logged events of which no memory is left."""
    return {one.sequence for one in candidates if not _has_memory(state, one)}


def are_erased(state: ConsolidationState, tenant_id: str, named: Iterable[MessageIds]) -> list[bool]:
    """For each, whether one of its events or memories of a tenant is erased."""
    return [_is_any_erased(state, tenant_id, one) for one in named]


def _is_any_erased(state: ConsolidationState, tenant_id: str, named: MessageIds) -> bool:
    tombstones = state.tombstones
    codes = (value_code(tenant_id, "memory", name) for name in named.memories)
    return any(tombstones.is_event_erased(tenant_id, name) for name in named.events) or any(
        code in tombstones.erased_memories for code in codes
    )


def _has_memory(state: ConsolidationState, candidate: LoggedCandidate) -> bool:
    ledger, name = state.ledger, candidate.event_id
    first = ledger.find(memory_id(candidate.tenant_id, name, 0)) if name else None
    return first is not None and ledger.sequences(first)[0] == candidate.sequence
