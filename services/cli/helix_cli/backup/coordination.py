"""What writers agree on by NATS, made again for data folders that are there: shard map, count of leases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_shared.broker import streams
from helix_shared.broker.shard_bucket import read_map, replace_map
from helix_shared.shard_map import ShardMap

if TYPE_CHECKING:
    from nats.js import JetStreamContext


async def place_tenants(jetstream: JetStreamContext, places: ShardMap | None, *, shards: int) -> None:
    """Write the shard map where NATS has none; without `places` hashing places every tenant in its shard.

    It must be there before the consumers of the writers, which are made for each shard.
    """
    known = places or ShardMap(shards=shards, starts=(0,) * shards)
    if known.shards > 1 and await read_map(jetstream) == ShardMap():
        await replace_map(jetstream, ShardMap(), known, replicas=1)


async def continue_leases(jetstream: JetStreamContext, epoch: int) -> None:
    """Let the lease count on: a writer refuses a generation whose epoch its lease does not follow."""
    await jetstream.purge_stream(streams.LEASE_STREAM, seq=epoch + 1)
