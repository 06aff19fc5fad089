"""Reading a memories message: its rows are checked and turned into what the ledger and the indexes need.

A message is applied whole or refused whole. The tenant of every row must be the tenant of the message; this
is checked here once, for all stores.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from helix_consolidation.folding.incoming.codes import content_code, group_code
from helix_consolidation.ledger.consolidation_state import Model
from helix_consolidation.ledger.event_reach import (
    NO_TIME,
    TENANT,
    Actor,
    MemoryFacts,
    actor_of,
    value_code,
    visibility_of,
)
from helix_consolidation.ledger.facts import LedgerEntry
from helix_consolidation.ledger.minhash_bands import signatures_of
from helix_consolidation.ledger.usage_facts import may_decay
from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_memory.vocabulary.source_classes import SOURCE_CLASSES
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS
from helix_shared.audience import audience_of, owner_of
from helix_shared.edges import (
    FIRST_STATEMENT_PIECE,
    TOKEN_CODE_BYTES,
    Origin,
    check_schema,
    memories_schema,
    statements_schema,
)
from helix_shared.errors import PermanentError
from helix_shared.identity import MEMORY_ID_PATTERN, MOST_STATEMENTS, statement_id
from helix_shared.pairs import verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_READ: Final = (
    "memory_id",
    "tenant_id",
    "piece",
    "event_id",
    "stream_sequence",
    "revision_sequence",
    "session_id",
    "document_id",
    "user_id",
    "acl",
    "shared",
    "type",
    "content_hash",
    "minhash",
    "expires_at",
    "corrects",
    "derived_from",
    "created_at",
    "salience",
    "quotes",
)

_TIMES: Final = (
    "created_at", "occurred_at", "valid_from", "valid_to", "expires_at", "event_start", "event_end",
)  # fmt: skip
_CALENDAR: Final = 253_000_000_000 * 1_000_000
"""Bound of times in microseconds around 1970: about the years 1 to 9987, which `datetime` can hold."""
_HASH: Final = re.compile(r"^[0-9a-f]{32}$")


@dataclass(frozen=True, slots=True)
class IncomingRow:
    """One row of a memories message."""

    entry: LedgerEntry
    facts: MemoryFacts
    event_id: str
    group: int
    content: int
    signature: NDArray[np.uint32]
    derived_from: str = ""
    """Id of the verbatim memory beside which this statement stands."""
    quotes: tuple[str, ...] = ()
    """Ids of the other events whose text may be in it."""


def check_memories(origin: Origin, rows: pa.RecordBatch) -> None:
    """Refuse a message whose rows could not be stored as they are.

    Raises:
        IncompatibleError: another schema.
        PermanentError: another tenant, a malformed id, or a value out of range.
    """
    check_schema(origin, rows.schema, memories_schema(_dimensions_of(rows)))
    columns = zip(rows.schema, rows.columns, strict=True)
    lacking = [field.name for field, column in columns if not field.nullable and column.null_count]
    if lacking:
        raise PermanentError(f"memories message has rows without a value for {', '.join(lacking)[:120]}")
    if set(rows["tenant_id"].unique().to_pylist()) - {origin.tenant_id}:
        raise PermanentError(f"memories message of tenant {origin.tenant_id} holds rows of another tenant")
    if not all(MEMORY_ID_PATTERN.match(memory_id) for memory_id in rows["memory_id"].to_pylist()):
        raise PermanentError("memories message holds a malformed memory id; ids are 32 hexadecimal digits")
    if not np.isfinite(rows["vector"].flatten().to_numpy(zero_copy_only=False)).all():
        raise PermanentError("memories message holds a vector that is not finite")
    _check_values(origin, rows)


def check_verdicts(origin: Origin, rows: pa.RecordBatch) -> None:
    """Refuse a message with another schema or a verdict that there is not.

    Raises:
        IncompatibleError: another schema.
        PermanentError: an unknown verdict.
    """
    check_schema(origin, rows.schema, verdicts.SCHEMA)
    if set(rows["verdict"].to_pylist()) - {verdicts.NO_VERDICT, *verdicts.VERDICTS}:
        raise PermanentError("verdicts message holds an unknown verdict")


def check_statements(origin: Origin, rows: pa.RecordBatch) -> None:
    """Refuse a statements message whose rows could not be stored as they are.

    Raises:
        IncompatibleError: another schema.
        PermanentError: as `check_memories`; or a row that no turn can have given, or a malformed link.
    """
    check_schema(origin, rows.schema, statements_schema(_dimensions_of(rows)))
    check_memories(origin, memory_columns(rows))
    links = rows["links"].flatten()
    check_links(links.field("edge"), links.field("weight"))
    if (rows["piece"].to_numpy() < FIRST_STATEMENT_PIECE).any():
        raise PermanentError("statements message holds the piece of a verbatim memory")
    if not all(MEMORY_ID_PATTERN.match(source) for source in rows["derived_from"].to_pylist()):
        raise PermanentError("statements message holds a row that names no verbatim memory")
    if not all(map(_is_statement_id, *(rows[name].to_pylist() for name in _NAMING_A_STATEMENT))):
        raise PermanentError("statements message holds an id that does not follow from its verbatim memory")
    if any(rows["corrects"].to_pylist()) or set(rows["source_class"].to_pylist()) - set(SOURCE_CLASSES):
        raise PermanentError("statements message holds a correction or an unknown source class")


_NAMING_A_STATEMENT: Final = ("memory_id", "derived_from", "piece")


def _is_statement_id(memory_id: str, source: str, piece: int) -> bool:
    number = piece - FIRST_STATEMENT_PIECE
    return number < MOST_STATEMENTS and memory_id == statement_id(source, number)


def memory_columns(rows: pa.RecordBatch) -> pa.RecordBatch:
    """A statements message without its expansions and links: rows of the memories edge."""
    return rows.select([name for name in rows.schema.names if name not in ("expansions", "links")])


def check_links(kinds: pa.Array, weights: pa.Array) -> None:
    """Refuse unknown edge types and weights that are not above 0.

    Raises:
        PermanentError: there is one.
    """
    unknown = set(kinds.unique().to_pylist()) - set(EDGE_KINDS)
    if unknown:
        raise PermanentError(f"message has links of unknown edge types: {', '.join(sorted(unknown))}")
    values = weights.to_numpy(zero_copy_only=False)
    if not (np.isfinite(values) & (values > 0)).all():
        raise PermanentError("message has a link with a weight that is not above 0")


def _check_values(origin: Origin, rows: pa.RecordBatch) -> None:
    """Check what the schema cannot express."""
    # a message of an event published again holds its own row and the completed earlier one under one id
    ids = [*zip(rows["memory_id"].to_pylist(), rows["stream_sequence"].to_pylist(), strict=True)]
    sequences = rows["revision_sequence"].to_pylist()
    numbers = [rows[name].to_numpy() for name in ("salience", "confidence", "priority")]
    # a view costs a tenth of a cast
    times = [rows[name].view(pa.int64()).drop_null().to_numpy() for name in _TIMES]
    rules = {
        "an id twice": len(set(ids)) == len(ids),
        "a content hash that is no hash": all(map(_HASH.match, rows["content_hash"].to_pylist())),
        "an unknown type": set(rows["type"].to_pylist()) <= set(MEMORY_TYPES),
        "a number that is not finite": all(np.isfinite(values).all() for values in numbers),
        "a negative piece": not (rows["piece"].to_numpy() < 0).any(),
        "half a token code": not (pc.binary_length(rows["token_codes"]).to_numpy() % TOKEN_CODE_BYTES).any(),
        "a time outside the calendar": all((abs(values) < _CALENDAR).all() for values in times),
        "a row of another event": set(sequences) <= {origin.event_sequence}
        and all(sequence <= origin.event_sequence for sequence in rows["stream_sequence"].to_pylist()),
    }
    broken = [rule for rule, holds in rules.items() if not holds]
    if broken:
        raise PermanentError(f"memories message holds {', '.join(broken)}")


def model_of(origin: Origin, rows: pa.RecordBatch) -> Model | None:
    """The model of a memories message; one without rows may name it in its origin.

    Raises:
        PermanentError: its rows come from several models.
    """
    names = rows["model"].unique().to_pylist() or ([origin.model] if origin.model else [])
    if len(names) > 1:
        raise PermanentError(f"memories message mixes the models {', '.join(sorted(names))}")
    if not names:
        return None
    name, _, checksum = names[0].rpartition("@")
    return Model(name, checksum, _dimensions_of(rows))


def publishing_actor(origin: Origin, rows: pa.RecordBatch) -> Actor:
    """The user and principals for whom an event acts, from `rows` as received, before they are completed."""
    sequences = rows["stream_sequence"].to_pylist()
    if origin.event_sequence not in sequences:
        return TENANT
    row = sequences.index(origin.event_sequence)
    return actor_of(origin.tenant_id, rows["user_id"][row].as_py(), rows["acl"][row].as_py())


def read_rows(rows: pa.RecordBatch) -> list[IncomingRow]:
    """The rows of a checked message, in order."""
    decaying = may_decay(rows).tolist()
    values = [row | {"may_decay": one} for row, one in zip(plain_rows(rows, _READ), decaying, strict=True)]
    signatures = signatures_of([value["minhash"] for value in values])
    return [_row(value, signature) for value, signature in zip(values, signatures, strict=True)]


def plain_rows(rows: pa.RecordBatch, names: Sequence[str]) -> list[dict[str, Any]]:
    """The values of the columns `names` of each row; times in microseconds."""
    columns = [rows[name].view(pa.int64()) if name in _TIMES else rows[name] for name in names]
    values = zip(*(column.to_pylist() for column in columns), strict=True)
    return [dict(zip(names, row, strict=True)) for row in values]


def _dimensions_of(rows: pa.RecordBatch) -> int:
    """Length of the vectors of a memories message; 0 when it has no vector column."""
    found = rows.schema.field("vector").type if "vector" in rows.schema.names else None
    return int(found.list_size) if isinstance(found, pa.FixedSizeListType) else 0


def _row(values: dict[str, Any], signature: NDArray[np.uint32]) -> IncomingRow:
    tenant = values["tenant_id"]
    owner, audience = owner_of(values["user_id"], shared=values["shared"]), audience_of(values["acl"])
    # an extracted statement follows its source by `ledger.extracted_index`
    source = values["derived_from"] if values["piece"] < FIRST_STATEMENT_PIECE else ""
    entry = LedgerEntry(
        memory_id=values["memory_id"],
        tenant_id=tenant,
        piece=values["piece"],
        stream_sequence=values["stream_sequence"],
        revision_sequence=values["revision_sequence"],
        session=value_code(tenant, "session", values["session_id"]),
        document=value_code(tenant, "document", values["document_id"]),
        user=value_code(tenant, "user", values["user_id"]),
        expires_at=NO_TIME if values["expires_at"] is None else values["expires_at"],
        corrects=values["corrects"],
        visibility=visibility_of(tenant, owner, audience),
        created_at=values["created_at"],
        salience=values["salience"],
        may_decay=values["may_decay"],
        source=source,
    )
    facts = MemoryFacts(
        stream_sequence=entry.stream_sequence,
        memory=value_code(tenant, "memory", entry.memory_id),
        session=entry.session,
        document=entry.document,
        user=entry.user,
        visibility=entry.visibility,
        expires_at=entry.expires_at,
        source=value_code(tenant, "memory", source),
    )
    group = group_code(tenant, owner, values["type"], audience, derived_from=values["derived_from"])
    content = content_code(values["content_hash"])
    named = values["derived_from"], tuple(values["quotes"])
    return IncomingRow(entry, facts, values["event_id"], group, content, signature, *named)
