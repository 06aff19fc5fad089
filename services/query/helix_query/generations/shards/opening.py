"""The shards of a process, by its settings; nothing is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_query.generations.replica import open_replica
from helix_query.generations.shards.only import OnlyShard
from helix_query.generations.shards.shard import ReplicaView, Shard
from helix_query.generations.shards.shards import Shards
from helix_shared.shard_map import bucket_of_shard, folder_of_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from helix_query.generations.shards.shard import Loadable
    from helix_query.settings import QuerySettings
    from helix_shared.encoders.cross_encoder import CrossEncoder

_MIB: Final = 1 << 20


def open_shards(
    settings: QuerySettings,
    current_of: Callable[[Path, int | None], Loadable],
    *,
    cross_encoders: Mapping[str, CrossEncoder],
) -> OnlyShard | Shards:
    """The shard of the data folder; or those of `settings.shard_numbers`, with their folders below it.

    `current_of` makes what holds the generation of a folder, of a numbered shard or of the only one.

    Raises:
        InvalidInputError: as `open_replica`.
    """
    seconds, credentials = settings.bucket_poll_seconds, settings.bucket_credentials
    if not settings.shard_numbers:
        root = settings.data_dir
        current = current_of(root, None)
        replica = open_replica(settings.bucket, root, current, poll_seconds=seconds, credentials=credentials)
        return OnlyShard(current, replica)
    opened = []
    for number in settings.shard_numbers:
        root = folder_of_shard(settings.data_dir, number)
        current = current_of(root, number)
        bucket, view = bucket_of_shard(settings.bucket, number), ReplicaView(root, current)
        replica = open_replica(
            bucket, root, view, poll_seconds=seconds, credentials=credentials, shard=str(number)
        )
        opened.append(Shard(number, root, current, replica))
    return Shards(
        opened,
        budget_bytes=settings.shards_memory_mib * _MIB,
        idle_seconds=settings.shard_idle_seconds,
        poll_seconds=settings.poll_seconds,
        cross_encoders=cross_encoders,
    )
