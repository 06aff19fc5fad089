"""Folding enrichment messages: expansions (doc2query) and links (kg) of the memories of an event.

A message is the complete result of its worker: a memory that it does not name has none. If there are several
messages, the one of the highest sequence of HELIX_DERIVED counts. A message applies to the memories of the
same publication of the event; one that arrives before them is postponed.
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

POSTPONE_SECONDS: Final = 0.5


def fold_expansions(context: FoldContext, origin: Origin, rows: list[dict[str, Any]], sequence: int) -> None:
    """Fold one expansions message of the derived `sequence`.

    Raises:
        TemporaryError: its memories have not arrived.
    """
    found = {row["memory_id"]: row["expansions"] for row in rows}
    for ordinal in _enriched(context, origin, set(found), sequence):
        context.changes.set_expansions(ordinal, found.get(context.state.ledger.memory_id(ordinal), []))


def fold_links(context: FoldContext, origin: Origin, rows: list[dict[str, Any]], sequence: int) -> None:
    """Fold one links message of the derived `sequence`.

    Raises:
        TemporaryError: its memories have not arrived.
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
        context.changes.set_links(ordinal, found.get(context.state.ledger.memory_id(ordinal), []))


def _enriched(context: FoldContext, origin: Origin, named: set[str], sequence: int) -> list[int]:
    """The memories a message applies to; none if a later message or an earlier publication counts."""
    state, event = context.state, origin.event_sequence
    first = first_sequence(state, origin.tenant_id, origin.event_id)
    if first is not None and first < event:
        return []
    here = memories_of(context, origin.tenant_id, origin.event_id, event)
    missing = named - {state.ledger.memory_id(ordinal) for ordinal in here}
    codes = (value_code(origin.tenant_id, "memory", memory_id) for memory_id in missing)
    is_awaited = any(not state.tombstones.is_erased(code, event) for code in codes)
    # a later memories message of the event may hold what the one before did not
    if event not in state.applied or (is_awaited and state.derived.floor < sequence - 1):
        raise TemporaryError(
            f"{origin.edge} of event {event} came before its memories", delay_seconds=POSTPONE_SECONDS
        )
    return here if state.is_latest(origin.edge, event, sequence) else []
