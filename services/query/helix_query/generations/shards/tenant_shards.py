"""Which shard of this process has a tenant, by the shard maps of the newest generations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_shared.errors import OtherShardError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_query.generations.shards.shard import Shard

MAX_CACHED: Final = 65_536
"""Tenants whose shard is cached."""


class TenantShards:
    """Finds the shard of a tenant; without any generation, the first shard has every tenant."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = {shard.number: shard for shard in shards}
        self._cached: dict[str, int] = {}

    def clear(self) -> None:
        """Forget the cached shards: a shard map changed."""
        # a new one, since other threads may write into the old one
        self._cached = {}

    def shard_of(self, tenant_id: str) -> int:
        """The shard of a tenant; the first one for an empty tenant.

        Raises:
            OtherShardError: another process has it, or it is moved and its new shard does not say so yet.
        """
        cached = self._cached
        found = cached.get(tenant_id)
        if found is None:
            found = self._shard_by_maps(tenant_id) if tenant_id else next(iter(self._shards))
            if len(cached) >= MAX_CACHED:
                cached.clear()
            cached[tenant_id] = found
        return found

    def _shard_by_maps(self, tenant_id: str) -> int:
        places = [shard.place for shard in self._shards.values() if shard.place is not None]
        if not places:
            return next(iter(self._shards))
        # after a move the shard that a tenant left has the older map for a moment, and may have got it by one
        newest_first = sorted(
            places, key=lambda place: (place.map.shards, place.map.moved.get(tenant_id, -1)), reverse=True
        )
        owners = [place.shard for place in newest_first if place.owns(tenant_id)]
        if owners and owners[0] in self._shards:
            return owners[0]
        named = newest_first[0].map.shard_of(tenant_id)
        shard = self._shards.get(named)
        if shard is None or shard.place is not None:
            raise OtherShardError(tenant_id, named)
        # it has no generation yet: loading it raises the error
        return named
