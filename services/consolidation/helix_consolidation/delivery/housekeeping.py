"""Periodic work of the writer besides its batches: gaps, pruning, sweeps, accesses, maintenance."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from helix_consolidation.delivery.abandoned import discard_abandoned
from helix_consolidation.delivery.pace import Interval
from helix_consolidation.delivery.streams.prune import prune_derived
from helix_consolidation.delivery.streams.stream_state import skip_gap
from helix_memory.subjects import DERIVED_STREAM, EVENTS_STREAM
from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_shared.moments import microseconds
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

    from helix_consolidation.delivery.inbox import Inbox
    from helix_consolidation.delivery.store_thread import StoreThread
    from helix_consolidation.settings import ConsolidationSettings
    from helix_consolidation.stores.shard import Shard

PRUNE_SECONDS: Final = 5.0
"""Time between two checks for derived messages that no consumer needs any more."""

_log = logger(__name__)


class Housekeeping:
    """Periodic work of the active writer."""

    def __init__(
        self,
        jetstream: JetStreamContext,
        settings: ConsolidationSettings,
        thread: StoreThread,
        shard: Shard,
        accesses: Inbox,
    ) -> None:
        now = time.monotonic()
        self._counted: list[Msg] = []
        self._accesses = accesses
        self._counting = Interval(settings.access_interval_seconds, now)
        self._jetstream = jetstream
        self._settings = settings
        self._thread = thread
        self._shard = shard
        self._gaps = Interval(settings.gap_seconds, now)
        self._pruning = Interval(PRUNE_SECONDS, now)
        self._sweeping = Interval(settings.sweep_seconds, now - settings.sweep_seconds)

    async def run_due(self) -> bool:
        """Do what is due; return whether there is something to publish."""
        now, changed = time.monotonic(), False
        if self._gaps.is_due(now):
            self._gaps.last = now
            changed |= await self._skip_gaps()
        if self._pruning.is_due(now):
            self._pruning.last = now
            await self._prune()
        if self._sweeping.is_due(now):
            self._sweeping.last = now
            changed |= await self._thread.run(self._shard.sweep, now=microseconds(datetime.now(UTC)))
            await self._thread.run(discard_abandoned, self._settings.data_dir)
            await self.retire()
        if self._accesses.waiting and (self._counting.is_due(now) or self._accesses.is_full):
            self._counting.last = now
            changed |= await self._count_accesses()
        return changed

    async def run_when_idle(self, idle_seconds: float) -> bool:
        """Do what is postponed until the writer is idle: maintenance of the vector table.

        Returns whether there is something to publish.
        """
        if idle_seconds < self._settings.idle_maintenance_seconds:
            return False
        return await self._thread.run(self._shard.maintain_when_idle)

    def take_counted(self) -> list[Msg]:
        """Messages about accesses that were counted since the last call; the next generation holds them."""
        counted, self._counted = self._counted, []
        return counted

    async def retire(self) -> None:
        """Remove old generations."""
        removed = await self._thread.run(
            self._shard.purge.retire,
            now=datetime.now(UTC),
            keep=self._settings.keep_generations,
            min_age_seconds=self._settings.keep_seconds,
        )
        if removed:
            _log.info("retired", generations=removed)

    async def _count_accesses(self) -> bool:
        """Count what the forwarder published; return whether there is something to publish."""
        messages = self._accesses.take(self._accesses.waiting)
        now = microseconds(datetime.now(UTC))
        changed = await self._thread.run(self._shard.apply_accesses, messages, now=now)
        for message in messages:
            message.data = b""
        self._counted += messages
        return changed

    async def _skip_gaps(self) -> bool:
        state, skipped = self._shard.state, False
        for stream, processed in ((EVENTS_STREAM, state.applied), (DERIVED_STREAM, state.derived)):
            if not processed.has_gap:
                continue
            try:
                if await skip_gap(self._jetstream, stream, processed):
                    _log.info("gap skipped", stream=stream, floor=processed.floor)
                    skipped = True
            except UNANSWERED as error:
                _log.warning("gap not checked", stream=stream, reason=reason_of(error))
        return skipped

    async def _prune(self) -> None:
        try:
            await prune_derived(self._jetstream, shards=self._shard.place.map.shards)
        except UNANSWERED as error:
            _log.warning("derived messages not pruned", reason=reason_of(error))
