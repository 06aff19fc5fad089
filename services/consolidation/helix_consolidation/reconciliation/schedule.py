"""Reconciles every night inside the writer, in a thread of the lowest priority.

A difference is logged and counted; nothing is repaired. `helix doctor` says what to do. What fails, because
NATS does not answer or the generation was retired meanwhile, is tried again while the hour lasts.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from helix_consolidation.metrics import RECONCILE_DIFFERENCES, RECONCILED
from helix_consolidation.reconciliation.compare import compare
from helix_consolidation.reconciliation.log import compare_log, read_state
from helix_memory.transport.connection import reason_of
from helix_shared.shard_map import ONLY_SHARD
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.reconciliation.compare import Comparison
    from helix_shared.shard_map import ShardPlace

LEAST_PRIORITY: Final = 19
NEVER: Final = -1
RETRY_AFTER: Final = timedelta(minutes=5)
"""Time after a failure until the next attempt."""
MISSING: Final = "in the log, in no store"

_log = logger(__name__)


class Reconciliation:
    """Runs once a day, in the hour `hour` (UTC); `NEVER` never."""

    def __init__(self, client: Client, root: Path, *, hour: int, place: ShardPlace = ONLY_SHARD) -> None:
        self._client = client
        self._root = root
        self._hour = hour
        self._place = place
        self._not_before = datetime.min.replace(tzinfo=UTC)
        self._running: asyncio.Task[bool] | None = None

    def run_due(self, generation: int | None, now: datetime) -> None:
        """Start if it is due; `generation` is the last one that was published."""
        if self._running is not None and self._running.done():
            ended, self._running = self._running, None
            if not ended.result():
                self._not_before = now + RETRY_AFTER
        if generation is None or self._running or now.hour != self._hour or now < self._not_before:
            return
        self._not_before = now + timedelta(hours=1)
        self._running = asyncio.create_task(self._run(generation))

    def close(self) -> None:
        """Stop; what its thread does goes on to its end, and is dropped."""
        if self._running is not None:
            self._running.cancel()

    async def _run(self, generation: int) -> bool:
        """Compare; False: that was not possible."""
        pool = ThreadPoolExecutor(1, thread_name_prefix="reconciliation", initializer=_rest)
        try:
            loop = asyncio.get_running_loop()
            stores, state = await loop.run_in_executor(pool, _read, self._root, generation)
            log = await compare_log(self._client, stores, state, place=self._place)
        except Exception as error:  # noqa: BLE001  it never ends the writing
            _log.warning("stores not reconciled", generation=generation, reason=reason_of(error))
            return False
        finally:
            pool.shutdown(wait=False)
        RECONCILE_DIFFERENCES.clear()
        RECONCILED.set_to_current_time()
        for one in stores.differences:
            RECONCILE_DIFFERENCES.labels(one.kind).inc(one.count)
            _log.error(
                "stores differ", kind=one.kind, tenant=one.tenant_id, count=one.count, ids=one.examples
            )
        for event in log.missing:
            RECONCILE_DIFFERENCES.labels(MISSING).inc()
            _log.error("event is in no store", tenant=event.tenant_id, sequence=event.sequence)
        _log.info(
            "reconciled",
            generation=generation,
            events=log.events,
            unasked=log.unasked,
            differences=len(stores.differences) + len(log.missing),
            **stores.counts,
        )
        return True


def _rest() -> None:
    """Lower the priority of this thread; on Linux each thread has its own niceness."""
    if Path("/proc/self/task").is_dir():
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LEAST_PRIORITY)


def _read(root: Path, generation: int) -> tuple[Comparison, ConsolidationState]:
    state = read_state(root, generation)
    with tempfile.TemporaryDirectory(prefix="helix-reconciliation-") as scratch:
        return compare(root, generation, scratch=Path(scratch)), state
