"""Folding statements that a language model drew from turns: rows beside the verbatim memories.

A statements message is the complete result for one window of turns; of several messages for a window the
latest of HELIX_DERIVED counts. It waits until every event up to the end of its window is processed: then it
is known which publication of an event counts. A statement takes scope, audience, speaker, times and flags
from the stored verbatim memory, and its source class and confidence are never above that memory's. It is
hidden, superseded and erased with it (`follow_sources`). Forgetting or erasing a statement by its id reaches
its turn, because a recall shows the statement in place of the turn. So nothing depends on the order of
arrival, with one exception: an event that names a statement which arrives only later, in a rebuild, reaches
the turn later, so decisions in between still see the turn. An erased statement leaves no tombstone: a repeat
finds no verbatim memory, or an erasure that names it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from helix_consolidation.folding.incoming.rows import SOURCE_CLASSES, memory_columns, read_rows
from helix_consolidation.folding.memories import accept_model, store_row
from helix_consolidation.folding.removal import remove
from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.ledger.event_reach import NEVER
from helix_shared.artifacts.graph.snapshot import Link
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.ledger.event_reach import Actor, MemoryFacts
    from helix_shared.edges import Origin

INHERITED: Final = (
    "user_id", "project_id", "session_id", "acl", "shared", "speaker", "role", "event_kind", "categories",
    "created_at", "occurred_at", "expires_at", "flags",
)  # fmt: skip
"""Columns that a statement takes from its verbatim memory."""
LOWERED: Final = ("source_class", "confidence")
"""Columns in which a statement is not above its verbatim memory."""
_NAMING: Final = ("derived_from", "stream_sequence")


def fold_statements(context: FoldContext, origin: Origin, rows: pa.RecordBatch, sequence: int) -> None:
    """Fold one checked statements message of the derived `sequence`.

    Raises:
        IncompatibleError: its vectors come from another model than the generation's.
        TemporaryError: an event of its window, or before it, is not processed yet.
    """
    state, window = context.state, origin.event_sequence
    if state.applied.floor < window:
        raise TemporaryError(f"statements up to event {window} came before an earlier event is processed")
    accept_model(state, origin, rows)
    if not state.is_latest("statements", window, sequence):
        return
    found = [_source(context, origin.tenant_id, row) for row in rows.select(_NAMING).to_pylist()]
    named = _store(context, rows, found, sequence)
    others = state.extracted.of_window(window) - named
    # one that this batch erased stays in the index until the batch ends
    remove(context, (ordinal for ordinal in others if state.ledger.is_there(ordinal)))


def follow_sources(context: FoldContext) -> None:
    """Give statements the status of the memories they were drawn from, and erase those whose memory is gone.

    Runs at the end of every batch, for the statements that the batch touched in either way.
    """
    state, changes = context.state, context.changes
    index = state.extracted
    remove(context, index.of_sources(changes.erased) - changes.erased)
    for ordinal in changes.erased:
        index.remove(ordinal)
    touched = sorted(index.of_sources(changes.reindexed) | index.among(changes.reindexed))
    update_status(context, touched)
    for ordinal in touched:
        _follow(context, ordinal)


def _follow(context: FoldContext, ordinal: int) -> None:
    """Hide a statement for as long as the memory it was drawn from is hidden."""
    ledger, source = context.state.ledger, context.state.extracted.source_of(ordinal)
    if source is None or not ledger.is_there(source):
        return
    own, its = ledger.status(ordinal), ledger.status(source)
    status = replace(
        own,
        superseded_by=own.superseded_by or its.superseded_by,
        is_latest=own.is_latest and its.is_latest,
        deleted_at=own.deleted_at if own.deleted_at != NEVER else its.deleted_at,
        is_hidden=own.is_hidden or its.is_hidden,
        closed_at=own.closed_at if own.closed_at != NEVER else its.closed_at,
    )
    if status != own:
        ledger.record_status(ordinal, status)
        context.changes.reindex(ordinal)


def _source(context: FoldContext, tenant_id: str, row: Mapping[str, Any]) -> int | None:
    """Ordinal of the verbatim memory of a row; None where the publication of the event has none."""
    ordinal = context.find(tenant_id, row["derived_from"])
    is_own = ordinal is not None and context.state.ledger.sequences(ordinal)[0] == row["stream_sequence"]
    return ordinal if is_own else None


def _store(context: FoldContext, rows: pa.RecordBatch, sources: list[int | None], sequence: int) -> set[int]:
    """Store the rows whose source is there; returns the ordinals of all that this message names."""
    state, changes, named = context.state, context.changes, set[int]()
    complete = _inheriting(context, memory_columns(rows), sources)
    changes.batches.append(complete)
    batch = len(changes.batches) - 1
    added = rows.select(["expansions", "links"]).to_pylist()
    for number, (row, source) in enumerate(zip(read_rows(complete), sources, strict=True)):
        if source is None or not state.ledger.is_there(source):
            continue
        _reach_source(context, row.facts, source)
        if erased_at := state.tombstones.erased_at(row.facts):
            remove(context, [source], erased_at=erased_at)
            continue
        ordinal = store_row(context, row, (batch, number), sequence)
        if ordinal is None:
            continue
        named.add(ordinal)
        state.extracted.add(ordinal, source, row.entry.revision_sequence)
        changes.set_expansions(ordinal, added[number]["expansions"])
        changes.set_links(ordinal, [Link(**link) for link in added[number]["links"]])
    return named


def _reach_source(context: FoldContext, statement: MemoryFacts, source: int) -> None:
    """Let what named a statement before it arrived reach the memory that it was drawn from.

    `lifecycle` does the same where the statement is there first.
    """
    tombstones, facts = context.state.tombstones, context.state.ledger.memory_facts(source)
    forgotten = tombstones.forgotten.get(facts.memory, {})
    for code, record in list(tombstones.forgotten.get(statement.memory, {}).items()):
        is_later = code not in forgotten or forgotten[code].sequence < record.sequence
        if is_later and _reaches(tombstones.actors[code], record.sequence, facts):
            tombstones.record_forget(facts.memory, tombstones.actors[code], record)
            update_status(context, [source])
    erased = tombstones.erased.get(facts.memory, {})
    for code, sequence in list(tombstones.erased.get(statement.memory, {}).items()):
        if erased.get(code, 0) < sequence and _reaches(tombstones.actors[code], sequence, facts):
            tombstones.record_erasure(facts.memory, tombstones.actors[code], sequence)


def _reaches(actor: Actor, sequence: int, facts: MemoryFacts) -> bool:
    return sequence > facts.stream_sequence and actor.reaches(facts.visibility, facts.user)


def _inheriting(context: FoldContext, rows: pa.RecordBatch, sources: list[int | None]) -> pa.RecordBatch:
    """`rows` with the columns of their sources; a row without a source stays as it is."""
    columns = {name: rows[name].to_pylist() for name in (*INHERITED, *LOWERED)}
    for number, source in enumerate(sources):
        if source is None:
            continue
        its = context.values_of(source, (*INHERITED, *LOWERED))
        for name in INHERITED:
            columns[name][number] = its[name]
        columns["confidence"][number] = min(columns["confidence"][number], its["confidence"])
        columns["source_class"][number] = min(
            columns["source_class"][number], its["source_class"], key=SOURCE_CLASSES.index
        )
    arrays = [
        pa.array(columns[name], rows.schema.field(name).type) if name in columns else rows[name]
        for name in rows.schema.names
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)
