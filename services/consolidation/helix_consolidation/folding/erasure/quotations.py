"""Quotations of erased events in other memories: found, removed, and the quoting events derived again.

A memory names the events that it quotes (`edges`: column `quotes`). The context of one that quotes an erased
event is emptied at once. Its vector was made with that context, so its event is derived again without the
erased one; until then the old vector stays. A derived statement may say what the erased event said, so it is
removed; where its turn still gives one, it comes back with the turn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from helix_consolidation.folding.incoming.statements import statements_of
from helix_consolidation.folding.removal import remove_memories

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.folding.incoming.rows import IncomingRow
    from helix_consolidation.ledger.lifecycle.erasures import Erasure


def remove_quotations(
    context: FoldContext, erasure: Erasure, sessions: Collection[int], events: set[str]
) -> None:
    """Remove the quotations of `events` from the memories of the `sessions`, which are codes."""
    ledger = context.state.ledger
    found = ledger.of_sessions(sessions)
    stored = context.values_of_many(found, ("quotes",))
    # an erasure before this one in the batch may have removed some
    left = {o: context.changes.blanked.get(o, row["quotes"]) for o, row in stored.items()}
    quoting = {o: quotes for o, quotes in left.items() if not events.isdisjoint(quotes)}
    derived = {ordinal for ordinal in quoting if context.state.is_derived(ordinal)}
    erasure.to_rederive.update(sequence for ordinal in quoting for sequence in ledger.sequences(ordinal))
    kept = {o: [name for name in quotes if name not in events] for o, quotes in quoting.items()}
    _blank(context, {ordinal: quotes for ordinal, quotes in kept.items() if ordinal not in derived})
    remove_memories(context, derived)
    erasure.add("contexts", len(quoting) - len(derived))
    erasure.add("derived_statements", len(derived))


def quotes_erased(context: FoldContext, row: IncomingRow) -> bool:
    """Whether a row that arrives quotes an event that is erased."""
    erased = context.state.tombstones.is_event_erased
    return bool(row.quotes) and any(erased(row.entry.tenant_id, name) for name in row.quotes)


def store_without_quotations(context: FoldContext, row: IncomingRow, ordinal: int) -> None:
    """Store a row that arrived, and quotes an erased event, without its context; ask for it again."""
    tombstones, tenant = context.state.tombstones, row.entry.tenant_id
    kept = [name for name in row.quotes if not tombstones.is_event_erased(tenant, name)]
    _blank(context, {ordinal: kept})


def note_quoting(context: FoldContext, row: IncomingRow) -> None:
    """A row that arrived quotes an erased event, stored or not: its message goes, its event is asked for."""
    erasures = context.state.erasures
    erasures.to_rederive |= {row.entry.stream_sequence, row.entry.revision_sequence}
    erasures.note_quoting_message()


def blank_statements(context: FoldContext, ordinals: Sequence[int]) -> None:
    """Empty the context of statements whose row quotes an erased event, also where a later row is stored."""
    state = context.state
    state.erasures.blanked.update(ordinals)
    for ordinal in ordinals:
        state.undecided.blank(ordinal)


def restore_statements(
    context: FoldContext, batch: int, chosen: Sequence[tuple[int, int]], sequence: int
) -> None:
    """Let what is kept of blanked statements follow from the rows of a message that was derived again.

    A row that quotes something erased is not among `chosen`.
    """
    state = context.state
    waiting = [(row, ordinal) for row, ordinal in chosen if ordinal in state.erasures.blanked]
    if not waiting:
        return
    state.erasures.blanked.difference_update(ordinal for _, ordinal in waiting)
    rows = statements_of(context.changes.batches[batch], waiting, sequence=sequence, derived=0)
    kept = state.statements.rows_of([row.ordinal for row in rows])
    state.statements.revise(
        replace(kept[row.ordinal], vector=row.vector, payload=row.payload)
        for row in rows
        if row.ordinal in kept
    )


def _blank(context: FoldContext, quoting: Mapping[int, list[str]]) -> None:
    """Empty the context of memories by ordinal; each keeps the quotations given."""
    state = context.state
    for ordinal, quotes in quoting.items():
        context.changes.blank(ordinal, quotes)
        state.ledger.reset_revision(ordinal)
        state.undecided.blank(ordinal)
    state.erasures.blanked.update(quoting)
    # together, since each call goes through all statements
    state.statements.revise(row.blanked() for row in state.statements.rows_of(list(quoting)).values())
