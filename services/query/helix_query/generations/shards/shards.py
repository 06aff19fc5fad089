"""Several shards in one process under one memory budget (ops/decisions/0108).

A shard is loaded when a call asks for it, on a thread of its own, once for all calls that wait. Where the
bytes of the loaded ones pass the budget, the one that was not asked for the longest is evicted; idle ones are
evicted, too. A shard that a call holds stays; a generation that a recall leases stays readable until its
end, and counts until then. So neither fails a recall that runs.

Whose tenant it is, the newest generations say: `shard.json` is read also of shards that are not loaded.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, Self

from helix_query.generations.shards.shard import Shard
from helix_query.generations.shards.shard_metrics import report_shards
from helix_query.generations.shards.source import ShardState
from helix_query.generations.shards.tenant_shards import TenantShards
from helix_query.metrics import SHARD_EVICTIONS, SHARD_LOAD_SECONDS
from helix_shared.errors import LoadingError, TemporaryError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from helix_query.generations.snapshot import SnapshotSource
    from helix_shared.encoders.cross_encoder import CrossEncoder

LONGEST_WAIT_SECONDS: Final = 10.0
"""Longest wait for memory: then a shard is loaded past the budget, since a thread may be stuck for ever."""
_RETRY_SECONDS: Final = 0.02
"""While memory is waited for: the end of a lease tells nobody."""

_log = logger(__name__)


class Shards:
    """A `ShardSource`; any thread may call it."""

    def __init__(
        self,
        shards: Sequence[Shard],
        *,
        budget_bytes: int,
        idle_seconds: float,
        poll_seconds: float = 0.25,
        cross_encoders: Mapping[str, CrossEncoder] = MappingProxyType({}),
    ) -> None:
        """None is loaded yet. A shard that nobody asked for in `idle_seconds` is evicted; 0: none is."""
        self.cross_encoders = cross_encoders
        self._shards = {shard.number: shard for shard in shards}
        self._tenant_shards = TenantShards(shards)
        self._budget_bytes = budget_bytes
        self._idle_seconds = idle_seconds
        self._poll_seconds = poll_seconds
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._on_first: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._refresh_loop, name="shards", daemon=True)

    def start(self, on_first: Callable[[], None]) -> None:
        """Load the first shard, so that the models are; call `on_first` when it answers."""
        self._on_first = on_first
        self.refresh()
        for shard in self._shards.values():
            if shard.replica is not None:
                shard.replica.start()
        self._thread.start()
        self.load(next(iter(self._shards.values())))

    def close(self) -> None:
        """Stop serving all generations; existing leases stay valid."""
        with self._changed:
            self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        for shard in self._shards.values():
            if shard.replica is not None:
                shard.replica.close()
            shard.current.close()

    def hold(self, tenant_id: str) -> ShardHold:
        """The shard of a tenant, which stays until the hold is released.

        Raises:
            OtherShardError: it is of another process, or on its way between two shards.
        """
        shard = self._shards[self._tenant_shards.shard_of(tenant_id)]
        with self._changed:
            shard.holds += 1
            shard.last_used_at = time.monotonic()
        return ShardHold(self, shard)

    def serves(self, shard: int) -> bool:
        """Whether a shard is among them."""
        return shard in self._shards

    def states(self, tenant_id: str) -> Sequence[ShardState]:
        """Of the shard of a tenant, or of all; none is loaded for it."""
        chosen = [self._tenant_shards.shard_of(tenant_id)] if tenant_id else self._shards
        found = [(number, self._shards[number]) for number in chosen]
        return [
            ShardState(one.current, number, one.newest, None if one.replica is None else one.replica.state())
            for number, one in found
        ]

    def load(self, shard: Shard) -> Future[None]:
        """Done when the shard answers, or a reason is known why it does not; started only once."""
        with self._changed:
            if shard.loading is not None:
                return shard.loading
            shard.loading = future = Future[None]()
            shard.last_used_at = time.monotonic()
        # nobody who waits for it may cancel it
        future.set_running_or_notify_cancel()
        threading.Thread(target=self._load, args=(shard, future), name="shard-load", daemon=True).start()
        return future

    def release(self, shard: Shard) -> None:
        """End one hold on a shard."""
        with self._changed:
            shard.holds -= 1
            self._changed.notify_all()

    def refresh(self) -> None:
        """Read the newest generations, evict idle shards and those over the budget, and set the metrics."""
        for shard in self._shards.values():
            if shard.refresh():
                self._tenant_shards.clear()
        for reason in ("idle", "budget"):
            while self._evict_one(reason):
                pass
        report_shards(self._shards.values(), resident_bytes=self._resident_bytes())

    def _refresh_loop(self) -> None:
        failure = ""
        while not self._stop.wait(self._poll_seconds):
            try:
                self.refresh()
                failure = ""
            except Exception as error:  # noqa: BLE001 - the thread must outlive whatever a folder holds
                if failure != str(error):
                    failure = str(error)
                    _log.error("shards_not_refreshed", error=type(error).__name__, reason=failure)

    def _load(self, shard: Shard, future: Future[None]) -> None:
        began = time.monotonic()

        def tried() -> None:
            if not future.done():
                SHARD_LOAD_SECONDS.observe(time.monotonic() - began)
                future.set_result(None)

        try:
            shard.refresh()
            self._make_room(shard, shard.load_bytes)
            self._start(shard, tried)
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            with self._changed:
                shard.loading, shard.counted_bytes = None, 0
            future.set_exception(error)

    def _start(self, shard: Shard, tried: Callable[[], None]) -> None:
        with self._changed:
            if self._stop.is_set():
                raise TemporaryError("the service is ending")
            shard.current.start(self._first_served, tried)

    def _make_room(self, shard: Shard, needed_bytes: int) -> None:
        """Evict other shards until `needed_bytes` fit, and wait until what was evicted is closed."""
        until = time.monotonic() + LONGEST_WAIT_SECONDS
        while not self._reserve_memory(shard, needed_bytes, is_late=time.monotonic() > until):
            if not self._evict_one("budget", needed_bytes):
                with self._changed:
                    self._changed.wait(_RETRY_SECONDS)

    def _reserve_memory(self, shard: Shard, needed_bytes: int, *, is_late: bool) -> bool:
        """Count the bytes of a shard against the budget; False: it has to wait for memory."""
        with self._changed:
            others = sum(one.resident_bytes for one in self._shards.values() if one is not shard)
            is_over = others + needed_bytes > self._budget_bytes
            must_wait = shard.is_leased or (is_over and others > 0)
            if must_wait and not (is_late and not shard.is_closing):
                return False
            shard.counted_bytes = needed_bytes
        if is_over:
            _log.warning(
                "memory_budget_passed", shard=shard.number, bytes=needed_bytes, budget=self._budget_bytes
            )
        return True

    def _evict_one(self, reason: Literal["idle", "budget"], needed_bytes: int = 0) -> bool:
        """Evict the least recently used shard without a hold, if it is idle or over the budget."""
        with self._changed:
            loaded = [one for one in self._shards.values() if one.is_loaded]
            for one in loaded:
                # a later generation may be larger
                one.counted_bytes = one.load_bytes
            victims = [one for one in loaded if not one.holds]
            if not victims:
                return False
            victim = min(victims, key=lambda one: one.last_used_at)
            if reason == "idle":
                is_due = 0 < self._idle_seconds < time.monotonic() - victim.last_used_at
            else:
                taken = sum(one.counted_bytes for one in self._shards.values()) + needed_bytes
                is_due = taken > self._budget_bytes and taken > victim.counted_bytes
            if not is_due:
                return False
            victim.loading, victim.is_closing = None, True
            victim.counted_bytes, victim.evicted_bytes = 0, victim.counted_bytes
        victim.current.close()
        SHARD_EVICTIONS.labels(str(victim.number), reason).inc()
        _log.info("shard_evicted", shard=victim.number, bytes=victim.evicted_bytes, reason=reason)
        with self._changed:
            victim.is_closing = False
            self._changed.notify_all()
        return True

    def _resident_bytes(self) -> int:
        with self._changed:
            return sum(one.resident_bytes for one in self._shards.values())

    def _first_served(self) -> None:
        """Called when a load serves its first generation; calls `on_first` once in all."""
        with self._changed:
            then, self._on_first = self._on_first, lambda: None
        then()


class ShardHold:
    """A `Hold` of one of `Shards`."""

    def __init__(self, shards: Shards, shard: Shard) -> None:
        self._shards = shards
        self._shard = shard
        self._is_released = False

    @property
    def current(self) -> SnapshotSource:
        """Its generations."""
        return self._shard.current

    @property
    def is_loaded(self) -> bool:
        """Whether a call need not wait for it."""
        return self._shard.is_loaded

    async def loaded(self, until: float) -> None:
        """Load it if it is not.

        Raises:
            LoadingError: it is not loaded by `until`, a moment of the monotonic clock.
        """
        loading = self._shards.load(self._shard)
        await asyncio.wait([asyncio.wrap_future(loading)], timeout=max(0.0, until - time.monotonic()))
        if not loading.done():
            raise LoadingError(self._shard.number)
        loading.result()

    def release(self) -> None:
        """It may be evicted."""
        if not self._is_released:
            self._is_released = True
            self._shards.release(self._shard)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
