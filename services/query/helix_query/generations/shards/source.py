"""What a call needs of the shards of this process: the one of its tenant, held while the call needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from helix_query.generations.replica_state import ReplicaState
    from helix_query.generations.snapshot import SnapshotSource
    from helix_shared.artifacts.generation.manifest import Manifest
    from helix_shared.encoders.cross_encoder import CrossEncoder


class Hold(Protocol):
    """One shard that is not evicted until `release`; a context manager."""

    @property
    def current(self) -> SnapshotSource:
        """Its generations."""

    @property
    def is_loaded(self) -> bool:
        """Whether it answers, or refuses with a reason, without a wait."""

    async def loaded(self, until: float, /) -> None:
        """Load it if it is not; of all calls that wait, one loads it.

        Raises:
            TemporaryError: it is not loaded by `until`, a moment of the monotonic clock.
        """

    def release(self) -> None:
        """It may be evicted; what is leased of it stays readable. May be called twice."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


@dataclass(frozen=True, slots=True)
class ShardState:
    """What GetStatus tells of one shard."""

    current: SnapshotSource
    shard: int = 0
    """Its number; the generation that is loaded states it, too."""
    newest: Manifest | None = None
    """Of a shard that is not loaded: the generation that it would be loaded from."""
    replica: ReplicaState | None = None


class ShardSource(Protocol):
    """The shards that this process serves."""

    @property
    def cross_encoders(self) -> Mapping[str, CrossEncoder]:
        """Those that ranking profiles name, loaded at the start."""

    def hold(self, tenant_id: str, /) -> Hold:
        """The shard of a tenant; the first one for an empty tenant.

        Raises:
            OtherShardError: the tenant lies in another shard.
        """

    def serves(self, shard: int, /) -> bool:
        """Whether this process serves several shards, and this one is among them."""

    def states(self, tenant_id: str, /) -> Sequence[ShardState]:
        """The state of the shard of a tenant; for an empty tenant, of all shards.

        Raises:
            OtherShardError: the tenant lies in another shard.
        """
