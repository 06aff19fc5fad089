"""Limits of one tenant: recalls a second (token bucket) and calls at once; a refusal says how long to wait.

The fair queue shares the slots among the tenants that call; these limits hold even if no other tenant does.
All methods belong to one event loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from helix_query.metrics import TENANT_LIMITED
from helix_shared.errors import OverloadedError

MOST_TENANTS: Final = 10_000
"""Tenants kept; beyond it those without calls are forgotten if their bucket is full again."""
BUSY_SECONDS: Final = 0.1
"""Wait after a refusal because of calls at once."""


@dataclass(slots=True)
class _Use:
    """What a tenant may still use at the moment `at`, and its calls that run or wait."""

    left: float
    at: float
    running: int = 0


class TenantLimits:
    """Counts the calls of every tenant; a limit of 0 does not hold."""

    def __init__(
        self, *, in_flight: int, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._in_flight = in_flight
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._uses: dict[str, _Use] = {}

    @contextmanager
    def admitted(self, tenant: str, count: int = 1) -> Iterator[None]:
        """Inside, `count` calls of a tenant run.

        Raises:
            OverloadedError: the tenant reached a limit; `delay_seconds` says when enough is free again.
        """
        if not (self._in_flight or self._rate):
            yield
            return
        use = self._use(tenant)
        self._take(use, count)
        use.running += count
        try:
            yield
        finally:
            use.running -= count

    def _use(self, tenant: str) -> _Use:
        """The use of a tenant, filled up to now."""
        now = self._clock()
        if tenant not in self._uses and len(self._uses) >= MOST_TENANTS:
            self._forget(now)
        use = self._uses.setdefault(tenant, _Use(self._burst, now))
        use.left = min(self._burst, use.left + (now - use.at) * self._rate)
        use.at = now
        return use

    def _take(self, use: _Use, count: int) -> None:
        if self._in_flight and use.running + count > self._in_flight:
            TENANT_LIMITED.labels("in_flight").inc()
            raise OverloadedError(
                f"this tenant may have {self._in_flight} calls at once; back off", delay_seconds=BUSY_SECONDS
            )
        # more than the burst at once would wait for ever: it empties the bucket
        needed = min(float(count), self._burst)
        if self._rate and use.left < needed:
            TENANT_LIMITED.labels("rate").inc()
            raise OverloadedError(
                f"this tenant may make {self._rate:g} recalls a second; back off",
                delay_seconds=(needed - use.left) / self._rate,
            )
        use.left -= needed if self._rate else 0.0

    def _forget(self, now: float) -> None:
        full = [
            tenant
            for tenant, use in self._uses.items()
            if not use.running and use.left + (now - use.at) * self._rate >= self._burst
        ]
        for tenant in full:
            del self._uses[tenant]
