"""Write changes to the stores: vectors, lexicon, signals, graph.

A failure here is not repaired: the process ends, the next one starts from the last generation, and everything
since is delivered again. So no half-applied batch can remain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from helix_consolidation.stores.rows import Additions, RecordFields, additions_of, records_of
from helix_shared.artifacts.lexicon.writer import entries_of
from helix_shared.artifacts.signals.columns import TOKEN_CODES, signals_of
from helix_shared.edges import memories_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_consolidation.folding.changes import Changes
    from helix_consolidation.ledger.ledger import Ledger
    from helix_shared.artifacts.generation.live_stores import Live

BATCH_ROWS: Final = 20_000
"""Rows that are read and written together, 17 KB each: an event may change all memories of a user."""


def write_changes(live: Live, ledger: Ledger, changes: Changes) -> None:
    """Write one batch; the stores then agree with the ledger, once the lexicon commits."""
    erased = sorted(changes.erased)
    _clear_expansions(live, changes)
    rewritten = sorted(changes.rewritten)
    for start in range(0, len(rewritten), BATCH_ROWS):
        records = _records(live, ledger, changes, rewritten[start : start + BATCH_ROWS])
        live.vectors.upsert(records)
        _write_lexicon(live, records, changes.reindexed)
        live.signals.append(*signals_of(records))
    _write_graph(live, ledger, changes)
    if erased:
        live.vectors.delete(erased)
        live.lexicon.delete(erased)
        live.signals.erase(np.array(erased, np.int64))


def _clear_expansions(live: Live, changes: Changes) -> None:
    """Rewrite the stored rows that lose their expansions; most rows without expansions never had any."""
    emptied = [
        ordinal
        for ordinal, expansions in changes.expansions.items()
        if not expansions and ordinal < changes.stored_before and ordinal not in changes.rewritten
    ]
    if emptied:
        stored = live.vectors.take(sorted(emptied), ["ordinal", "expansions"])
        had_some = stored.filter(pc.greater(pc.list_value_length(stored["expansions"]), 0))
        changes.rewritten.update(had_some["ordinal"].to_pylist())
        changes.reindexed.update(had_some["ordinal"].to_pylist())


def _write_lexicon(live: Live, records: pa.Table, reindexed: set[int]) -> None:
    chosen = records.filter(pa.array([o in reindexed for o in records["ordinal"].to_pylist()], pa.bool_()))
    live.lexicon.delete(chosen["ordinal"].to_pylist())
    live.lexicon.upsert(entries_of(chosen))


def _write_graph(live: Live, ledger: Ledger, changes: Changes) -> None:
    for ordinal in sorted(changes.links):
        links = changes.links[ordinal]
        if links or ordinal >= changes.stored_before or live.graph.has_links(ordinal):
            live.graph.set_links(ordinal, ledger.tenant_id(ordinal), links)
    for relation in changes.relations.values():
        if {relation.source, relation.target} & changes.erased:
            continue
        if relation.weight:
            live.graph.relate(relation.source, relation.target, relation.edge, relation.weight)
        else:
            live.graph.unrelate(relation.source, relation.target, relation.edge)
    # a row added and erased in one batch is in no store, and its ordinal may be beyond their size
    for ordinal in sorted(o for o in changes.erased if o < changes.stored_before):
        live.graph.remove(ordinal)


def _records(live: Live, ledger: Ledger, changes: Changes, rewritten: Sequence[int]) -> pa.Table:
    """Rewritten rows: replaced ones from their messages, the others from the table and the signals."""
    stored = [o for o in rewritten if o < changes.stored_before]
    old = live.vectors.take(stored)
    schema = memories_schema(old.schema.field("vector").type.list_size)
    arrived = [o for o in rewritten if o in changes.rows]
    kept = old.filter(pa.array([o not in changes.rows for o in old["ordinal"].to_pylist()], pa.bool_()))
    edge = pa.concat_tables(
        [_arrived_rows(changes, arrived, schema), _kept_rows(live, kept, schema)]
    ).combine_chunks()
    edge = _without_quotations(edge, [*arrived, *kept["ordinal"].to_pylist()], changes.blanked)
    carried = additions_of(old)
    fields = [
        _fields(ordinal, carried.get(ordinal, Additions()), ledger, changes)
        for ordinal in [*arrived, *kept["ordinal"].to_pylist()]
    ]
    return records_of(edge, fields)


def _arrived_rows(changes: Changes, ordinals: list[int], schema: pa.Schema) -> pa.Table:
    if not ordinals:
        return schema.empty_table()
    starts = np.cumsum([0, *(batch.num_rows for batch in changes.batches)])
    rows = [int(starts[batch]) + row for batch, row in (changes.rows[o] for o in ordinals)]
    batches = [batch.replace_schema_metadata(None) for batch in changes.batches]
    return pa.Table.from_batches(batches, schema=schema).take(rows)


def _kept_rows(live: Live, kept: pa.Table, schema: pa.Schema) -> pa.Table:
    codes = live.signals.token_codes(kept["ordinal"].to_numpy())
    whole = kept.append_column(TOKEN_CODES, pa.array(codes, pa.binary()))
    return whole.select(schema.names).cast(schema)


def _without_quotations(edge: pa.Table, ordinals: list[int], blanked: dict[int, list[str]]) -> pa.Table:
    """`edge` with the rows of `blanked` without a context, as no later turn had completed them."""
    if not blanked:
        return edge
    chosen = [ordinal in blanked for ordinal in ordinals]
    quotes = edge["quotes"].to_pylist()
    replaced: dict[str, Any] = {
        "context": pc.if_else(pa.array(chosen), "", edge["context"]),
        "revision_sequence": pc.if_else(pa.array(chosen), edge["stream_sequence"], edge["revision_sequence"]),
        "quotes": pa.array(
            [blanked.get(ordinal, own) for ordinal, own in zip(ordinals, quotes, strict=True)],
            edge.schema.field("quotes").type,
        ),
    }
    columns = {name: replaced.get(name, edge[name]) for name in edge.schema.names}
    return pa.table(columns, schema=edge.schema)


def _fields(ordinal: int, additions: Additions, ledger: Ledger, changes: Changes) -> RecordFields:
    if ordinal in changes.expansions:
        additions = replace(additions, expansions=tuple(changes.expansions[ordinal]))
    if ordinal in changes.usage:
        additions = additions.used(changes.usage[ordinal])
    earlier = ledger.duplicate_of(ordinal)
    return RecordFields(
        ordinal,
        additions,
        ledger.status(ordinal),
        "" if earlier is None else ledger.memory_id(earlier),
    )
