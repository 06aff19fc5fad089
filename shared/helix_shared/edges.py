"""The edges between workers: one Arrow schema per edge, its writer and its reader together.

| edge | from | to | one row is |
|---|---|---|---|
| memories   | ingest    | doc2query, kg, consolidation | a memory, whole |
| expansions | doc2query | consolidation                | the questions one memory answers |
| links      | kg        | consolidation                | one mention or relation of one memory |

A message is one Arrow IPC stream with one record batch; zero rows are a valid answer (the event
was read and nothing follows from it). `Origin` travels in the schema's metadata, so that even an
empty batch says which event it answers. Consolidation appends the rows as they are.

Another `EDGE_VERSION`, another schema, or a field of `Origin` that is not known here means a worker of
another release: `IncompatibleError`, the message is held; where the version is an older one (`OutdatedError`)
it can be derived again. A new value in a known column needs a new `EDGE_VERSION`; without one it is a broken
message.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

import pyarrow as pa

from helix_memory.subjects import EDGES
from helix_shared.errors import IncompatibleError, OutdatedError, PermanentError

EDGE_VERSION: Final = "4"
LARGEST_SEQUENCE: Final = 2**63
MINHASH_PERMUTATIONS: Final = 64
MINHASH_BYTES: Final = MINHASH_PERMUTATIONS * 4

_TIME = pa.timestamp("us", tz="UTC")
_NAMES = pa.list_(pa.string())


@dataclass(frozen=True, slots=True)
class Origin:
    """The event a batch answers."""

    edge: str
    tenant_id: str
    event_id: str
    event_kind: str
    event_sequence: int
    replaces_document: str = ""
    """Document id whose earlier pieces end with this event."""
    model: str = ""
    """Model of the worker, `name@checksum`; a writer without a generation learns it even from no rows."""
    keeps: tuple[str, ...] = ()
    """Columns of a correction that its event left open: the writer takes those of the corrected memory."""
    user_id: str = ""
    """With `acl`, for whom the event ends the pieces of a document; empty: for the tenant."""
    acl: tuple[str, ...] = ()
    is_deletion: bool = False
    """The document is gone; else this is its new version."""


_ORIGIN: Final = tuple(field.name for field in fields(Origin))


@functools.cache
def memories_schema(dimensions: int) -> pa.Schema:
    """Schema of the memories edge; `dimensions` is the length of a vector.

    Empty strings mean "not set"; times are UTC microseconds and null when unknown.
    """
    return pa.schema(
        [
            _required("memory_id", pa.string()),
            _required("tenant_id", pa.string()),
            _required("user_id", pa.string()),
            _required("project_id", pa.string()),
            _required("session_id", pa.string()),
            _required("acl", _NAMES),
            _required("shared", pa.bool_()),
            _required("type", pa.string()),
            _required("text", pa.string()),
            _required("title", pa.string()),
            # neighbouring turns, or the surrounding section: searched, never the memory itself
            _required("context", pa.string()),
            _required("speaker", pa.string()),
            _required("role", pa.string()),
            _required("event_id", pa.string()),
            _required("event_kind", pa.string()),
            # sequence of the event itself, and of the event that last completed the row's context
            _required("stream_sequence", pa.uint64()),
            _required("revision_sequence", pa.uint64()),
            _required("document_id", pa.string()),
            _required("source_uri", pa.string()),
            _required("piece", pa.int32()),
            _required("char_start", pa.int32()),
            _required("char_end", pa.int32()),
            _required("content_hash", pa.string()),
            # MINHASH_PERMUTATIONS little-endian uint32
            _required("minhash", pa.binary(MINHASH_BYTES)),
            _required("token_count", pa.int32()),
            _required("categories", _NAMES),
            # server time of publishing, and the time the publisher gave (else the same)
            _required("created_at", _TIME),
            _required("occurred_at", _TIME),
            pa.field("valid_from", _TIME),
            pa.field("valid_to", _TIME),
            pa.field("expires_at", _TIME),
            pa.field("event_start", _TIME),
            pa.field("event_end", _TIME),
            # the event times follow from a default ("Dentist on 2 April"), not from the words
            _required("event_guessed", pa.bool_()),
            _required("salience", pa.float32()),
            _required("confidence", pa.float32()),
            _required("pinned", pa.bool_()),
            _required("priority", pa.float32()),
            # origin class: user, agent, tool, document
            _required("source_class", pa.string()),
            # memory this one is the next version of
            _required("corrects", pa.string()),
            _required("vector", pa.list_(pa.float32(), dimensions)),
            # the model that made the vector, `name@checksum`
            _required("model", pa.string()),
        ]
    )


@functools.cache
def expansions_schema() -> pa.Schema:
    """Schema of the expansions edge."""
    return pa.schema([_required("memory_id", pa.string()), _required("expansions", _NAMES)])


@functools.cache
def links_schema() -> pa.Schema:
    """Schema of the links edge: `memory_id` -[edge]-> entity (`kind`, canonical `name`)."""
    return pa.schema(
        [
            _required("memory_id", pa.string()),
            # MENTIONS, UPDATES, EXTENDS, DERIVES, RELATES, PART_OF, IN_CATEGORY
            _required("edge", pa.string()),
            # name, path, symbol, version, error, date, title, document
            _required("kind", pa.string()),
            # canonical name of the entity, and the name as written
            _required("name", pa.string()),
            _required("surface", pa.string()),
            # above 0; 1 is a plain mention, a title that defines its entity weighs more
            _required("weight", pa.float32()),
        ]
    )


def encode(origin: Origin, rows: Sequence[dict[str, Any]], schema: pa.Schema) -> bytes:
    """One message: `rows` as one record batch of `schema`, headed by `origin`."""
    header = asdict(origin) | {"version": EDGE_VERSION}
    stamped = schema.with_metadata({"helix": json.dumps(header)})
    sink = pa.BufferOutputStream()
    # all columns in one call: column after column takes two and a half times as long
    structs = pa.array(rows, type=pa.struct(list(schema)))
    with pa.ipc.new_stream(sink, stamped) as writer:
        writer.write_batch(
            pa.RecordBatch.from_struct_array(structs).replace_schema_metadata(stamped.metadata)
        )
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded


def decode(body: bytes) -> tuple[Origin, pa.RecordBatch]:
    """The origin and the rows of a message.

    Raises:
        OutdatedError: a worker of an older release made it.
        IncompatibleError: a worker of another release made it.
        PermanentError: the body is no derived message of any release.
    """
    try:
        with pa.ipc.open_stream(body) as reader:
            batches = list(reader)
            header = json.loads((reader.schema.metadata or {})[b"helix"])
            _check_release(header)
            if len(batches) != 1:
                raise PermanentError(f"derived message holds {len(batches)} batches; it is one")
            header |= {name: tuple(header[name]) for name in ("keeps", "acl")}
            return _checked(Origin(**header)), batches[0]
    except (pa.ArrowException, KeyError, TypeError, ValueError, OSError) as error:
        raise PermanentError(f"derived message is no Arrow batch of edge version {EDGE_VERSION}") from error


def _check_release(header: Any) -> None:
    """Take the version out of a header of this release, and refuse that of any other."""
    if not isinstance(header, dict):
        raise PermanentError("header of a derived message is no object")
    version = header.pop("version")
    if not isinstance(version, str):
        raise PermanentError("derived message states no edge version")
    if version != EDGE_VERSION:
        is_older = version.isdecimal() and int(version[:20]) < int(EDGE_VERSION)
        raise (OutdatedError if is_older else IncompatibleError)(
            f"derived message has edge version {version[:20]}, this process reads {EDGE_VERSION}; "
            "run one release everywhere"
        )
    if unknown := sorted(header.keys() - set(_ORIGIN)):
        raise IncompatibleError(
            f"origin of a derived message has unknown fields ({', '.join(unknown)[:80]}); "
            "run one release everywhere"
        )


def check_schema(origin: Origin, found: pa.Schema, expected: pa.Schema) -> None:
    """Compare the columns of a message with those of its edge.

    Raises:
        IncompatibleError: they differ; the message names the first columns that do.
    """
    if found.remove_metadata() != expected:
        names = [field.name for field in expected if field not in list(found)]
        names += [field.name for field in found if field.name not in expected.names]
        raise IncompatibleError(
            f"{origin.edge} message has another schema than edge version {EDGE_VERSION} "
            f"({', '.join(names)[:120] or 'order of columns'}); run one release everywhere"
        )


def _checked(origin: Origin) -> Origin:
    named = (origin.edge, origin.tenant_id, origin.event_id, origin.event_kind, origin.replaces_document)
    texts = (*named, origin.model, *origin.keeps, origin.user_id, *origin.acl)
    if not all(isinstance(text, str) for text in texts) or origin.edge not in EDGES:
        raise PermanentError("origin of a derived message holds another type than text, or an unknown edge")
    if not isinstance(origin.is_deletion, bool):
        raise PermanentError("origin of a derived message does not say whether it is a deletion")
    sequence = origin.event_sequence
    if type(sequence) is not int or not 0 < sequence < LARGEST_SEQUENCE:
        raise PermanentError("origin of a derived message has no event sequence; it is 1 and up")
    return origin


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)
