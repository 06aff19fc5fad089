"""In which data folder of a home a tenant lies, as the generations there state it; NATS is not asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.generation.reader import place_of
from helix_shared.errors import CorruptArtifactError, NotFoundError
from helix_shared.shard_map import ONLY_SHARD, ShardPlace

if TYPE_CHECKING:
    from pathlib import Path

    from helix_cli.home.folder import HomeFolder


def place_in(data: Path) -> ShardPlace:
    """The shard of the current generation of a data folder; without one, the only shard.

    Raises:
        CorruptArtifactError: CURRENT or what it names is damaged.
    """
    while (number := current_number(data)) is not None:
        folder = folder_of(data, number)
        try:
            return place_of(folder, Manifest.read(folder))
        except (CorruptArtifactError, FileNotFoundError):
            # a writer may have published another one meanwhile, and removed this one
            if current_number(data) == number:
                raise
    return ONLY_SHARD


def data_of_tenant(home: HomeFolder, tenant_id: str) -> Path:
    """The data folder of the shard of a tenant.

    Raises:
        NotFoundError: no shard of this home has published with the tenant as its own.
        CorruptArtifactError: a generation is damaged.
    """
    folders = [home.data_of(shard) for shard in range(home.shards)]
    if len(folders) == 1:
        return folders[0]
    for folder in folders:
        # without a generation nothing says whose it is
        if (place := place_in(folder)) != ONLY_SHARD and place.owns(tenant_id):
            return folder
    raise NotFoundError(f"no shard of {home.root} has tenant {tenant_id}")
