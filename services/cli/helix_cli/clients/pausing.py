"""A command has the leases of some writers for a while: they give them up, and take them again afterwards."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from helix_consolidation.delivery.leading.pausing import LONGEST_SECONDS, encode_pause
from helix_consolidation.delivery.leading.standby import stand_by
from helix_memory.subjects import pause_request_subject
from helix_shared.broker.cancelling import cancel_all
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from nats.aio.client import Client

    from helix_consolidation.delivery.leading.lease import Lease

PATIENCE_SECONDS: Final = 30.0
"""Longest wait for a writer to give up its lease: it publishes what it applied."""
POLL_SECONDS: Final = 0.05


@contextlib.asynccontextmanager
async def paused_writers(
    client: Client, folders: Mapping[int, Path], *, patience_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[dict[int, Lease]]:
    """Inside, this process is the writer of shards, given with their data folders; returns their leases.

    The leases are renewed. Where this process is killed, the writers go on after `LONGEST_SECONDS`.

    Raises:
        TemporaryError: a writer does not give up its lease, or it writes in another data folder.
        LostLeaseError: a lease was lost.
    """
    asking = asyncio.create_task(_ask(client, folders))
    over = asyncio.Event()
    renewing: list[asyncio.Task[None]] = []
    try:
        async with contextlib.AsyncExitStack() as held:
            leases = {
                shard: await _held(held, client, shard, folder, patience_seconds)
                for shard, folder in folders.items()
            }
            renewing += [asyncio.create_task(lease.renew_until(over)) for lease in leases.values()]
            yield leases
            for lease in leases.values():
                lease.ensure_held()
    finally:
        over.set()
        await cancel_all([asking, *renewing])
        for shard in folders:
            await client.publish(pause_request_subject(shard), encode_pause(0))
        await client.flush()


async def _ask(client: Client, folders: Mapping[int, Path]) -> None:
    while True:
        for shard in folders:
            await client.publish(pause_request_subject(shard), encode_pause(LONGEST_SECONDS))
        await asyncio.sleep(LONGEST_SECONDS / 4)


async def _held(
    held: contextlib.AsyncExitStack, client: Client, shard: int, folder: Path, seconds: float
) -> Lease:
    stop = asyncio.Event()
    timer = asyncio.get_running_loop().call_later(seconds, stop.set)
    acquired = await stand_by(client.jetstream(), folder, stop, shard=shard, poll_seconds=POLL_SECONDS)
    timer.cancel()
    if acquired is None:
        raise TemporaryError(
            f"the writer of shard {shard} did not stop within {seconds:g} s, or writes in another data "
            f"folder than {folder}"
        )
    lock, lease = acquired
    held.callback(lock.release)
    held.push_async_callback(lease.release)
    return lease
