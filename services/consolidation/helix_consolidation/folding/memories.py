"""Folding a memories message: which of its rows count, what they replace, correct and repeat.

Of an event that was published several times the lowest sequence with memories counts; the others are dropped
whole. Of several answers to that publication the latest of HELIX_DERIVED says which memories there are; one
that it does not hold any more is withdrawn, not removed. Of one memory the highest revision counts (its
context was completed later), then the latest answer. So what is stored follows from the set of messages, not
from their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding import duplicates
from helix_consolidation.folding.changes import Relation
from helix_consolidation.folding.corrections import completed
from helix_consolidation.folding.event_memories import first_sequence, later_memories, memories_of
from helix_consolidation.folding.incoming_rows import IncomingRow, model_of, publishing_actor, read_rows
from helix_consolidation.folding.lifecycle import cancel_replacement, fold_action, replacement_of
from helix_consolidation.ledger.event_reach import Visibility, reaches, value_code
from helix_shared.errors import IncompatibleError, PermanentError, TemporaryError

if TYPE_CHECKING:
    import pyarrow as pa

    from helix_consolidation.folding.context import ConsolidationState, FoldContext
    from helix_consolidation.ledger.event_reach import Actor
    from helix_shared.edges import Origin


def fold_memories(context: FoldContext, origin: Origin, rows: pa.RecordBatch, sequence: int) -> None:
    """Fold one checked message of the derived `sequence`.

    Raises:
        IncompatibleError: its vectors come from another model than the generation's.
        PermanentError: it corrects a memory that is not there, is out of reach, or that others may see.
        TemporaryError: it corrects a memory, and an earlier event is not answered yet.
    """
    scope = publishing_actor(origin, rows)
    rows = completed(context, origin, rows)
    incoming_rows = read_rows(rows)
    for incoming in incoming_rows:
        _check_correction(context, incoming, scope)
    _accept_model(context.state, origin, rows)
    context.changes.batches.append(rows)
    batch, event = len(context.changes.batches) - 1, origin.event_sequence
    placed = [(incoming, (batch, row)) for row, incoming in enumerate(incoming_rows)]
    own = [(incoming, place) for incoming, place in placed if incoming.entry.stream_sequence == event]
    is_overtaken = any(_is_of_earlier_publication(context, incoming) for incoming, _ in own)
    if not is_overtaken and _is_first(context, origin.tenant_id, origin.event_id, event, has_rows=bool(own)):
        if origin.replaces_document:
            fold_action(context, replacement_of(origin))
        _answer(context, origin, own, sequence)
    else:
        context.remove(context.state.provisional.get(event, ()))
    context.state.provisional.pop(event, None)
    for incoming, place in placed:
        if incoming.entry.stream_sequence != event:
            _complete(context, incoming, place, sequence)


def _check_correction(context: FoldContext, incoming: IncomingRow, scope: Actor) -> None:
    """A correction reaches what its scope could recall, and is seen by those who saw the version before."""
    entry, state = incoming.entry, context.state
    if not entry.corrects or _was_accepted(context, incoming):
        return
    if state.applied.floor < entry.stream_sequence - 1:
        raise TemporaryError(f"memory {entry.corrects} may still be on its way")
    old = _visibility_before(context, incoming)
    if old is None or not reaches(scope, old):
        # one answer for both: an id tells nobody whether it exists
        raise PermanentError(
            f"memory_id: there is no memory {entry.corrects} that the user_id and acl of this event could "
            "recall before it; correct an id that a recall returned"
        )
    if old != entry.visibility:
        raise PermanentError(
            f"correction of {entry.corrects} would change who may see it; "
            "leave out user_id, acl and shared, or repeat those of the event that made it"
        )


def _visibility_before(context: FoldContext, incoming: IncomingRow) -> Visibility | None:
    """Who may recall what a correction corrects; None: it was not there before it, or is erased."""
    entry, state = incoming.entry, context.state
    ordinal = context.find(entry.tenant_id, entry.corrects)
    if ordinal is None or state.ledger.sequences(ordinal)[0] >= entry.stream_sequence:
        return None
    return state.ledger.visibility(ordinal)


def _was_accepted(context: FoldContext, incoming: IncomingRow) -> bool:
    """Whether an answer to the same publication of a correction was applied before."""
    state, entry = context.state, incoming.entry
    ordinal = context.find(entry.tenant_id, entry.memory_id)
    if ordinal is None:
        dropped = state.tombstones.dropped.get(_code(incoming))
        return dropped is not None and dropped.sequence == entry.stream_sequence
    return state.ledger.sequences(ordinal)[0] == entry.stream_sequence


def _accept_model(state: ConsolidationState, origin: Origin, rows: pa.RecordBatch) -> None:
    model = model_of(origin, rows)
    if model is None:
        return
    if state.model is None:
        state.model = model
    elif state.model != model and rows.num_rows:
        raise IncompatibleError(
            f"vectors of {model} do not fit the generation's {state.model}; "
            "give ingest that model again, or rebuild with the other"
        )


def _is_first(context: FoldContext, tenant_id: str, event_id: str, event: int, *, has_rows: bool) -> bool:
    """Whether no lower publication of an event has memories; what a higher one has left goes."""
    state = context.state
    first = first_sequence(state, tenant_id, event_id)
    if first is not None and first < event:
        return False
    if has_rows:
        cancel_replacement(context, tenant_id, event_id, after=event)
        later = later_memories(state, tenant_id, event_id, event)
        for code, ordinal in later:
            if ordinal is None:
                state.tombstones.allow(code)
        context.remove((ordinal for _, ordinal in later if ordinal is not None))
    return True


def _is_of_earlier_publication(context: FoldContext, incoming: IncomingRow) -> bool:
    """Whether the memory is there of a lower publication: completed by a later turn before its own answer."""
    ordinal = context.find(incoming.entry.tenant_id, incoming.entry.memory_id)
    sequence = incoming.entry.stream_sequence
    return ordinal is not None and context.state.ledger.sequences(ordinal)[0] < sequence


def _answer(
    context: FoldContext, origin: Origin, own: list[tuple[IncomingRow, tuple[int, int]]], sequence: int
) -> None:
    """Take the memories an event's own answer holds, and withdraw those that the latest does not hold."""
    state, event = context.state, origin.event_sequence
    is_latest = state.is_newest("memories", event, sequence)
    before = set(memories_of(context, origin.tenant_id, origin.event_id, event))
    for incoming, place in own:
        _arrive(context, incoming, place, sequence)
    found = (context.find(origin.tenant_id, incoming.entry.memory_id) for incoming, _ in own)
    named = {ordinal for ordinal in found if ordinal is not None}
    for ordinal in before | named if is_latest else named - before:
        state.tombstones.withdraw(state.ledger.code(ordinal), withdrawn=not is_latest or ordinal not in named)
    context.update_status(sorted(before | named))


def _complete(context: FoldContext, incoming: IncomingRow, place: tuple[int, int], sequence: int) -> None:
    """Take a row of an earlier event, whose context this message completes; it may come before its event."""
    entry, state = incoming.entry, context.state
    event = entry.stream_sequence
    if not _is_first(context, entry.tenant_id, incoming.event_id, event, has_rows=True):
        return
    is_new = context.find(entry.tenant_id, entry.memory_id) is None
    ordinal = _arrive(context, incoming, place, sequence)
    if ordinal is not None and is_new:
        # `apply_due_actions` withdraws it when its event is answered without it
        state.provisional.setdefault(event, set()).add(ordinal)


def _arrive(context: FoldContext, incoming: IncomingRow, place: tuple[int, int], sequence: int) -> int | None:
    """Store a row unless it was erased, or a better version of it is there; returns its ordinal if stored."""
    entry, state, changes = incoming.entry, context.state, context.changes
    code, stream = _code(incoming), entry.stream_sequence
    if state.tombstones.is_erased(code, stream):
        return None
    if erased_at := state.tombstones.erased_at(incoming.memory_facts):
        state.tombstones.drop(incoming.memory_facts, erased_at)
        return None
    ordinal = context.find(entry.tenant_id, entry.memory_id)
    is_new = ordinal is None
    if ordinal is None:
        ordinal = state.ledger.add(entry)
        # no links yet; it tells the graph whose memory this is
        changes.links[ordinal] = []
        state.latest_derived["row", code] = sequence
    else:
        revision = state.ledger.sequences(ordinal)[1]
        if entry.revision_sequence < revision:
            return None
        is_later = state.is_newest("row", code, sequence)
        if entry.revision_sequence == revision and not is_later:
            return None
        state.latest_derived["row", code] = sequence
        state.ledger.revise(ordinal, entry)
    changes.arrive(ordinal, *place)
    _tie(context, ordinal)
    duplicates.index(context, ordinal, incoming, is_new=is_new)
    context.update_status([ordinal])
    return ordinal


def _tie(context: FoldContext, ordinal: int) -> None:
    """Tie a memory to the one it corrects and to those that correct it."""
    ledger = context.state.ledger
    _, corrected = ledger.corrected_by(ordinal)
    if corrected is not None:
        context.changes.relate(Relation(ordinal, corrected, "UPDATES", 1.0))
    for newer in ledger.corrections_of(ledger.code(ordinal)):
        context.changes.relate(Relation(newer, ordinal, "UPDATES", 1.0))


def _code(incoming: IncomingRow) -> int:
    return value_code(incoming.entry.tenant_id, "memory", incoming.entry.memory_id)
