"""Rows of the memories edge for a batch of generated memories: the base's columns, and what varies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from helix_lab.bench.generate.base_memories import CHAT, DOCUMENT, FACT, KINDS, Base
from helix_lab.bench.generate.layout import AUDIENCES, NOBODY, Layout
from helix_lab.bench.generate.variant_vectors import Noise, moved
from helix_lab.bench.generate.variants import Varied
from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_shared.edges import memories_schema
from helix_shared.identity import memory_id

if TYPE_CHECKING:
    from numpy.typing import NDArray

FACT_TYPES: Final = ("semantic", "procedural", "decision", "episodic")
"""Memory types of facts, by turns; turns and code keep the type that ingest gave their base."""
REFERENCES: Final = ("answers", "answered_by", "derived_from")
"""Columns that name another memory of the session."""

_TIME: Final = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class EdgeSource:
    """What the rows of every batch are made from."""

    base: Base
    layout: Layout
    noise: Noise
    sequences: NDArray[np.int64]
    """Sequence of the event of each memory."""
    pieces: NDArray[np.int32]
    """Number of each memory among those of its event."""
    seed: int

    def event_of(self, sequence: int) -> str:
        """Id of the event at `sequence`."""
        return f"{self.seed}-{sequence}"

    def id_of(self, ordinal: int) -> str:
        """Id of the memory at `ordinal`."""
        event = self.event_of(int(self.sequences[ordinal]))
        tenant = self.layout.tenants[self.layout.tenant[ordinal]]
        return memory_id(tenant, event, int(self.pieces[ordinal]))

    @cached_property
    def positions(self) -> dict[str, int]:
        """Rows of the base by id."""
        return {known: row for row, known in enumerate(self.base.rows["memory_id"].to_pylist())}


def batch_seed(seed: int, start: int) -> int:
    """Seed of the batch that begins with memory `start`."""
    return seed * 1_000_003 + start


def events_of(layout: Layout) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Sequence of each memory's event, and its number within a document, which is one event."""
    document = layout.kind == KINDS.index(DOCUMENT)
    begins = ~document | (layout.position == 0)
    return np.cumsum(begins).astype(np.int64), np.where(document, layout.position, 0).astype(np.int32)


def edge_rows(source: EdgeSource, start: int, varied: Varied) -> pa.Table:
    """Rows of the memories edge: a column that does not vary is its base's."""
    part = slice(start, start + len(varied.texts))
    layout = source.layout
    rows = source.base.rows.take(pa.array(layout.base[part]))
    vectors = moved(
        source.noise, layout.base[part], layout.session[part], seed=batch_seed(source.seed, start)
    )
    times = layout.occurred_at[part]
    shift = pa.array(times - rows["occurred_at"].cast(pa.int64()).to_numpy())
    columns: dict[str, Any] = {
        **_scopes(source, part),
        **{name: referred(source, part, name) for name in REFERENCES},
        "text": varied.texts,
        "title": varied.titles,
        "context": varied.contexts,
        # the sentences of the base are not where they were
        "facet_spans": [
            [0, len(text)] * len(facets)
            for text, facets in zip(varied.texts, rows["facets"].to_pylist(), strict=True)
        ],
        "content_hash": varied.content_hashes,
        "minhash": varied.minhashes,
        "occurred_at": pa.array(times).cast(_TIME),
        "created_at": pa.array(times + 1_000_000).cast(_TIME),
        "event_start": _shifted(rows["event_start"], shift),
        "event_end": _shifted(rows["event_end"], shift),
        "type": _types(rows["type"].to_pylist(), layout.kind[part]),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]),
    }
    schema = memories_schema(vectors.shape[1])
    return pa.table(
        [
            _column(columns[name], kind) if name in columns else rows[name].cast(kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ],
        schema=schema,
    )


def _column(values: Any, kind: pa.DataType) -> Any:
    return values.cast(kind) if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, kind)


def _scopes(source: EdgeSource, part: slice) -> dict[str, Any]:
    """Scope, origin and audience of each memory."""
    layout = source.layout
    sequences, pieces = source.sequences[part].tolist(), source.pieces[part].tolist()
    tenants = [layout.tenants[code] for code in layout.tenant[part].tolist()]
    events = [source.event_of(sequence) for sequence in sequences]
    sessions = layout.session[part].tolist()
    kinds = [KINDS[kind] for kind in layout.kind[part].tolist()]
    audiences = layout.audience[part].tolist()
    return {
        "memory_id": [source.id_of(ordinal) for ordinal in range(part.start, part.start + len(tenants))],
        "tenant_id": tenants,
        "user_id": [f"user-{user:02d}" for user in layout.user[part].tolist()],
        "project_id": [f"project-{project}" for project in layout.project[part].tolist()],
        "session_id": [
            "" if kind == DOCUMENT else f"s{session}" for kind, session in zip(kinds, sessions, strict=True)
        ],
        "document_id": [
            f"d{session}" if kind == DOCUMENT else "" for kind, session in zip(kinds, sessions, strict=True)
        ],
        "acl": [[] if audience == NOBODY else [AUDIENCES[audience]] for audience in audiences],
        "shared": (~layout.private[part]).tolist(),
        "event_id": events,
        "event_kind": [_event_kind(kind) for kind in kinds],
        "stream_sequence": sequences,
        "revision_sequence": sequences,
        "piece": pieces,
    }


def referred(source: EdgeSource, part: slice, column: str) -> list[str]:
    """Ids of the memories to which a column refers; empty where the session does not hold that memory."""
    layout, found = source.layout, []
    for ordinal, named in enumerate(
        source.base.rows[column].take(pa.array(layout.base[part])).to_pylist(), part.start
    ):
        there = source.positions.get(named, -1)
        target = ordinal + there - int(layout.base[ordinal])
        is_there = (
            there >= 0
            and 0 <= target < len(layout)
            and layout.session[target] == layout.session[ordinal]
            and layout.base[target] == there
        )
        found.append(source.id_of(target) if is_there else "")
    return found


def _event_kind(kind: str) -> str:
    return {CHAT: "message", DOCUMENT: "document"}.get(kind, "memory")


def _types(found: list[str], kinds: NDArray[np.int8]) -> list[str]:
    fact = KINDS.index(FACT)
    return [
        FACT_TYPES[row % len(FACT_TYPES)] if kind == fact or name not in MEMORY_TYPES else name
        for row, (name, kind) in enumerate(zip(found, kinds.tolist(), strict=True))
    ]


def _shifted(times: pa.ChunkedArray, shift: pa.Array) -> Any:
    """Times of the base, moved with their text; missing times stay missing."""
    moment = times.combine_chunks().cast(pa.int64())
    known = moment.is_valid()
    moved_to = moment.fill_null(0).to_numpy() + shift.to_numpy()
    return pa.array(moved_to, mask=~known.to_numpy(zero_copy_only=False)).cast(_TIME)
