"""Standing by: wait for the folder lock, then for the lease.

A lease bucket that was created again counts its revisions from 1, and fencing epochs are revisions. Its count
is therefore raised above the epoch of the newest generation on the disk before a lease is used: epochs never
go back, and nobody has to repair the bucket.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from nats.js.errors import BucketNotFoundError

from helix_consolidation.delivery.leading.lease import FolderLock, Lease
from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_shared.artifacts.generation.folders import folder_of, published_numbers
from helix_shared.artifacts.generation.manifest import raw_manifest
from helix_shared.broker.streams import LEASE_STREAM, LEASES
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from pathlib import Path

    from nats.js import JetStreamContext

POLL_SECONDS: Final = 1.0

_log = logger(__name__)


async def stand_by(
    jetstream: JetStreamContext,
    folder: Path,
    halt: asyncio.Event,
    *,
    shard: int = 0,
    poll_seconds: float = POLL_SECONDS,
) -> tuple[FolderLock, Lease] | None:
    """The lock of a folder and the lease of a shard, once both are free; None when `halt` comes first."""
    lock = FolderLock(folder)
    reported = ""
    try:
        while not halt.is_set():
            reason = "another process has the folder lock"
            if lock.acquire():
                epoch = await asyncio.to_thread(_published_epoch, folder)
                lease, reason = await _lease(jetstream, lock, epoch, shard)
                if lease is not None:
                    _log.info("writing", epoch=lease.epoch)
                    return lock, lease
            if reason != reported:
                _log.info("standing by", reason=reason)
            reported = reason
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(halt.wait(), poll_seconds)
    except BaseException:
        lock.release()
        raise
    lock.release()
    return None


def _published_epoch(folder: Path) -> int:
    """Highest epoch that a generation on the disk states, current or not, of whatever format; 0: none."""
    stated = (raw_manifest(folder_of(folder, number)).get("epoch") for number in published_numbers(folder))
    return max((epoch for epoch in stated if isinstance(epoch, int)), default=0)


async def _lease(
    jetstream: JetStreamContext, lock: FolderLock, epoch: int, shard: int
) -> tuple[Lease | None, str]:
    """A lease with an epoch above `epoch`, or the reason why there is none."""
    try:
        bucket = await jetstream.key_value(LEASES)
        lease = await Lease.acquire(bucket, lock_identity=lock.identity, shard=shard)
        if lease is not None and lease.epoch <= epoch:
            _log.warning("lease bucket was created again", revision=lease.epoch, newest_epoch=epoch)
            # the purge removes our own lease; a writer of another shard that has one acquires it again
            await jetstream.purge_stream(LEASE_STREAM, seq=epoch + 1)
            lease = await Lease.acquire(bucket, lock_identity=lock.identity, shard=shard)
    except BucketNotFoundError:
        return None, f"there is no lease bucket {LEASES}; run `helix provision`"
    except UNANSWERED as error:
        return None, f"lease not available: {reason_of(error)}"
    return lease, "another process has the lease"
