"""The edges between workers: one Arrow schema per edge, its writer and its reader together.

| edge | from | to | one row is |
|---|---|---|---|
| memories   | ingest    | doc2query, kg, consolidation | a memory, whole |
| expansions | doc2query | consolidation                | the questions one memory answers |
| links      | kg        | consolidation                | one mention or relation of one memory |
| statements | extract   | consolidation                | a statement that a model extracted from a turn |
| verdicts   | extract   | consolidation                | what it says of two memories, see `pairs.verdicts` |

A message is one Arrow IPC stream with one record batch. It has no rows if nothing follows from the event.
`Origin` is stored in the metadata of the schema, so that a message without rows also names its event.
Consolidation appends the rows as they are.

A message with another `EDGE_VERSION`, another schema or an unknown field of `Origin` was made by another
release: `IncompatibleError`, the message is held. A message of an older release (`OutdatedError`) can be
derived again. A new value in an existing column needs a new `EDGE_VERSION`; otherwise the message is refused
as broken.
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

EDGE_VERSION: Final = "8"
LARGEST_SEQUENCE: Final = 2**63
MINHASH_PERMUTATIONS: Final = 64
MINHASH_BYTES: Final = MINHASH_PERMUTATIONS * 4
TOKEN_CODE_BYTES: Final = 16
"""Bytes of a token's code: 128 signs."""
FIRST_STATEMENT_PIECE: Final = 1 << 15
"""Piece of the first statement of an event; the memories that ingest makes of it have lower pieces."""

_TIME = pa.timestamp("us", tz="UTC")
_NAMES = pa.list_(pa.string())


@dataclass(frozen=True, slots=True)
class Origin:
    """The event that a message was derived from."""

    edge: str
    tenant_id: str
    event_id: str
    event_kind: str
    event_sequence: int
    replaces_document: str = ""
    """Id of the document whose earlier pieces this event replaces."""
    model: str = ""
    """Model of the worker, `name@checksum`: a writer without a generation needs it even without rows."""
    keeps: tuple[str, ...] = ()
    """Columns that a correction did not set: the writer copies them from the corrected memory."""
    user_id: str = ""
    """With `acl`: whose pieces of the document the event replaces; empty: those of the tenant."""
    acl: tuple[str, ...] = ()
    is_deletion: bool = False
    """The document is deleted; else this is a new version."""


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
            # neighbouring turns or surrounding section: searched, but not part of the memory's text
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
            # server time of publishing; time given by the publisher, else the same
            _required("created_at", _TIME),
            _required("occurred_at", _TIME),
            pa.field("valid_from", _TIME),
            pa.field("valid_to", _TIME),
            pa.field("expires_at", _TIME),
            pa.field("event_start", _TIME),
            pa.field("event_end", _TIME),
            # the event times follow from a default and not from the words ("Dentist on 2 April")
            _required("event_guessed", pa.bool_()),
            _required("salience", pa.float32()),
            _required("confidence", pa.float32()),
            _required("pinned", pa.bool_()),
            _required("priority", pa.float32()),
            # user, agent, tool or document
            _required("source_class", pa.string()),
            # id of the memory that this one is a new version of
            _required("corrects", pa.string()),
            # one of `helix_memory.vocabulary.speech_acts.SPEECH_ACTS`
            _required("speech_act", pa.string()),
            # whom it is about, a word of `helix_shared.about`
            _required("about", pa.string()),
            # ids of the question that this memory answers, and of the memory that answers this question
            _required("answers", pa.string()),
            _required("answered_by", pa.string()),
            # id of the verbatim memory of the same event that this statement was resolved from
            _required("derived_from", pa.string()),
            # ids of the other events whose text may be in its text, context, vector or expansions
            _required("quotes", _NAMES),
            # some of `helix_memory.vocabulary.speech_acts.FLAGS`
            _required("flags", _NAMES),
            # some of `helix_memory.vocabulary.facets.FACETS`; for each two offsets in the text: start and
            # end of a sentence
            _required("facets", _NAMES),
            _required("facet_spans", pa.list_(pa.int32())),
            _required("vector", pa.list_(pa.float32(), dimensions)),
            # the model that made the vector, `name@checksum`
            _required("model", pa.string()),
            # codes of the tokens of the text, `TOKEN_CODE_BYTES` each, in the order of the text
            _required("token_codes", pa.binary()),
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
            # one of `artifacts.graph.snapshot.EDGE_KINDS`
            _required("edge", pa.string()),
            # name, path, symbol, version, error, date, title, document, place, category, user
            _required("kind", pa.string()),
            # canonical name of the entity, and the name as written
            _required("name", pa.string()),
            _required("surface", pa.string()),
            # above 0; 1 is a plain mention, a title that defines its entity weighs more
            _required("weight", pa.float32()),
        ]
    )


@functools.cache
def statements_schema(dimensions: int) -> pa.Schema:
    """Schema of the statements edge: that of the memories edge, then the expansions and links of the row.

    `derived_from` is the verbatim memory, `stream_sequence` the event of the turn, `revision_sequence` the
    last event of the window that was asked about, `piece` at least `FIRST_STATEMENT_PIECE`. The id follows
    from `derived_from` and the piece (`identity.statement_id`).
    """
    links = pa.struct([field for field in links_schema() if field.name != "memory_id"])
    return pa.schema(
        [
            *memories_schema(dimensions),
            *(field for field in expansions_schema() if field.name != "memory_id"),
            _required("links", pa.list_(links)),
        ]
    )


def empty_row(schema: pa.Schema) -> dict[str, Any]:
    """A row of `schema` with every required column empty (no text or bytes, an empty list, 0 or false)."""
    return {field.name: _empty(field.type) for field in schema if not field.nullable}


def _empty(kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return ""
    if pa.types.is_binary(kind):
        return b""
    if pa.types.is_list(kind):
        return []
    if pa.types.is_boolean(kind):
        return False
    return 0 if pa.types.is_integer(kind) or pa.types.is_floating(kind) else None


def encode(origin: Origin, rows: Sequence[dict[str, Any]], schema: pa.Schema) -> bytes:
    """The body of a message: `origin`, and `rows` as one record batch of `schema`."""
    header = asdict(origin) | {"version": EDGE_VERSION}
    stamped = schema.with_metadata({"helix": json.dumps(header)})
    sink = pa.BufferOutputStream()
    # all columns in one call: one call per column takes 2.5 times as long
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
        OutdatedError: an older release made it.
        IncompatibleError: another release made it.
        PermanentError: the body is not a derived message of any release.
    """
    try:
        with pa.ipc.open_stream(body) as reader:
            batches = list(reader)
            header = json.loads((reader.schema.metadata or {})[b"helix"])
            _check_release(header)
            if len(batches) != 1:
                raise PermanentError(f"derived message holds {len(batches)} batches instead of one")
            header |= {name: tuple(header[name]) for name in ("keeps", "acl")}
            # offsets outside of the body would end the process that reads them
            batches[0].validate(full=True)
            return _checked(Origin(**header)), batches[0].select(reader.schema.names)
    except (pa.ArrowException, KeyError, TypeError, ValueError, OSError) as error:
        raise PermanentError(f"derived message is no Arrow batch of edge version {EDGE_VERSION}") from error


def _check_release(header: Any) -> None:
    """Remove the version from a header of this release; refuse a header of another release."""
    if not isinstance(header, dict):
        raise PermanentError("header of a derived message is not an object")
    version = header.pop("version")
    if not isinstance(version, str):
        raise PermanentError("derived message has no edge version")
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
        IncompatibleError: they differ; the message names the first differing columns.
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
        raise PermanentError("origin of a derived message holds a value that is not text, or an unknown edge")
    if not isinstance(origin.is_deletion, bool):
        raise PermanentError("origin of a derived message: is_deletion is not true or false")
    sequence = origin.event_sequence
    if type(sequence) is not int or not 0 < sequence < LARGEST_SEQUENCE:
        raise PermanentError("origin of a derived message has no event sequence of 1 or above")
    return origin


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)
