"""The stores that were made again take the place of those of the data folder, in one step.

The caller holds the processes that embed and write. The lease of the writer is taken, so no other process
publishes; the step is the replacement of CURRENT, after which the query service swaps as it does at every
generation. Before it nothing has changed, after it the workers continue with the new model: messages that
were made with the old one, and are not applied yet, are of events that the new stores hold.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError

from helix_cli.rebuilding.accesses import take_over_accesses
from helix_consolidation.delivery.standby import stand_by
from helix_consolidation.delivery.stream_state import created_at, event_stream
from helix_consolidation.stores.anew import continue_streams, publish_anew
from helix_consolidation.stores.publish import PublicationInfo
from helix_memory import subjects
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.broker import streams
from helix_shared.errors import TemporaryError
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import JetStreamContext

    from helix_consolidation.delivery.lease import Lease
    from helix_consolidation.stores.shard import Shard
    from helix_shared.artifacts.generation.manifest import Manifest

LEASE_SECONDS: Final = 30.0


async def hand_over(client: Client, shard: Shard, data: Path) -> Manifest:
    """Publish the stores of `shard`, which hold the whole log, as the next generation of `data`.

    Raises:
        TemporaryError: another process is the writer, or NATS does not answer; nothing has changed.
        LostLeaseError: the lease was lost; nothing has changed.
    """
    jetstream = client.jetstream()
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(LEASE_SECONDS, stop.set)
    acquired = await stand_by(jetstream, data, stop)
    if acquired is None:
        raise TemporaryError(
            f"another process is the writer of {data}; it still was after {LEASE_SECONDS:g} s"
        )
    lock, lease = acquired
    over = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(lease.renew_until(over))
            try:
                return await _published(jetstream, lease, shard, data)
            finally:
                over.set()
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    finally:
        await lease.release()
        lock.release()


async def _published(jetstream: JetStreamContext, lease: Lease, shard: Shard, data: Path) -> Manifest:
    log = await event_stream(jetstream)
    if log.last_sequence > shard.state.applied.floor:
        # they come to the workers when they start again
        log = log.model_copy(update={"last_sequence": shard.state.applied.floor})
    derived = (await jetstream.stream_info(subjects.DERIVED_STREAM)).state
    continue_streams(
        shard,
        derived_stream=await created_at(jetstream, subjects.DERIVED_STREAM),
        derived_end=derived.last_seq,
    )
    now = datetime.now(UTC)
    number = current_number(data)
    if number is not None:
        before = folder_of(data, number)
        await asyncio.to_thread(take_over_accesses, shard, before, now=microseconds(now))
    info = PublicationInfo(lease.epoch, log, now)
    return await asyncio.to_thread(publish_anew, shard, data, info, ensure_lease=lease.ensure_held)


async def draw_statements_again(jetstream: JetStreamContext) -> bool:
    """Let the worker `extract` read the log from the first turn on; returns whether it is provisioned.

    It is stopped meanwhile. It publishes the statements of recorded answers with the model that it finds when
    it starts, and asks nothing twice. Where this ends midway, `helix up` provisions before it starts it.
    """
    try:
        await jetstream.delete_consumer(subjects.EVENTS_STREAM, streams.EXTRACT)
    except NotFoundError:
        return False
    await streams.provision(jetstream, endpoint=True)
    return True
