"""Streams and durable consumers; only `provisioning` creates them.

Subscribers bind to existing consumers and declare nothing, so no stream changes as a side effect. The
settings avoid measured data loss: `discard=new` makes a full stream refuse messages instead of dropping the
oldest; deliveries are unlimited and the worker decides the back-off; limits retention keeps messages while a
consumer is absent. Consolidation purges from HELIX_DERIVED what all consumers acknowledged. Streams that must
not lose messages have no size limit: `max_file_store` of the server limits them together, and a full store
refuses publishers. No stream is compressed: nats-server 2.15.1 compresses the last block of a replica that it
truncates after a kill, appends to it, and from then on refuses to write there (ops/decisions/0122).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from nats.js import api

from helix_memory import limits, subjects
from helix_shared import object_bucket

MIB: Final = 1024**2
DAY_SECONDS: Final = 86_400.0
DERIVED_BYTES: Final = 8 * MIB - 64 * 1024
DUPLICATE_WINDOW_SECONDS: Final = 3_600.0
ACK_WAIT_SECONDS: Final = 60.0
LEASES: Final = "HELIX_LEASES"
LEASE_STREAM: Final = f"KV_{LEASES}"
"""Stream of the key-value bucket."""
LEASE_TTL_SECONDS: Final = 10.0
WRITER_PROBLEM: Final = "problem"
"""Field of the lease's JSON: why the writer applies no derived messages; empty while it applies them."""

INGEST: Final = "ingest"
DOC2QUERY: Final = "doc2query"
KG: Final = "kg"
EXTRACT: Final = "extract"
EXTRACT_PAIRS: Final = "extract-pairs"
_WRITER: Final = "consolidation"
CONSOLIDATION_DERIVED: Final = "consolidation-derived"
CONSOLIDATION_LIFECYCLE: Final = "consolidation-lifecycle"
CONSOLIDATION_ACCESS: Final = "consolidation-access"


@dataclass(frozen=True, slots=True)
class DurableConsumer:
    """One durable pull consumer."""

    stream: str
    name: str
    filters: tuple[str, ...]
    max_ack_pending: int


def _records(name: str, every: str, who: str, *, max_bytes: int) -> api.StreamConfig:
    """A stream of audit records; the server sets all of `max_bytes` aside when it is made."""
    return api.StreamConfig(
        name=name,
        description=f"{who}: ids and counts; nobody can remove a record, and only age and size do",
        subjects=[every],
        max_msg_size=MIB,
        max_bytes=max_bytes,
        max_age=90 * DAY_SECONDS,
        deny_delete=True,
        deny_purge=True,
    )


STREAMS: Final = (
    api.StreamConfig(
        name=subjects.EVENTS_STREAM,
        description="every published event; the source of truth",
        subjects=[subjects.ALL_EVENTS],
        max_msg_size=limits.EVENT_BYTES,
        allow_atomic=True,
    ),
    api.StreamConfig(
        name=subjects.DERIVED_STREAM,
        description="derived messages, until every consumer acknowledged them",
        subjects=[subjects.ALL_DERIVED],
        max_msg_size=DERIVED_BYTES,
        allow_atomic=True,
    ),
    api.StreamConfig(
        name=subjects.ACCESS_STREAM,
        description="which memories were served; bounded and lossy by design",
        subjects=[subjects.ALL_ACCESSES],
        max_bytes=256 * MIB,
        max_age=7 * DAY_SECONDS,
    ),
    _records(
        subjects.AUDIT_STREAM, subjects.ALL_AUDITS, "who erased, exported and redrove", max_bytes=64 * MIB
    ),
    # apart, since a day of recalls is as large as years of erasures and would push their records out
    _records(subjects.CALLS_STREAM, subjects.ALL_CALLS, "who recalled and listed", max_bytes=192 * MIB),
    api.StreamConfig(
        name=subjects.DLQ_STREAM,
        description="refused messages with their reason, until they are processed again",
        subjects=[subjects.ALL_LETTERS],
    ),
    api.StreamConfig(
        name=subjects.ADVISORY_STREAM,
        description="advisories about messages that JetStream stopped delivering",
        subjects=[
            "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>",
            "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.>",
        ],
        max_bytes=64 * MIB,
        max_age=30 * DAY_SECONDS,
    ),
)


def writer_key(shard: int) -> str:
    """Key of the lease of a shard's writer."""
    return f"consolidation.{shard}"


def writer_durable(name: str, shard: int) -> str:
    """Name of a durable consumer of a shard's writer; `name` itself in the first shard."""
    return f"{name}-{shard}" if shard else name


CONSUMERS: Final = (
    DurableConsumer(subjects.EVENTS_STREAM, INGEST, (subjects.ALL_EVENTS,), max_ack_pending=1_024),
    DurableConsumer(
        subjects.EVENTS_STREAM,
        CONSOLIDATION_LIFECYCLE,
        tuple(map(subjects.events_of_kind, subjects.LIFECYCLE_KINDS)),
        max_ack_pending=8_192,
    ),
    DurableConsumer(
        subjects.DERIVED_STREAM, DOC2QUERY, (subjects.derived_edge("memories"),), max_ack_pending=1_024
    ),
    DurableConsumer(subjects.DERIVED_STREAM, KG, (subjects.derived_edge("memories"),), max_ack_pending=1_024),
    DurableConsumer(
        subjects.DERIVED_STREAM,
        CONSOLIDATION_DERIVED,
        tuple(map(subjects.derived_edge, subjects.EDGES)),
        max_ack_pending=32_768,
    ),
    DurableConsumer(
        subjects.ACCESS_STREAM, CONSOLIDATION_ACCESS, (subjects.access_subject("*"),), max_ack_pending=1_024
    ),
)
"""Those of an instance with one shard."""


def consumers_of(shards: int) -> tuple[DurableConsumer, ...]:
    """The durable consumers of an instance with so many shards, without those for a language model."""
    writers = [one for one in CONSUMERS if one.name.startswith(f"{_WRITER}-")]
    more = (replace(one, name=writer_durable(one.name, n)) for n in range(1, shards) for one in writers)
    return (*CONSUMERS, *more)


ANSWERS: Final = api.StreamConfig(
    name=subjects.ANSWERS_STREAM,
    description="answers of the language model, kept so that no question is asked twice",
    subjects=[subjects.ALL_ANSWERS],
    max_msg_size=MIB,
)
PAIRS: Final = api.StreamConfig(
    name=subjects.PAIRS_STREAM,
    description="pairs of memories about which consolidation is unsure; bounded and lossy by design",
    subjects=[subjects.ALL_PAIRS],
    max_bytes=64 * MIB,
    max_age=7 * DAY_SECONDS,
    max_msgs_per_subject=1,
)
"""Without this stream consolidation publishes no pairs."""
LEDGER: Final = "HELIX_LEDGER"
"""Bucket with what the worker `extract` spent and dropped."""
LEDGER_KEY: Final = "extract"
ENDPOINT_CONSUMERS: Final = (
    DurableConsumer(
        subjects.EVENTS_STREAM, EXTRACT, (subjects.events_of_kind("message"),), max_ack_pending=1_024
    ),
    DurableConsumer(
        subjects.PAIRS_STREAM, EXTRACT_PAIRS, (subjects.pairs_subject("*", "*"),), max_ack_pending=1_024
    ),
)
"""They exist only where a language model is configured, as `ANSWERS`, `PAIRS` and `LEDGER` do."""
GENERATIONS: Final = api.StreamConfig(
    name=object_bucket.STREAM,
    description="generations for replicas, where there is no other object storage",
    subjects=[f"{object_bucket.CHUNKS}.>", f"{object_bucket.METAS}.>"],
    retention=api.RetentionPolicy.LIMITS,
    discard=api.DiscardPolicy.NEW,
    storage=api.StorageType.FILE,
    duplicate_window=120.0,
    allow_rollup_hdrs=True,
    allow_direct=True,
    compression=api.StoreCompression.NONE,
)
"""A bucket of the object store of NATS; it exists only where it is asked for."""


OPTIONAL: Final = frozenset(str(stream.name) for stream in (ANSWERS, PAIRS, GENERATIONS))
"""Streams that exist where they are asked for."""


def wanted_streams(*, endpoint: bool = True, objects: bool = True) -> list[api.StreamConfig]:
    """Every stream as `provision` wants it; those of `OPTIONAL` last, of the kinds that are asked for.

    `endpoint`: those for a language model, `objects`: the bucket of generations.
    """
    optional = (ANSWERS, PAIRS) if endpoint else ()
    return [*map(stream_config, (*STREAMS, *optional)), *((GENERATIONS,) if objects else ())]


def stream_config(stream: api.StreamConfig) -> api.StreamConfig:
    """A stream as `provision` wants it, with one replica."""
    return replace(
        stream,
        retention=api.RetentionPolicy.LIMITS,
        discard=api.DiscardPolicy.OLD if stream.max_age else api.DiscardPolicy.NEW,
        storage=api.StorageType.FILE,
        num_replicas=1,
        duplicate_window=DUPLICATE_WINDOW_SECONDS,
        allow_direct=True,
        compression=api.StoreCompression.NONE,
    )


def consumer_config(
    consumer: DurableConsumer, ack_wait_seconds: float = ACK_WAIT_SECONDS
) -> api.ConsumerConfig:
    """A consumer as `provision` wants it."""
    return api.ConsumerConfig(
        durable_name=consumer.name,
        filter_subjects=list(consumer.filters),
        ack_policy=api.AckPolicy.EXPLICIT,
        deliver_policy=api.DeliverPolicy.ALL,
        ack_wait=ack_wait_seconds,
        max_deliver=-1,
        max_ack_pending=consumer.max_ack_pending,
    )
