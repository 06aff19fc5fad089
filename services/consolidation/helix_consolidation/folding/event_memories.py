"""The memories of one event, found by their ids: an id follows from tenant, event and piece.

Pieces are numbered from 0 without gaps, and an erased one is remembered, so the first id that nobody knows
ends them.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from helix_consolidation.ledger.event_reach import value_code
from helix_shared.identity import memory_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helix_consolidation.folding.context import ConsolidationState, FoldContext


def first_sequence(state: ConsolidationState, tenant_id: str, event_id: str) -> int | None:
    """Stream sequence of the publication of an event that counts; None while it has no memory."""
    return next((stream for _, _, stream in _pieces(state, tenant_id, event_id)), None)


def memories_of(context: FoldContext, tenant_id: str, event_id: str, event_sequence: int) -> list[int]:
    """Ordinals of the memories of an event as it was published at `event_sequence`."""
    state = context.state
    pieces = _pieces(state, tenant_id, event_id)
    found = {o for _, o, stream in pieces if o is not None and stream == event_sequence}
    return sorted(found | state.provisional.get(event_sequence, set()))


def later_memories(
    state: ConsolidationState, tenant_id: str, event_id: str, after: int
) -> list[tuple[int, int | None]]:
    """Codes, and ordinals where they are there, of memories of an event's publications after `after`."""
    return [(code, o) for code, o, stream in _pieces(state, tenant_id, event_id) if stream > after]


def _pieces(
    state: ConsolidationState, tenant_id: str, event_id: str
) -> Iterator[tuple[int, int | None, int]]:
    """Code, ordinal and stream sequence of each piece; without an ordinal it was erased."""
    for piece in count():
        name = memory_id(tenant_id, event_id, piece)
        code, ordinal = value_code(tenant_id, "memory", name), state.ledger.find(name)
        if ordinal is not None:
            yield code, ordinal, state.ledger.sequences(ordinal)[0]
        elif code in state.tombstones.dropped:
            yield code, None, state.tombstones.dropped[code].sequence
        else:
            return
