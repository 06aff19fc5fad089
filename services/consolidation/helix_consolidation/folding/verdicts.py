"""Folding verdicts of a language model about the pairs of one event that the rules were unsure about.

A message is the complete result for an event; if there are several, the latest of HELIX_DERIVED counts. One
without rows says nothing and changes nothing: its pairs are gone, or nobody answered about them. A message
waits until the statements of its event are decided, so every decision of the rules is made without it, in the
order of the log. Its effect follows from the decision and the verdict alone (`relations.unsure`), and
only relations marked as unsure change, so the time of its arrival does not matter. An undo takes the
relation back, with a verdict or without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helix_consolidation.folding.status.links import add_link, drop_links
from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.relations.unsure import with_verdict
from helix_shared.artifacts.relations.records import decoded
from helix_shared.errors import TemporaryError
from helix_shared.pairs.verdicts import NO_VERDICT

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from helix_consolidation.folding.context import FoldContext
    from helix_shared.artifacts.relations.records import DecidedRelation
    from helix_shared.edges import Origin


def fold_verdicts(context: FoldContext, origin: Origin, rows: pa.RecordBatch, sequence: int) -> None:
    """Fold one checked verdicts message of the derived `sequence`.

    Raises:
        TemporaryError: the statements of its event are not decided yet.
    """
    state, event = context.state, origin.event_sequence
    if state.applied.floor < event or state.undecided.has_before(event + 1):
        raise TemporaryError(f"verdicts about event {event} came before its statements are decided")
    if not rows.num_rows or not state.is_latest("verdicts", event, sequence):
        return
    verdicts = {
        tuple(_memory(context, origin.tenant_id, row, side) for side in ("newer", "older")): row["verdict"]
        for row in rows.to_pylist()
    }
    affected = set[int]()
    for at in state.relations.unsure(state.ledger.facts["stream"], event):
        relation = decoded(state.relations.records[at], state.relations.names.names)
        if state.ledger.tenant_id(relation.newer) == origin.tenant_id:
            changed = with_verdict(relation, verdicts.get((relation.newer, relation.older), NO_VERDICT))
            affected |= _replace(context, at, changed)
    update_status(context, sorted(affected))


def _memory(context: FoldContext, tenant_id: str, row: Mapping[str, Any], side: str) -> int | None:
    """Ordinal of one side of a pair; None where that publication of its event has no such memory."""
    ordinal = context.find(tenant_id, row[side])
    is_own = ordinal is not None and context.state.ledger.sequences(ordinal)[0] == row[f"{side}_sequence"]
    return ordinal if is_own else None


def _replace(context: FoldContext, row: int, relation: DecidedRelation) -> set[int]:
    """Put a relation in the place of that of `row`; returns the memories whose status may change."""
    if context.state.relations.equals(row, relation):
        return set()
    context.state.extracted.touch(relation.newer)
    return drop_links(context, [row]) | add_link(context, relation)
