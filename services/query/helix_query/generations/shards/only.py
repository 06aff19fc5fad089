"""The one shard of a process: it is always loaded, and nothing is evicted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from helix_query.generations.shards.source import ShardState

if TYPE_CHECKING:
    from helix_query.generations.replica import Replica
    from helix_query.generations.shards.shard import Loadable
    from helix_shared.encoders.cross_encoder import CrossEncoder


class OnlyShard:
    """A `ShardSource`, and the `Hold` of every call; whose tenants it has, its generation says."""

    def __init__(self, current: Loadable, replica: Replica | None = None) -> None:
        self.current = current
        self.is_loaded = True
        self._replica = replica

    def start(self, on_first: Callable[[], None]) -> None:
        """Load the newest generation; call `on_first` when it answers."""
        if self._replica is not None:
            self._replica.start()
        self.current.start(on_first)

    def close(self) -> None:
        """Stop serving the generation; existing leases stay valid."""
        if self._replica is not None:
            self._replica.close()
        self.current.close()

    @property
    def cross_encoders(self) -> Mapping[str, CrossEncoder]:
        """Those of the ranking profiles."""
        return self.current.cross_encoders

    def hold(self, _tenant_id: str) -> Self:
        """Itself."""
        return self

    def serves(self, _shard: int) -> bool:
        """No other one."""
        return False

    def states(self, _tenant_id: str) -> Sequence[ShardState]:
        """The one there is; whether the tenant is its own, its generation says."""
        return [ShardState(self.current, replica=None if self._replica is None else self._replica.state())]

    async def loaded(self, _until: float) -> None:
        """At once."""

    def release(self) -> None:
        """Nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return
