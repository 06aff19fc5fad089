"""Updates the archive after a move: adds events of tenants that came, removes those of tenants that left.

An erasure is carried out by the writer of the shard of its tenant, which knows its own archive only. So no
event may stay in the archive of the shard that a tenant left.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from helix_consolidation.archiving.event_archive import ARCHIVE
from helix_memory.subjects import EVENTS_STREAM, events_of_tenant
from helix_shared.broker.log_reader import read_range
from helix_shared.event_log.archive import Archive
from helix_shared.event_log.archive_files import CARD

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_consolidation.settings import ConsolidationSettings
    from helix_shared.artifacts.generation.manifest import StreamState
    from helix_shared.shard_map import ShardPlace


async def follow_moves(
    client: Client,
    settings: ConsolidationSettings,
    log: StreamState,
    *,
    before: ShardPlace,
    place: ShardPlace,
) -> None:
    """Bring the archive of a data folder from the shard map of its last generation to that of now.

    May be repeated. Nobody else writes in the folder.

    Raises:
        CorruptArtifactError: the archive is damaged.
        PermanentError: it is of another log.
        TemporaryError: NATS does not answer.
    """
    folder = settings.data_dir / ARCHIVE
    moved = place.map.moved
    have_gone = any(before.owns(tenant) and not place.owns(tenant) for tenant in moved)
    have_come = [tenant for tenant in moved if place.owns(tenant) and not before.owns(tenant)]
    if not (have_gone or have_come) or not (folder / CARD).exists():
        return
    with await asyncio.to_thread(Archive, folder, log=log.created_text) as archive:
        if have_gone:
            await asyncio.to_thread(archive.remove, lambda record: not place.owns_subject(record.subject))
        until = min(archive.last_sequence, max((moved[tenant] for tenant in have_come), default=0))
        if until and settings.archive:
            wanted = list(map(events_of_tenant, have_come))
            events = [
                one async for batch in read_range(client, EVENTS_STREAM, wanted, until=until) for one in batch
            ]
            await asyncio.to_thread(archive.insert, events)
