"""Folding a memories message: which of its rows count, what they replace, correct and repeat.

Of an event that was published several times the lowest sequence with memories counts; the others are dropped
whole. Of several answers to that publication the latest of HELIX_DERIVED says which memories there are; one
that it does not hold any more is withdrawn, not removed. Of one memory the highest revision counts (its
context was completed later), then the latest answer. So what is stored follows from the set of messages, not
from their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding import repeats
from helix_consolidation.folding.arrivals import Arrival, event_scope, model_of, read_arrivals
from helix_consolidation.folding.changes import Relation
from helix_consolidation.folding.corrections import completed
from helix_consolidation.folding.lifecycle import cancel_replacement, fold_act, replacement_of
from helix_consolidation.folding.pieces import first_sequence, later_pieces, pieces_of
from helix_consolidation.ledger.reach import Visibility, reaches, scope_code
from helix_shared.errors import IncompatibleError, PermanentError, TemporaryError

if TYPE_CHECKING:
    import pyarrow as pa

    from helix_consolidation.folding.folding import Folding, Known
    from helix_consolidation.ledger.reach import Scope
    from helix_shared.edges import Origin


def fold_memories(folding: Folding, origin: Origin, rows: pa.RecordBatch, sequence: int) -> None:
    """Fold one checked message of the derived `sequence`.

    Raises:
        IncompatibleError: its vectors come from another model than the generation's.
        PermanentError: it corrects a memory that is not there, is out of reach, or that others may see.
        TemporaryError: it corrects a memory, and an earlier event is not answered yet.
    """
    scope = event_scope(origin, rows)
    rows = completed(folding, origin, rows)
    arrivals = read_arrivals(rows)
    for arrival in arrivals:
        _check_correction(folding, arrival, scope)
    _accept_model(folding.known, origin, rows)
    folding.changes.batches.append(rows)
    batch, event = len(folding.changes.batches) - 1, origin.event_sequence
    placed = [(arrival, (batch, row)) for row, arrival in enumerate(arrivals)]
    own = [(arrival, place) for arrival, place in placed if arrival.entry.stream_sequence == event]
    is_overtaken = any(_is_of_earlier_publication(folding, arrival) for arrival, _ in own)
    if not is_overtaken and _is_first(folding, origin.tenant_id, origin.event_id, event, has_rows=bool(own)):
        if origin.replaces_document:
            fold_act(folding, replacement_of(origin))
        _answer(folding, origin, own, sequence)
    else:
        folding.remove(folding.known.provisional.get(event, ()))
    folding.known.provisional.pop(event, None)
    for arrival, place in placed:
        if arrival.entry.stream_sequence != event:
            _complete(folding, arrival, place, sequence)


def _check_correction(folding: Folding, arrival: Arrival, scope: Scope) -> None:
    """A correction reaches what its scope could recall, and is seen by those who saw the version before."""
    entry, known = arrival.entry, folding.known
    if not entry.corrects or _was_accepted(folding, arrival):
        return
    if known.applied.floor < entry.stream_sequence - 1:
        raise TemporaryError(f"memory {entry.corrects} may still be on its way")
    old = _visibility_before(folding, arrival)
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


def _visibility_before(folding: Folding, arrival: Arrival) -> Visibility | None:
    """Who may recall what a correction corrects; None: it was not there before it, or is erased."""
    entry, known = arrival.entry, folding.known
    ordinal = folding.find(entry.tenant_id, entry.corrects)
    if ordinal is None or known.ledger.sequences(ordinal)[0] >= entry.stream_sequence:
        return None
    return known.ledger.visibility(ordinal)


def _was_accepted(folding: Folding, arrival: Arrival) -> bool:
    """Whether an answer to the same publication of a correction was applied before."""
    known, entry = folding.known, arrival.entry
    ordinal = folding.find(entry.tenant_id, entry.memory_id)
    if ordinal is None:
        dropped = known.tombstones.dropped.get(_code(arrival))
        return dropped is not None and dropped.sequence == entry.stream_sequence
    return known.ledger.sequences(ordinal)[0] == entry.stream_sequence


def _accept_model(known: Known, origin: Origin, rows: pa.RecordBatch) -> None:
    model = model_of(origin, rows)
    if model is None:
        return
    if known.model is None:
        known.model = model
    elif known.model != model and rows.num_rows:
        raise IncompatibleError(
            f"vectors of {model} do not fit the generation's {known.model}; "
            "give ingest that model again, or rebuild with the other"
        )


def _is_first(folding: Folding, tenant_id: str, event_id: str, event: int, *, has_rows: bool) -> bool:
    """Whether no lower publication of an event has memories; what a higher one has left goes."""
    known = folding.known
    first = first_sequence(known, tenant_id, event_id)
    if first is not None and first < event:
        return False
    if has_rows:
        cancel_replacement(folding, tenant_id, event_id, after=event)
        later = later_pieces(known, tenant_id, event_id, event)
        for code, ordinal in later:
            if ordinal is None:
                known.tombstones.allow(code)
        folding.remove((ordinal for _, ordinal in later if ordinal is not None))
    return True


def _is_of_earlier_publication(folding: Folding, arrival: Arrival) -> bool:
    """Whether the memory is there of a lower publication: completed by a later turn before its own answer."""
    ordinal = folding.find(arrival.entry.tenant_id, arrival.entry.memory_id)
    sequence = arrival.entry.stream_sequence
    return ordinal is not None and folding.known.ledger.sequences(ordinal)[0] < sequence


def _answer(
    folding: Folding, origin: Origin, own: list[tuple[Arrival, tuple[int, int]]], sequence: int
) -> None:
    """Take the memories an event's own answer holds, and withdraw those that the latest does not hold."""
    known, event = folding.known, origin.event_sequence
    is_latest = known.is_newest("memories", event, sequence)
    before = set(pieces_of(folding, origin.tenant_id, origin.event_id, event))
    for arrival, place in own:
        _arrive(folding, arrival, place, sequence)
    found = (folding.find(origin.tenant_id, arrival.entry.memory_id) for arrival, _ in own)
    named = {ordinal for ordinal in found if ordinal is not None}
    for ordinal in before | named if is_latest else named - before:
        known.tombstones.withdraw(known.ledger.code(ordinal), withdrawn=not is_latest or ordinal not in named)
    folding.restand(sorted(before | named))


def _complete(folding: Folding, arrival: Arrival, place: tuple[int, int], sequence: int) -> None:
    """Take a row of an earlier event, whose context this message completes; it may come before its event."""
    entry, known = arrival.entry, folding.known
    event = entry.stream_sequence
    if not _is_first(folding, entry.tenant_id, arrival.event_id, event, has_rows=True):
        return
    is_new = folding.find(entry.tenant_id, entry.memory_id) is None
    ordinal = _arrive(folding, arrival, place, sequence)
    if ordinal is not None and is_new:
        # `settle` withdraws it when its event is answered without it
        known.provisional.setdefault(event, set()).add(ordinal)


def _arrive(folding: Folding, arrival: Arrival, place: tuple[int, int], sequence: int) -> int | None:
    """Store a row unless it was erased, or a better version of it is there; returns its ordinal if stored."""
    entry, known, changes = arrival.entry, folding.known, folding.changes
    code, stream = _code(arrival), entry.stream_sequence
    if known.tombstones.is_dropped(code, stream):
        return None
    if erased_at := known.tombstones.erased_at(arrival.bearings):
        known.tombstones.drop(arrival.bearings, erased_at)
        return None
    ordinal = folding.find(entry.tenant_id, entry.memory_id)
    is_new = ordinal is None
    if ordinal is None:
        ordinal = known.ledger.add(entry)
        # no links yet; it tells the graph whose memory this is
        changes.links[ordinal] = []
        known.recent["row", code] = sequence
    else:
        revision = known.ledger.sequences(ordinal)[1]
        if entry.revision_sequence < revision:
            return None
        is_later = known.is_newest("row", code, sequence)
        if entry.revision_sequence == revision and not is_later:
            return None
        known.recent["row", code] = sequence
        known.ledger.revise(ordinal, entry)
    changes.arrive(ordinal, *place)
    _tie(folding, ordinal)
    repeats.index(folding, ordinal, arrival, is_new=is_new)
    folding.restand([ordinal])
    return ordinal


def _tie(folding: Folding, ordinal: int) -> None:
    """Tie a memory to the one it corrects and to those that correct it."""
    ledger = folding.known.ledger
    _, corrected = ledger.corrected_by(ordinal)
    if corrected is not None:
        folding.changes.relate(Relation(ordinal, corrected, "UPDATES", 1.0))
    for newer in ledger.corrections_of(ledger.code(ordinal)):
        folding.changes.relate(Relation(newer, ordinal, "UPDATES", 1.0))


def _code(arrival: Arrival) -> int:
    return scope_code(arrival.entry.tenant_id, "memory", arrival.entry.memory_id)
