"""The subjects that every user of NATS may publish and subscribe: what its service uses, and nothing else.

Nobody but the operator may create, change or restore streams and durable consumers. The writer alone may
create consumers that the server names, to read streams for erasures and the archive. A user reads replies
only from inboxes under its own prefix. A tenant's user may create no consumer: the server would publish for
it on any subject that the consumer names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from helix_memory import subjects
from helix_memory.events import EVENT_MODELS
from helix_memory.sharding import MOST_SHARDS
from helix_memory.subjects import (
    ACCESS_STREAM,
    ANSWERS_STREAM,
    DERIVED_STREAM,
    DLQ_STREAM,
    EVENTS_STREAM,
    LIFECYCLE_KINDS,
    PAIRS_STREAM,
)
from helix_memory.transport.credentials import inbox_of
from helix_memory.transport.dead_letters import REFUSING
from helix_shared import object_bucket
from helix_shared.broker import streams
from helix_shared.broker.shard_bucket import MAP_KEY, SHARDS
from helix_shared.broker.stored_at import IMPORTS, SEAL_KEY
from helix_shared.rpc.access.credential import ERASE, WRITE

API: Final = "$JS.API"
EVERYTHING: Final = (">",)
ERASURE: Final = "erase"
"""Kind of the event that removes memories for good; it needs a role of its own."""


@dataclass(frozen=True, slots=True)
class Rights:
    """Subjects that a user may publish and subscribe; `responds`: also replies to requests it receives."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...] = ()
    responds: bool = False


def rights_of_service(user: str) -> Rights:
    """Rights of a service, of a replica of query, or of the operator."""
    rights = _SERVICES[user]
    return rights if rights in _WATCH_NOTHING else replace(rights, publish=(*rights.publish, *_watches()))


def rights_of_tenant(tenant: str, roles: Sequence[str]) -> Rights:
    """Rights of a publisher of one tenant: its own events, and the last of its own dead letters."""
    kinds = [kind for kind in EVENT_MODELS if (ERASE if kind == ERASURE else WRITE) in roles]
    if len(kinds) == len(EVENT_MODELS):
        events = [subjects.events_of_tenant(tenant)]
    else:
        events = [subjects.events_of_kind(kind, tenant_id=tenant) for kind in kinds]
    letters = [
        f"{API}.DIRECT.GET.{DLQ_STREAM}.{subjects.dlq_subject(service, tenant)}" for service in REFUSING
    ]
    return Rights((*events, *letters))


def inbox_subject(user: str) -> str:
    """Where a user receives replies."""
    return f"{inbox_of(user)}.>"


def _reads(stream: str, consumer: str) -> tuple[str, ...]:
    """Read, watch and acknowledge one durable consumer; both forms of the subjects of acknowledgements."""
    return (
        f"{API}.CONSUMER.MSG.NEXT.{stream}.{consumer}",
        f"{API}.CONSUMER.INFO.{stream}.{consumer}",
        f"$JS.ACK.{stream}.{consumer}.>",
        f"$JS.ACK.*.*.{stream}.{consumer}.>",
    )


def _watches() -> tuple[str, ...]:
    """Read the settings of every stream and consumer: each service compares them with those it wants."""
    names = [*(str(one.name) for one in streams.wanted_streams()), streams.LEASE_STREAM]
    every = (*streams.consumers_of(MOST_SHARDS), *streams.ENDPOINT_CONSUMERS)
    consumers = [f"{one.stream}.{one.name}" for one in every]
    return (
        *_knows(SHARDS, MAP_KEY),
        *(f"{API}.STREAM.INFO.{name}" for name in names),
        *(f"{API}.CONSUMER.INFO.{name}" for name in consumers),
    )


def _writer_reads(stream: str, consumer: str) -> tuple[str, ...]:
    """As `_reads`, of all shards; a writer also has what was not acknowledged delivered again."""
    names = [streams.writer_durable(consumer, shard) for shard in range(MOST_SHARDS)]
    resets = (f"{API}.CONSUMER.RESET.{stream}.{name}" for name in names)
    return (*(right for name in names for right in _reads(stream, name)), *resets)


def _looks_up(*names: str) -> tuple[str, ...]:
    """Read single messages of streams, from any replica and from the leader."""
    return tuple(f"{API}.{get}.{name}" for name in names for get in ("DIRECT.GET", "STREAM.MSG.GET"))


def _scans(*names: str) -> tuple[str, ...]:
    """Read streams by consumers that the server names; those with a name of their own cannot be made so."""
    kinds = ("CREATE.{}", "MSG.NEXT.{}.*", "DELETE.{}.*")
    return tuple(f"{API}.CONSUMER.{kind.format(name)}" for name in names for kind in kinds)


def _erases(*names: str) -> tuple[str, ...]:
    """Find messages of streams, and remove them one by one with their bytes."""
    return (*_scans(*names), *(f"{API}.STREAM.MSG.DELETE.{name}" for name in names))


def _keeps(bucket: str, key: str) -> tuple[str, ...]:
    """Read and write one key of a bucket."""
    return (f"$KV.{bucket}.{key}", *_knows(bucket, key))


def _knows(bucket: str, key: str) -> tuple[str, ...]:
    """Read one key of a bucket."""
    stream = f"KV_{bucket}"
    return (
        f"{API}.STREAM.INFO.{stream}",
        f"{API}.DIRECT.GET.{stream}.$KV.{bucket}.{key}",
        f"{API}.STREAM.MSG.GET.{stream}",
    )


def _reads_generations() -> tuple[str, ...]:
    """Read the bucket of generations, without a consumer."""
    return (f"{API}.STREAM.INFO.{object_bucket.STREAM}", *_looks_up(object_bucket.STREAM))


def _keeps_generations() -> tuple[str, ...]:
    """The same, write to it, and remove from it."""
    return (
        *_reads_generations(),
        f"{object_bucket.METAS}.>",
        f"{object_bucket.CHUNKS}.>",
        f"{API}.STREAM.MSG.DELETE.{object_bucket.STREAM}",
        f"{API}.STREAM.PURGE.{object_bucket.STREAM}",
    )


def _derives(service: str, *edges: str) -> tuple[str, ...]:
    return (*(subjects.derived_edge(edge) for edge in edges), _refuses(service))


def _derives_again() -> tuple[str, ...]:
    """Write what was derived again because of an erasure, and the message that ends a file of the stream."""
    again = map(subjects.derived_edge, ("memories", "expansions", "links"))
    return (*again, subjects.derived_filler())


def _refuses(service: str) -> str:
    """Write dead letters, of any tenant."""
    return subjects.dlq_filter(service)


def _redrives() -> tuple[str, ...]:
    """Store what was derived again for a dead letter, repeat a lifecycle event, and refuse it again."""
    extracted = map(subjects.derived_edge, ("statements", "verdicts"))
    return (*extracted, *map(subjects.events_of_kind, LIFECYCLE_KINDS), _refuses("*"))


def _asked(*edges: str) -> tuple[str, ...]:
    return tuple(map(subjects.derivation_request_subject, edges))


def _worker(service: str, edge: str) -> Rights:
    """A worker that reads memories messages and adds to them."""
    return Rights(
        (*_reads(DERIVED_STREAM, service), *_watches(), *_derives(service, edge), *_asked("memories")),
        _asked(edge),
        responds=True,
    )


OPERATOR: Final = Rights(EVERYTHING, EVERYTHING)
_INGEST: Final = Rights(
    (
        *_reads(EVENTS_STREAM, streams.INGEST),
        *_watches(),
        *_derives("ingest", "memories"),
        *_looks_up(EVENTS_STREAM),
        *_knows(IMPORTS, SEAL_KEY),
    ),
    _asked("memories"),
    responds=True,
)
_EXTRACT: Final = Rights(
    (
        *_reads(EVENTS_STREAM, streams.EXTRACT),
        *_reads(PAIRS_STREAM, streams.EXTRACT_PAIRS),
        *_watches(),
        *_derives("extract", "statements", "verdicts"),
        *_looks_up(EVENTS_STREAM, PAIRS_STREAM, ANSWERS_STREAM),
        subjects.ALL_ANSWERS,
        *_keeps(streams.LEDGER, streams.LEDGER_KEY),
        *_knows(IMPORTS, SEAL_KEY),
    ),
    _asked("statements", "verdicts"),
    responds=True,
)
_CONSOLIDATION: Final = Rights(
    (
        *_writer_reads(DERIVED_STREAM, streams.CONSOLIDATION_DERIVED),
        *_writer_reads(EVENTS_STREAM, streams.CONSOLIDATION_LIFECYCLE),
        *_writer_reads(ACCESS_STREAM, streams.CONSOLIDATION_ACCESS),
        *_watches(),
        *_knows(IMPORTS, SEAL_KEY),
        *_looks_up(EVENTS_STREAM),
        *_erases(EVENTS_STREAM, DLQ_STREAM, ANSWERS_STREAM, PAIRS_STREAM),
        *(f"{API}.STREAM.MSG.GET.{name}" for name in (EVENTS_STREAM, DERIVED_STREAM, DLQ_STREAM)),
        *(f"{API}.STREAM.PURGE.{name}" for name in (DERIVED_STREAM, streams.LEASE_STREAM)),
        *(right for n in range(MOST_SHARDS) for right in _keeps(streams.LEASES, streams.writer_key(n))),
        *_asked(*subjects.EDGES),
        *_derives_again(),
        *_redrives(),
        *_keeps_generations(),
        subjects.audit_subject("*"),
        subjects.ALL_PAIRS,
    ),
    (subjects.LETTER_REQUESTS, subjects.pause_request_subject("*")),
    responds=True,
)
_FORWARDER: Final = Rights(
    (
        *_watches(),
        subjects.access_subject("*"),
        subjects.calls_subject("*"),
    )
)
_GATEWAY: Final = Rights(
    # it checks the credential of its caller; dead letters tell a caller that waits why an event was refused
    # and are redriven by a writer, which the gateway asks for callers with the role admin
    (
        subjects.ALL_EVENTS,
        f"{API}.STREAM.INFO.{DLQ_STREAM}",
        f"{API}.STREAM.MSG.GET.{DLQ_STREAM}",
        subjects.LETTER_REQUESTS,
    )
)
REPLICA: Final = Rights(_reads_generations())
"""A process of query that pulls generations from NATS; it knows nothing else there."""
_WATCH_NOTHING: Final = (OPERATOR, REPLICA)
_SERVICES: Final = {
    "operator": OPERATOR,
    "ingest": _INGEST,
    "doc2query": _worker("doc2query", "expansions"),
    "kg": _worker("kg", "links"),
    "extract": _EXTRACT,
    "consolidation": _CONSOLIDATION,
    "forwarder": _FORWARDER,
    "gateway": _GATEWAY,
    "replica": REPLICA,
}
SERVICE_USERS: Final = tuple(_SERVICES)
