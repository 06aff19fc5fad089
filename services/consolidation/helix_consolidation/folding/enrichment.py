"""Folding expansions and links: what doc2query and kg say of the memories of an event.

A message is all that its worker says of the event's memories: one that is not named has none. Of several
messages the one of the highest sequence of HELIX_DERIVED counts. They count for the memories of the same
publication of the event; a message that comes before them is asked for again.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from helix_consolidation.folding.event_memories import first_sequence, memories_of
from helix_consolidation.ledger.event_reach import value_code
from helix_shared.artifacts.graph.snapshot import Link
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from helix_consolidation.folding.context import FoldContext
    from helix_shared.edges import Origin

ON_ITS_WAY_SECONDS: Final = 0.5


def fold_expansions(context: FoldContext, origin: Origin, rows: list[dict[str, Any]], sequence: int) -> None:
    """Fold one expansions message of the derived `sequence`.

    Raises:
        TemporaryError: its memories may still be on their way.
    """
    found = {row["memory_id"]: row["expansions"] for row in rows}
    for ordinal in _enriched(context, origin, set(found), sequence):
        context.changes.expand(ordinal, found.get(context.state.ledger.memory_id(ordinal), []))


def fold_links(context: FoldContext, origin: Origin, rows: list[dict[str, Any]], sequence: int) -> None:
    """Fold one links message of the derived `sequence`.

    Raises:
        TemporaryError: its memories may still be on their way.
    """
    found: dict[str, list[Link]] = defaultdict(list)
    for row in rows:
        link = Link(
            edge=row["edge"],
            kind=row["kind"],
            name=row["name"],
            surface=row["surface"],
            weight=row["weight"],
        )
        found[row["memory_id"]].append(link)
    for ordinal in _enriched(context, origin, set(found), sequence):
        context.changes.link(ordinal, found.get(context.state.ledger.memory_id(ordinal), []))


def _enriched(context: FoldContext, origin: Origin, named: set[str], sequence: int) -> list[int]:
    """The memories a message speaks of; none where a later message counts, or an earlier publication."""
    state, event = context.state, origin.event_sequence
    first = first_sequence(state, origin.tenant_id, origin.event_id)
    if first is not None and first < event:
        return []
    here = memories_of(context, origin.tenant_id, origin.event_id, event)
    missing = named - {state.ledger.memory_id(ordinal) for ordinal in here}
    codes = (value_code(origin.tenant_id, "memory", memory_id) for memory_id in missing)
    is_awaited = any(not state.tombstones.is_erased(code, event) for code in codes)
    # a later answer to the event may hold what the one before did not
    if event not in state.applied or (is_awaited and state.derived.floor < sequence - 1):
        raise TemporaryError(
            f"{origin.edge} of event {event} came before its memories", delay_seconds=ON_ITS_WAY_SECONDS
        )
    return here if state.is_newest(origin.edge, event, sequence) else []
