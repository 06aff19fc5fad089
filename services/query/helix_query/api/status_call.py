"""What GetStatus says of the loaded generation; also where there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from helix_query.api.responses.recall import (
    describe_cross_encoders,
    describe_learned_adapters,
    status_response,
)
from helix_query.profile.cross_encoders import profiles_by_cross_encoder
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from helix_memory.recall.v1 import recall_pb2
    from helix_query.generations.snapshot import SnapshotSource
    from helix_query.profile.profile import RankingProfile


async def status_reply(
    current: SnapshotSource,
    *,
    tenant_id: str,
    profiles: Mapping[str, RankingProfile],
    instance: str,
    uptime_seconds: float,
) -> recall_pb2.GetStatusResponse:
    """Fields of a manifest, the adapters of tenants, and the cross-encoders that `profiles` name.

    Raises:
        OtherShardError: the tenant, if one is given, lies in another shard.
    """
    try:
        with current.lease() as snapshot:
            snapshot.require_tenant(tenant_id)
            reply = status_response(snapshot, uptime_seconds=uptime_seconds, instance=instance)
            # it reads the folder of the adapters
            await asyncio.to_thread(describe_learned_adapters, reply, snapshot)
    except TemporaryError:
        reply = status_response(None, uptime_seconds=uptime_seconds, instance=instance)
    describe_cross_encoders(reply, current.cross_encoders, profiles_by_cross_encoder(profiles))
    return reply
