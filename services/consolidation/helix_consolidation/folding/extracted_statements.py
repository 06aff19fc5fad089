"""Folding extracted statements: rows that a language model derived from turns, beside verbatim memories.

A derived statement is made by the rules of ingest instead. A statements message is the complete result for
one window of turns; if a window has several messages, the latest of HELIX_DERIVED counts. It waits until
every event up to the end of its window is processed: then it is known which publication of an event counts. A
statement takes scope, audience, speaker, times and flags from the stored verbatim memory, and its source
class and confidence are never above that memory's. It is hidden and superseded with it
(`status.version_family`), and erased with it (`removal`). An event that names a statement reaches its turn,
because a recall shows the statement in place of the turn; which turn that is follows from the id
(`event_memories.turn_of`). So nothing depends on the order of arrival.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from helix_consolidation.folding.incoming.rows import memory_columns, read_rows
from helix_consolidation.folding.incoming.statements import statements_of
from helix_consolidation.folding.memories import accept_model, store_row
from helix_consolidation.folding.removal import remove_memories
from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.ledger.event_reach import value_code
from helix_memory.vocabulary.source_classes import least_trusted
from helix_shared.artifacts.graph.snapshot import Link
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.folding.incoming.rows import IncomingRow
    from helix_consolidation.statements.statement_row import StatementRow
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
        TemporaryError: an event of its window, or before it, is not processed yet, or a memory is awaited.
    """
    state, window = context.state, origin.event_sequence
    if state.applied.floor < window:
        raise TemporaryError(f"statements up to event {window} came before an earlier event is processed")
    naming = rows.select(_NAMING).to_pylist()
    if state.derived.floor < sequence - 1 and any(_is_awaited(context, origin, row) for row in naming):
        raise TemporaryError(f"statements up to event {window} came before the memories of a turn")
    accept_model(state, origin, rows)
    if not state.is_latest("statements", window, sequence):
        return
    found = [_source(context, origin.tenant_id, row) for row in naming]
    named = _store(context, rows, found, sequence)
    remove_memories(context, state.extracted.of_window(window) - named)


def _is_awaited(context: FoldContext, origin: Origin, row: Mapping[str, Any]) -> bool:
    """Whether the verbatim memory of a row may still arrive, in another message of its event."""
    tenant, source = origin.tenant_id, row["derived_from"]
    return context.find(tenant, source) is None and not _is_erased(context, tenant, row)


def _is_erased(context: FoldContext, tenant_id: str, row: Mapping[str, Any]) -> bool:
    code = value_code(tenant_id, "memory", row["derived_from"])
    return context.state.tombstones.is_erased(code, row["stream_sequence"])


def _source(context: FoldContext, tenant_id: str, row: Mapping[str, Any]) -> int | None:
    """Ordinal of the verbatim memory of a row; None where the publication of the event has none."""
    ordinal = context.find(tenant_id, row["derived_from"])
    if _is_erased(context, tenant_id, row):
        context.state.erasures.note_quoting_message()  # the statement says what the erased event said
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
        if erased_at := state.tombstones.erased_at(row.facts):
            remove_memories(context, [source], erased_at=erased_at)
            continue
        ordinal = store_row(context, row, (batch, number), sequence)
        if ordinal is None:
            continue
        named.add(ordinal)
        state.extracted.add(ordinal, source, row.entry.revision_sequence)
        state.extracted.touch(source)
        state.statements.replace(ordinal, _statement(complete, number, row, ordinal, sequence))
        update_status(context, [ordinal])
        changes.set_expansions(ordinal, added[number]["expansions"])
        changes.set_links(ordinal, [Link(**link) for link in added[number]["links"]])
    return named


def _statement(
    rows: pa.RecordBatch, number: int, row: IncomingRow, ordinal: int, derived: int
) -> StatementRow | None:
    """What decisions read of a statement; None if it states nothing."""
    found = statements_of(rows, [(number, ordinal)], sequence=row.entry.stream_sequence, derived=derived)
    return found[0] if found else None


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
        columns["source_class"][number] = least_trusted(columns["source_class"][number], its["source_class"])
    arrays = [
        pa.array(columns[name], rows.schema.field(name).type) if name in columns else rows[name]
        for name in rows.schema.names
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)
