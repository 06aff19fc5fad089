"""In which shard of this process a tenant lies, as the newest generations say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_shared.errors import OtherShardError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_query.generations.shards.shard import Shard

MOST_KEPT: Final = 65_536
"""Tenants whose shard is remembered."""


class Places:
    """Finds shards by tenant; without any generation the first shard is everybody's."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = {shard.number: shard for shard in shards}
        self._known: dict[str, int] = {}

    def forget(self) -> None:
        """The place of some shard changed."""
        # a new one, since other threads may write into the old one
        self._known = {}

    def shard_of(self, tenant_id: str) -> int:
        """The shard of a tenant; the first one for an empty tenant.

        Raises:
            OtherShardError: another process has it, or it is moved and its new shard does not say so yet.
        """
        known = self._known
        found = known.get(tenant_id)
        if found is None:
            found = self._found(tenant_id) if tenant_id else next(iter(self._shards))
            if len(known) >= MOST_KEPT:
                known.clear()
            known[tenant_id] = found
        return found

    def _found(self, tenant_id: str) -> int:
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
        # it has no generation yet, as loading it will say
        return named
