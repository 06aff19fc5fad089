"""The shards of a process, by its settings; nothing is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_query.generations.current import CurrentGeneration
from helix_query.generations.installed_model import InstalledEncoders
from helix_query.generations.replica import open_replica
from helix_query.generations.shards.only import OnlyShard
from helix_query.generations.shards.shard import ReplicaView, Shard
from helix_query.generations.shards.shards import Shards
from helix_query.generations.verified_files import verified_files_path
from helix_shared.shard_map import bucket_of_shard, folder_of_shard

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from helix_query.generations.prober import Prober
    from helix_query.profile.profile import RankingProfile
    from helix_query.settings import QuerySettings
    from helix_shared.encoders.cross_encoder import CrossEncoder

_MIB: Final = 1 << 20


def open_shards(
    settings: QuerySettings,
    *,
    scratch: Path,
    profile: RankingProfile,
    cross_encoders: Mapping[str, CrossEncoder],
    prober: Prober | None,
) -> OnlyShard | Shards:
    """The shard of the data folder; or those of `settings.shard_numbers`, with their folders below it.

    Raises:
        InvalidInputError: as `open_replica`.
    """
    encoders = InstalledEncoders(settings.models_dir, threads=settings.encoder_threads)

    def current_of(root: Path, shard: int | None) -> CurrentGeneration:
        return CurrentGeneration(
            root,
            encoders,
            scratch=scratch,
            profile=profile,
            poll_seconds=settings.poll_seconds,
            verified_files=verified_files_path(settings.cache_dir, root)
            if settings.trust_verified_files
            else None,
            cache=settings.cache_dir,
            cross_encoders=cross_encoders,
            prober=prober,
            shard=shard,
        )

    seconds = settings.bucket_poll_seconds
    if not settings.shard_numbers:
        root = settings.data_dir
        current = current_of(root, None)
        return OnlyShard(current, open_replica(settings.bucket, root, current, poll_seconds=seconds))
    opened = []
    for number in settings.shard_numbers:
        root = folder_of_shard(settings.data_dir, number)
        current = current_of(root, number)
        bucket, view = bucket_of_shard(settings.bucket, number), ReplicaView(root, current)
        replica = open_replica(bucket, root, view, poll_seconds=seconds, shard=str(number))
        opened.append(Shard(number, root, current, replica))
    return Shards(
        opened,
        budget_bytes=settings.shards_memory_mib * _MIB,
        idle_seconds=settings.shard_idle_seconds,
        poll_seconds=settings.poll_seconds,
        cross_encoders=cross_encoders,
    )
