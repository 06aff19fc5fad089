"""The memories of one event, found by their ids: an id follows from tenant, event and piece.

Pieces are numbered from 0 without gaps, and an erased one has a tombstone, so the first unknown id ends the
list. A provisional row is the exception: a later event's message held it, and the pieces before it may still
come. So provisional rows are looked through as well.
"""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING

from helix_consolidation.ledger.event_reach import value_code
from helix_shared.identity import memory_id, sources_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.ledger.consolidation_state import ConsolidationState


def first_sequence(state: ConsolidationState, tenant_id: str, event_id: str) -> int | None:
    """Stream sequence of the publication of an event that counts; None while it has no memory."""
    return next((stream for _, _, stream in _pieces(state, tenant_id, event_id)), None)


def memories_of(context: FoldContext, tenant_id: str, event_id: str, event_sequence: int) -> list[int]:
    """Ordinals of the memories of an event as published at `event_sequence`."""
    pieces = _pieces(context.state, tenant_id, event_id)
    found = {o for _, o, stream in pieces if o is not None and stream == event_sequence}
    return sorted(found | context.state.provisional.get(event_sequence, set()))


def turn_of(context: FoldContext, tenant_id: str, named: str) -> int | None:
    """The memory of which the extracted statement `named` was made; None: it is the id of none.

    It follows from the ids alone, so an event reaches the turn whether or not the statement has arrived.
    """
    ordinal = context.find(tenant_id, named)
    if ordinal is not None and context.state.extracted.source_of(ordinal) is None:
        return None
    found = (context.find(tenant_id, source) for source in sources_of(named))
    return next((turn for turn in found if turn is not None), None)


def later_memories(
    state: ConsolidationState, tenant_id: str, event_id: str, after: int
) -> list[tuple[int, int | None]]:
    """Codes, and ordinals unless erased, of memories of an event's publications after `after`."""
    return [(code, o) for code, o, stream in _pieces(state, tenant_id, event_id) if stream > after]


def _pieces(
    state: ConsolidationState, tenant_id: str, event_id: str
) -> Iterator[tuple[int, int | None, int]]:
    """Code, ordinal (None: erased) and stream sequence of each piece."""
    ledger, unknown = state.ledger, 0
    for unknown in count():
        name = memory_id(tenant_id, event_id, unknown)
        code, ordinal = value_code(tenant_id, "memory", name), ledger.find(name)
        if ordinal is not None:
            yield code, ordinal, ledger.sequences(ordinal)[0]
        elif code in state.tombstones.erased_memories:
            yield code, None, state.tombstones.erased_memories[code].sequence
        else:
            break
    for ordinal in chain.from_iterable(state.provisional.values()):
        stream, piece = ledger.order(ordinal)
        if piece > unknown and ledger.memory_id(ordinal) == memory_id(tenant_id, event_id, piece):
            yield ledger.code(ordinal), ordinal, stream
