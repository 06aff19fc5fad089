"""For the tests of calls over two replicas of a shard: which one is asked, and when the second one."""

from collections.abc import Callable

import pytest

from helix_memory.sharding import rendezvous_order
from helix_memory.transport import replicas


def hedging(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the seconds after which a second replica is asked, also for methods with many timed calls.

    Until it is called no second one is: a busy machine answers late.
    """

    def after(seconds: float) -> None:
        monkeypatch.setattr(replicas, "FIRST_HEDGE_SECONDS", seconds)
        monkeypatch.setattr(replicas, "FEWEST_CALLS", 10_000)

    after(3600.0)
    return after


def tenant_at(replica: int) -> str:
    """A tenant whose calls go to `replica` of two."""
    return next(name for name in map(str, range(99)) if rendezvous_order(name, 2)[0] == replica)
