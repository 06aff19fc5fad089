"""Folding a memories message: which of its rows count, what they replace, correct and repeat.

The rule for one memory id: the lowest stream sequence wins, and among equal ones the highest
revision sequence (its context was completed later). A message whose event was published before
under a lower sequence is dropped whole: the first answer stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.arrivals import Arrival, model_of, read_arrivals
from helix_consolidation.changes import Relation
from helix_consolidation.corrections import completed
from helix_consolidation.tombstones import Correction, scope_code
from helix_shared.errors import IncompatibleError, PermanentError, TemporaryError

if TYPE_CHECKING:
    import pyarrow as pa

    from helix_consolidation.folding import Folding, Known
    from helix_consolidation.relate import Neighbour
    from helix_shared.edges import Origin


def fold_memories(folding: Folding, origin: Origin, rows: pa.RecordBatch) -> None:
    """Fold one checked message.

    Raises:
        IncompatibleError: its vectors come from another model than the generation's.
        PermanentError: it corrects a memory that is not there or that others may see.
        TemporaryError: it corrects a memory, and an earlier event is not answered yet.
    """
    rows = completed(folding, origin, rows)
    arrivals = read_arrivals(rows)
    for arrival in arrivals:
        _check_correction(folding, arrival)
    _accept_model(folding.known, origin, rows)
    if _is_published_again(folding.known, origin, arrivals):
        return
    if origin.replaces_document:
        document = scope_code(origin.tenant_id, "document", origin.replaces_document)
        folding.known.tombstones.replace(document, origin.event_sequence)
        older = folding.known.ledger.selected("document", document, before=origin.event_sequence)
        folding.restand(older)
    folding.changes.batches.append(rows)
    for row, arrival in enumerate(arrivals):
        _arrive(folding, arrival, len(folding.changes.batches) - 1, row)


def _check_correction(folding: Folding, arrival: Arrival) -> None:
    """A next version is seen by those who saw the one before: a forgotten scope must not become a leak."""
    entry, known = arrival.entry, folding.known
    if not entry.corrects or _was_accepted(folding, arrival):
        return
    if known.applied.floor < entry.stream_sequence - 1:
        raise TemporaryError(f"memory {entry.corrects} may still be on its way")
    old = folding.find(entry.tenant_id, entry.corrects)
    if old is None or known.ledger.sequences(old)[0] >= entry.stream_sequence:
        raise PermanentError(
            f"memory_id: there was no memory {entry.corrects} when this event was published; "
            "correct an id that a recall returned"
        )
    if known.ledger.visibility(old) != entry.visibility:
        raise PermanentError(
            f"correction of {entry.corrects} would change who may see it; "
            "leave out user_id, acl and shared, or repeat those of the event that made it"
        )


def _was_accepted(folding: Folding, arrival: Arrival) -> bool:
    """Whether the same publication of a correction was applied before; its target may be gone since."""
    entry = arrival.entry
    ordinal = folding.find(entry.tenant_id, entry.memory_id)
    return ordinal is not None and folding.known.ledger.sequences(ordinal)[0] == entry.stream_sequence


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


def _is_published_again(known: Known, origin: Origin, arrivals: list[Arrival]) -> bool:
    for entry in (arrival.entry for arrival in arrivals):
        if entry.stream_sequence == origin.event_sequence:
            ordinal = known.ledger.find(entry.memory_id)
            if ordinal is not None and known.ledger.sequences(ordinal)[0] < entry.stream_sequence:
                return True
    if not origin.replaces_document:
        return False
    # the deletion of a document has no row to be recognised by
    event = scope_code(origin.tenant_id, "event", origin.event_id)
    return known.tombstones.is_repeat(event, origin.event_sequence)


def _arrive(folding: Folding, arrival: Arrival, batch: int, row: int) -> None:
    entry, known, changes = arrival.entry, folding.known, folding.changes
    code = scope_code(entry.tenant_id, "memory", entry.memory_id)
    scopes = (entry.session, entry.document, entry.user)
    if known.tombstones.is_erased(code, scopes, entry.stream_sequence):
        known.tombstones.dropped.add(code)
        return
    ordinal = known.ledger.find(entry.memory_id)
    if ordinal is None:
        ordinal = known.ledger.add(entry)
        # no links yet; it tells the graph whose memory this is
        changes.links[ordinal] = []
    elif not _supersedes(folding, arrival, ordinal, batch, row):
        return
    changes.arrive(ordinal, batch, row)
    if usage := known.tombstones.awaited.pop(code, None):
        changes.use(ordinal, usage)
    _correct(folding, arrival, ordinal, code)
    neighbours = known.near.add(ordinal, arrival.group, arrival.content, arrival.signature)
    _relate(folding, ordinal, neighbours)
    folding.restand([ordinal])


def _supersedes(folding: Folding, arrival: Arrival, ordinal: int, batch: int, row: int) -> bool:
    """Whether the row is another, earlier version; a mere revision is taken over here."""
    entry, ledger = arrival.entry, folding.known.ledger
    stream, revision = ledger.sequences(ordinal)
    if entry.stream_sequence == stream and entry.revision_sequence > revision:
        ledger.revise(ordinal, entry.revision_sequence)
        folding.changes.arrive(ordinal, batch, row)
    if entry.stream_sequence >= stream:
        return False
    folding.unrepeat([ordinal])
    ledger.replace(ordinal, entry)
    folding.changes.strip(ordinal)
    return True


def _correct(folding: Folding, arrival: Arrival, ordinal: int, code: int) -> None:
    """Tie a memory to the one it corrects and to those that correct it, whichever came first."""
    entry, ledger, tombstones = arrival.entry, folding.known.ledger, folding.known.tombstones
    if entry.corrects:
        corrected = scope_code(entry.tenant_id, "memory", entry.corrects)
        tombstones.correct(corrected, Correction(entry.stream_sequence, entry.piece, entry.memory_id))
        old = folding.find(entry.tenant_id, entry.corrects)
        if old is not None:
            folding.changes.relate(Relation(ordinal, old, "UPDATES", 1.0))
            folding.restand([old])
        folding.restand(ledger.next_versions_of(entry.corrects, entry.tenant_id))
    if code in tombstones.corrections:
        for newer in ledger.next_versions_of(entry.memory_id, entry.tenant_id):
            folding.changes.relate(Relation(newer, ordinal, "UPDATES", 1.0))


def _relate(folding: Folding, ordinal: int, neighbours: list[Neighbour]) -> None:
    """A memory repeats its earliest near-duplicate, whichever of them arrived first."""
    ledger, order = folding.known.ledger, folding.known.ledger.order
    earlier = [n for n in neighbours if order(n.ordinal) < order(ordinal)]
    if earlier:
        first = min(earlier, key=lambda n: order(n.ordinal))
        folding.repeats(ordinal, first.ordinal, first.jaccard)
    for later in neighbours:
        if order(later.ordinal) > order(ordinal):
            known = ledger.duplicate_of(later.ordinal)
            if known is None or order(known) > order(ordinal):
                folding.repeats(later.ordinal, ordinal, later.jaccard)
