"""Makes the streams, consumers and buckets of a server those that `streams` describes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from nats.js import JetStreamContext, api
from nats.js.errors import NotFoundError

from helix_memory.subjects import EVENTS_STREAM
from helix_shared import object_bucket
from helix_shared.broker import streams
from helix_shared.broker.shard_bucket import SHARDS, read_map
from helix_shared.broker.stored_at import IMPORTS


async def provision(
    jetstream: JetStreamContext,
    *,
    replicas: int | None = None,
    placement: Sequence[str] = (),
    ack_wait_seconds: float = streams.ACK_WAIT_SECONDS,
    lease_seconds: float = streams.LEASE_TTL_SECONDS,
    endpoint: bool = False,
    objects: bool = False,
) -> list[str]:
    """Create or update every stream, consumer and bucket; returns one line about each.

    It may be repeated. An existing consumer keeps its position. `placement`: tags of servers of a cluster.
    Without `placement` a stream keeps its own; without `replicas` each has as many as the one with the most.
    `endpoint`: also what the worker `extract` needs, `objects`: also the bucket of generations; they stay
    when this is called again without it.
    """
    objects = objects or await stream_settings(jetstream, object_bucket.STREAM) is not None
    wanted = streams.wanted_streams(endpoint=endpoint, objects=objects)
    consumers = [
        *streams.consumers_of((await read_map(jetstream)).shards),
        *(streams.ENDPOINT_CONSUMERS if endpoint else ()),
    ]
    names = (streams.LEASE_STREAM, *(str(stream.name) for stream in wanted))
    found = [await stream_settings(jetstream, name) for name in names]
    replication = Replication(replicas or most_replicas(found), tuple(placement))
    done = [await _ensure_stream(jetstream, stream, replication) for stream in wanted]
    for consumer in consumers:
        await jetstream.add_consumer(consumer.stream, streams.consumer_config(consumer, ack_wait_seconds))
        done.append(f"consumer {consumer.stream}/{consumer.name}")
    buckets = {streams.LEASES: lease_seconds, IMPORTS: None, SHARDS: None} | (
        {streams.LEDGER: None} if endpoint else {}
    )
    for bucket, ttl in buckets.items():
        if bucket == SHARDS and await bucket_settings(jetstream, SHARDS) is None:
            continue  # made with the first map
        await _ensure_bucket(jetstream, api.KeyValueConfig(bucket=bucket, ttl=ttl), replication)
        done.append(f"bucket {bucket}")
    return done


async def ensure_answers(jetstream: JetStreamContext) -> None:
    """Create the stream of recorded answers, for an import into an instance that asks no language model."""
    wanted = streams.stream_config(streams.ANSWERS)
    found = [await stream_settings(jetstream, name) for name in (EVENTS_STREAM, str(wanted.name))]
    await _ensure_stream(jetstream, wanted, Replication(most_replicas(found)))


def most_replicas(found: Iterable[api.StreamConfig | None]) -> int:
    """How many replicas the stream of these has that has the most."""
    return max((one.num_replicas or 1 for one in found if one is not None), default=1)


@dataclass(frozen=True, slots=True)
class Replication:
    """How often streams are stored, and on servers with which tags; without tags they stay where they are."""

    replicas: int
    tags: tuple[str, ...] = ()

    def of(self, config: api.StreamConfig, before: api.StreamConfig | None) -> api.StreamConfig:
        """`config` with this number of replicas and this placement."""
        kept = None if before is None else before.placement
        return replace(config, num_replicas=self.replicas, placement=self.placement or kept)

    @property
    def placement(self) -> api.Placement | None:
        """Servers with the tags; None: no tags are asked for."""
        return api.Placement(cluster="", tags=list(self.tags)) if self.tags else None


async def _ensure_stream(
    jetstream: JetStreamContext, config: api.StreamConfig, replication: Replication
) -> str:
    before = await stream_settings(jetstream, str(config.name))
    if before is None:
        await jetstream.add_stream(replication.of(config, None))
        return f"stream {config.name} created"
    await jetstream.update_stream(replication.of(config, before))
    return f"stream {config.name} up to date"


async def _ensure_bucket(
    jetstream: JetStreamContext, config: api.KeyValueConfig, replication: Replication
) -> None:
    """Create a bucket, or give an existing one other replicas and another placement."""
    before = await bucket_settings(jetstream, config.bucket)
    if before is not None:
        wanted = replication.of(before, before)
        if wanted != before:
            await jetstream.update_stream(wanted)
        return
    await jetstream.create_key_value(
        replace(config, replicas=replication.replicas, placement=replication.placement)
    )


async def bucket_settings(jetstream: JetStreamContext, bucket: str) -> api.StreamConfig | None:
    """Settings of the stream of a bucket; None where there is none."""
    return await stream_settings(jetstream, f"KV_{bucket}")


async def stream_settings(jetstream: JetStreamContext, name: str) -> api.StreamConfig | None:
    """Settings of a stream; None where there is none."""
    try:
        return (await jetstream.stream_info(name)).config
    except NotFoundError:
        return None
