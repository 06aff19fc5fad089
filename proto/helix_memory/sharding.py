"""The shard of a tenant by rendezvous hashing: a pure function of the tenant and the number of shards.

With one shard more, only tenants of the new shard change their place. `helix_shared.shard_map` has the
exceptions. Writers, clients and commands use this one function.
"""

from __future__ import annotations

import hashlib
from typing import Final

MOST_SHARDS: Final = 16
"""Every writer reads the derived messages of all shards, which bounds their number (decision 0097)."""
SHARD_KEY: Final = "helix-shard"
"""Trailing metadata of a call that was refused because its tenant lies in another shard: that shard. With
UNAVAILABLE: the shard that is being loaded."""


def hashed_shard(tenant_id: str, shards: int) -> int:
    """The shard of a tenant among `shards` (1 to `MOST_SHARDS`), counted from 0."""
    return max(range(shards), key=lambda shard: _weight(tenant_id, shard))


def rendezvous_order(tenant_id: str, places: int) -> list[int]:
    """All of `places` places, from the first choice of a tenant to its last; `hashed_shard` is the first."""
    return sorted(range(places), key=lambda place: _weight(tenant_id, place), reverse=True)


def _weight(tenant_id: str, shard: int) -> bytes:
    return hashlib.blake2b(f"{shard}:{tenant_id}".encode(), digest_size=8).digest()
