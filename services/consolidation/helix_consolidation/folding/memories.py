"""Folding a memories message: which of its rows are stored, what they replace, correct and duplicate.

If an event was published several times, the lowest sequence with memories counts; the others are dropped
whole. If that publication has several memories messages, the latest of HELIX_DERIVED says which memories
there are; a memory that it lacks is withdrawn, not removed. If a memory has several rows, the highest
revision counts (its context was completed later), then the latest message. So the result depends on the set
of messages, not on their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding import duplicates
from helix_consolidation.folding.changes import Relation
from helix_consolidation.folding.corrections import completed_correction
from helix_consolidation.folding.erasure.carry_out import erase_on_arrival, remove_quotations_of_republished
from helix_consolidation.folding.erasure.quotations import (
    blank_statements,
    note_quoting,
    quotes_erased,
    restore_statements,
    store_without_quotations,
)
from helix_consolidation.folding.event_memories import first_sequence, later_memories, memories_of
from helix_consolidation.folding.incoming.actions import replacement_of
from helix_consolidation.folding.incoming.rows import IncomingRow, model_of, publishing_actor, read_rows
from helix_consolidation.folding.lifecycle import cancel_replacement, fold_action, reach_late
from helix_consolidation.folding.relate import await_decision
from helix_consolidation.folding.removal import remove_memories
from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.ledger.event_reach import NOTHING, value_code
from helix_shared.edges import FIRST_STATEMENT_PIECE
from helix_shared.errors import IncompatibleError, PermanentError, TemporaryError

if TYPE_CHECKING:
    import pyarrow as pa

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.ledger.event_reach import Actor, Visibility
    from helix_shared.edges import Origin

Indexed = tuple[IncomingRow, tuple[int, int]]
"""A row with its batch and index in `Changes.batches`."""


def fold_memories(context: FoldContext, origin: Origin, rows: pa.RecordBatch, sequence: int) -> None:
    """Fold one checked message of the derived `sequence`.

    Raises:
        IncompatibleError: its vectors come from another model than the generation's.
        PermanentError: it corrects a memory that does not exist, is out of reach, or has another visibility.
        TemporaryError: it corrects a memory, and an earlier event is not processed or not carried out yet.
    """
    actor = publishing_actor(origin, rows)
    rows = completed_correction(context, origin, rows)
    incoming = read_rows(rows)
    _note_republished(context.state, origin)
    for row in incoming:
        _check_correction(context, row, actor)
    accept_model(context.state, origin, rows)
    context.changes.batches.append(rows)
    batch, event = len(context.changes.batches) - 1, origin.event_sequence
    indexed = [(row, (batch, number)) for number, row in enumerate(incoming)]
    own = [(row, source) for row, source in indexed if row.entry.stream_sequence == event]
    is_overtaken = any(_is_of_earlier_publication(context, row) for row, _ in own)
    if not is_overtaken and _is_first(context, origin.tenant_id, origin.event_id, event, has_rows=bool(own)):
        if origin.replaces_document:
            fold_action(context, replacement_of(origin))
        _store_own(context, origin, own, sequence)
    else:
        _note_repeat(context, origin, {row.entry.session for row, _ in own})
        remove_memories(context, context.state.provisional.pop(event, ()))
    for row, source in indexed:
        if row.entry.stream_sequence != event:
            _complete(context, row, source, sequence)


def _note_republished(state: ConsolidationState, origin: Origin) -> None:
    """An event that was erased, and is published again, is removed from the log again."""
    if state.tombstones.is_event_erased(origin.tenant_id, origin.event_id, origin.event_sequence):
        state.erasures.note_republished(origin.tenant_id, origin.event_sequence)


def _note_repeat(context: FoldContext, origin: Origin, sessions: set[int]) -> None:
    """Remember a publication that does not count; memories of its session may quote it."""
    code = value_code(origin.tenant_id, "event", origin.event_id)
    session = max(sessions, default=NOTHING)
    context.state.tombstones.record_repeat(code, origin.event_sequence, session)
    if context.state.tombstones.is_event_erased(origin.tenant_id, origin.event_id):
        remove_quotations_of_republished(context, origin.tenant_id, origin.event_id, session)


def _check_correction(context: FoldContext, row: IncomingRow, actor: Actor) -> None:
    """A correction must reach what it corrects, and keep the visibility of the version before."""
    entry, state = row.entry, context.state
    if not entry.corrects or _was_accepted(context, row):
        return
    action = state.pending.first
    is_early = action is not None and action < entry.stream_sequence
    if state.applied.floor < entry.stream_sequence - 1 or is_early:
        raise TemporaryError(f"memory {entry.corrects} may not have arrived yet")
    old = _visibility_before(context, row)
    if old is None or not actor.reaches(old):
        # one error for both: the reply must not tell whether an id exists
        raise PermanentError(
            f"memory_id: there is no memory {entry.corrects} that the user_id and acl of this event could "
            "recall before it; correct an id that a recall returned"
        )
    if old != entry.visibility:
        raise PermanentError(
            f"correction of {entry.corrects} would change who may see it; "
            "leave out user_id, acl and shared, or repeat those of the event that made it"
        )


def _visibility_before(context: FoldContext, row: IncomingRow) -> Visibility | None:
    """Visibility of the memory that `row` corrects; None: it did not exist before, or is erased."""
    entry, ledger = row.entry, context.state.ledger
    ordinal = context.find(entry.tenant_id, entry.corrects)
    if ordinal is None or ledger.sequences(ordinal)[0] >= entry.stream_sequence:
        return None
    return ledger.visibility(ordinal)


def _was_accepted(context: FoldContext, row: IncomingRow) -> bool:
    """Whether a message for the same publication of a correction was applied before."""
    state, entry = context.state, row.entry
    ordinal = context.find(entry.tenant_id, entry.memory_id)
    if ordinal is None:
        erased = state.tombstones.erased_memories.get(row.facts.memory)
        return erased is not None and erased.sequence == entry.stream_sequence
    return state.ledger.sequences(ordinal)[0] == entry.stream_sequence


def accept_model(state: ConsolidationState, origin: Origin, rows: pa.RecordBatch) -> None:
    """Take the model of the first message, or of the first rows; refuse rows of another one.

    Raises:
        IncompatibleError: the vectors come from another model than the generation's.
    """
    model = model_of(origin, rows)
    if model is None:
        return
    if state.model is None or (rows.num_rows and not state.ledger.size):
        state.model = model
    elif state.model != model and rows.num_rows:
        raise IncompatibleError(
            f"vectors of {model} do not fit the generation's {state.model}; "
            "give ingest that model again, or rebuild with the other"
        )


def _is_first(context: FoldContext, tenant_id: str, event_id: str, event: int, *, has_rows: bool) -> bool:
    """Whether no lower publication of an event has memories; those of higher ones are then removed."""
    state = context.state
    first = first_sequence(state, tenant_id, event_id)
    if first is not None and first < event:
        return False
    if has_rows:
        cancel_replacement(context, tenant_id, event_id, after=event)
        later = later_memories(state, tenant_id, event_id, event)
        for code, ordinal in later:
            if ordinal is None:
                state.tombstones.revoke_erased_memory(code)
            else:
                facts = state.ledger.memory_facts(ordinal)
                published = value_code(tenant_id, "event", event_id), facts.stream_sequence
                state.tombstones.record_repeat(*published, facts.session)
        remove_memories(context, (ordinal for _, ordinal in later if ordinal is not None))
    return True


def _is_of_earlier_publication(context: FoldContext, row: IncomingRow) -> bool:
    """Whether the memory exists from a lower publication: a later event's message contained it."""
    ordinal = context.find(row.entry.tenant_id, row.entry.memory_id)
    sequence = row.entry.stream_sequence
    return ordinal is not None and context.state.ledger.sequences(ordinal)[0] < sequence


def _store_own(context: FoldContext, origin: Origin, own: list[Indexed], sequence: int) -> None:
    """Store the rows of the message's own event, and withdraw the memories that the latest message lacks."""
    state, event = context.state, origin.event_sequence
    is_latest = state.is_latest("memories", event, sequence)
    before = set(memories_of(context, origin.tenant_id, origin.event_id, event))
    for row, source in own:
        store_row(context, row, source, sequence)
    found = [context.find(origin.tenant_id, row.entry.memory_id) for row, _ in own]
    named = {ordinal for ordinal in found if ordinal is not None}
    _await_decision(context, own, found, sequence)
    state.provisional.get(event, set()).difference_update(named)
    for ordinal in before | named if is_latest else named - before:
        is_withdrawn = not is_latest or ordinal not in named
        state.tombstones.record_withdrawn(state.ledger.code(ordinal), withdrawn=is_withdrawn)
    update_status(context, sorted(before | named))


def _await_decision(
    context: FoldContext, own: list[Indexed], ordinals: list[int | None], sequence: int
) -> None:
    """Let the statements of an event's own rows be decided about."""
    if not own:
        return
    batch = context.changes.batches[own[0][1][0]]
    stored = [
        (number, ordinal)
        for (_, (_, number)), ordinal in zip(own, ordinals, strict=True)
        if ordinal is not None
    ]
    event = own[0][0].entry.stream_sequence
    quoting = {number for row, (_, number) in own if quotes_erased(context, row)}
    restore_statements(context, own[0][1][0], [one for one in stored if one[0] not in quoting], event)
    if event > context.state.moved.get(own[0][0].entry.tenant_id, 0):
        await_decision(context, batch, stored, sequence=event, derived=sequence)
    blank_statements(context, [ordinal for number, ordinal in stored if number in quoting])


def _complete(context: FoldContext, row: IncomingRow, source: tuple[int, int], sequence: int) -> None:
    """Store a row of an earlier event, processed or not, whose context this message completes."""
    entry, state = row.entry, context.state
    event = entry.stream_sequence
    if not _is_first(context, entry.tenant_id, row.event_id, event, has_rows=True):
        return
    is_new = context.find(entry.tenant_id, entry.memory_id) is None
    ordinal = store_row(context, row, source, sequence)
    if ordinal is not None and is_new:
        # `apply_due_actions` withdraws it if its event turns out not to contain it
        state.provisional.setdefault(event, set()).add(ordinal)


def store_row(context: FoldContext, row: IncomingRow, source: tuple[int, int], sequence: int) -> int | None:
    """Store a row unless it was erased, or a better version exists; returns its ordinal if stored."""
    entry, state, changes = row.entry, context.state, context.changes
    code = row.facts.memory
    if state.tombstones.is_erased(code, entry.stream_sequence):
        return None
    ordinal = context.find(entry.tenant_id, entry.memory_id)
    is_late = ordinal is None and entry.stream_sequence <= state.applied.floor
    if is_late and entry.piece < FIRST_STATEMENT_PIECE:
        reach_late(context, entry.tenant_id, entry.memory_id, row.facts)
    if erase_on_arrival(context, row):
        return None
    is_quoting = quotes_erased(context, row)
    if is_quoting:
        note_quoting(context, row)
    if is_quoting and row.derived_from:
        return None
    is_new = ordinal is None
    if ordinal is None:
        ordinal = state.ledger.add(entry)
        # no links yet, but the graph learns the tenant of the memory
        changes.set_links(ordinal, [])
        state.latest_derived["row", code] = sequence
    else:
        revision = state.ledger.sequences(ordinal)[1]
        if entry.revision_sequence < revision:
            return None
        is_later = state.is_latest("row", code, sequence)
        if entry.revision_sequence == revision and not is_later:
            return None
        state.latest_derived["row", code] = sequence
        state.ledger.revise(ordinal, entry)
    changes.set_row(ordinal, *source)
    if is_quoting:
        store_without_quotations(context, row, ordinal)
    _relate_versions(context, ordinal)
    _relate_source(context, ordinal, row)
    duplicates.index_duplicates(context, ordinal, row, is_new=is_new)
    update_status(context, [ordinal])
    return ordinal


def _relate_versions(context: FoldContext, ordinal: int) -> None:
    """Set the edges to the memory that this one corrects, and from its corrections."""
    ledger = context.state.ledger
    _, corrected = ledger.corrected_memory_of(ordinal)
    if corrected is not None:
        context.changes.relate(Relation(ordinal, corrected, "UPDATES", 1.0))
    for newer in ledger.corrections.of(ledger.code(ordinal)):
        context.changes.relate(Relation(newer, ordinal, "UPDATES", 1.0))


def _relate_source(context: FoldContext, ordinal: int, row: IncomingRow) -> None:
    """Set the edge from a derived statement to its verbatim memory, which is stored before it."""
    source = context.find(row.entry.tenant_id, row.derived_from) if row.derived_from else None
    if source is not None:
        context.changes.relate(Relation(ordinal, source, "DERIVES", 1.0))
