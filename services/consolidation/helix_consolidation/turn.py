"""Waiting for one's turn: first the folder lock, then the lease."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from nats.errors import Error as NatsError

from helix_consolidation.lease import FolderLock, Lease
from helix_shared.broker.streams import LEASES
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from pathlib import Path

    from nats.js import JetStreamContext

POLL_SECONDS: Final = 1.0

_log = logger(__name__)


async def stand_by(
    jetstream: JetStreamContext, folder: Path, stop: asyncio.Event
) -> tuple[FolderLock, Lease] | None:
    """The lock and the lease, once both are free; None when `stop` comes first."""
    lock = FolderLock(folder)
    is_waiting = False
    while not stop.is_set():
        if lock.acquire():
            lease = await _lease(jetstream, lock)
            if lease is not None:
                _log.info("writing", epoch=lease.epoch)
                return lock, lease
        if not is_waiting:
            _log.info("standing by")
        is_waiting = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), POLL_SECONDS)
    lock.release()
    return None


async def _lease(jetstream: JetStreamContext, lock: FolderLock) -> Lease | None:
    try:
        bucket = await jetstream.key_value(LEASES)
        return await Lease.acquire(bucket, lock_identity=lock.identity)
    except (NatsError, TimeoutError, OSError) as error:
        _log.warning("lease not available", reason=str(error) or type(error).__name__)
        return None
