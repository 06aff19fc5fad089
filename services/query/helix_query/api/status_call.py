"""The status of the loaded generation, or of several shards together; also without a generation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from helix_memory.transport.shard_routing import status_of_all
from helix_query.api.responses.recall import (
    describe_cross_encoders,
    describe_learned_adapters,
    describe_replica,
    status_response,
)
from helix_query.profile.cross_encoders import profiles_by_cross_encoder
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from helix_memory.recall.v1 import recall_pb2
    from helix_query.generations.shards.source import ShardSource, ShardState
    from helix_query.profile.profile import RankingProfile


async def status_reply(
    shards: ShardSource,
    *,
    tenant_id: str,
    profiles: Mapping[str, RankingProfile],
    instance: str,
    uptime_seconds: float,
) -> recall_pb2.GetStatusResponse:
    """Fields of a manifest, adapters of tenants, the replica, and the cross-encoders that `profiles` name.

    Without a tenant: of all shards together, as the client puts several services together.

    Raises:
        OtherShardError: the tenant, if one is given, lies in another shard.
    """
    replies = [
        await _of_shard(state, tenant_id, instance, uptime_seconds) for state in shards.states(tenant_id)
    ]
    reply = replies[0] if len(replies) == 1 else status_of_all(replies)
    if problems := [one.replica.problem for one in replies if one.replica.problem]:
        reply.replica.problem = "; ".join(problems)
    describe_cross_encoders(reply, shards.cross_encoders, profiles_by_cross_encoder(profiles))
    return reply


async def _of_shard(
    state: ShardState, tenant_id: str, instance: str, uptime_seconds: float
) -> recall_pb2.GetStatusResponse:
    try:
        with state.current.lease() as snapshot:
            snapshot.require_tenant(tenant_id)
            manifest = snapshot.generation.manifest
            shard = snapshot.generation.place.shard
            reply = status_response(manifest, shard, uptime_seconds=uptime_seconds, instance=instance)
            # it reads the folder of the adapters
            await asyncio.to_thread(describe_learned_adapters, reply, snapshot)
    except TemporaryError:
        reply = status_response(state.newest, state.shard, uptime_seconds=uptime_seconds, instance=instance)
    if state.replica is not None:
        describe_replica(reply, state.replica)
    return reply
