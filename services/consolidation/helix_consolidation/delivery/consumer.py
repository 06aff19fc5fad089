"""From standing by to writing to letting go, again and again: the life of one consolidation process.

It has its own pull loop instead of FastStream's subscribers, because fetching, holding, and
acknowledging after a generation are explicit here. A lost lease, or a server that is away for
longer than the lease lives, ends the writing and not the process: it stands by again and starts
from the newest generation. What was not published is delivered again. Any other failure ends the
process. `app` starts this.
"""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final

from nats.errors import Error as NatsError

from helix_consolidation.delivery.inbox import Inbox
from helix_consolidation.delivery.lease import LostLeaseError
from helix_consolidation.delivery.standby import POLL_SECONDS, stand_by
from helix_consolidation.delivery.stream_state import (
    check_acknowledged,
    check_epoch,
    check_stream,
    event_stream,
)
from helix_consolidation.delivery.writer import Writer
from helix_consolidation.stores.shard import Shard
from helix_memory.subjects import DERIVED_STREAM, EVENTS_STREAM
from helix_shared.broker.connection import UNANSWERED
from helix_shared.broker.streams import CONSOLIDATION_DERIVED, CONSOLIDATION_LIFECYCLE
from helix_shared.errors import TemporaryError
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_consolidation.delivery.lease import Lease
    from helix_consolidation.settings import ConsolidationSettings

DURABLES: Final = ((DERIVED_STREAM, CONSOLIDATION_DERIVED), (EVENTS_STREAM, CONSOLIDATION_LIFECYCLE))
INTERRUPTIONS: Final = (LostLeaseError, TemporaryError, NatsError, TimeoutError, ConnectionError)
"""What ends the writing, not the process. Other operating system errors are the disk's."""

_log = logger(__name__)


async def consolidate(client: Client, settings: ConsolidationSettings, stop: asyncio.Event) -> None:
    """Stand by and write until `stop` is set, and begin again after every interruption.

    Raises:
        HelixError: the data folder and the streams do not fit, or the stores disagree.
    """
    while not stop.is_set():
        turn = await stand_by(client.jetstream(), settings.data_dir, stop)
        if turn is None:
            return
        lock, lease = turn
        try:
            await _write_under(lease, client, settings, stop)
        except INTERRUPTIONS as error:
            _log.warning("writing interrupted", reason=str(error) or type(error).__name__)
        finally:
            lock.release()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), POLL_SECONDS)


async def _write_under(
    lease: Lease, client: Client, settings: ConsolidationSettings, stop: asyncio.Event
) -> None:
    """Write while the lease is renewed; it is released once no thread of this writer runs any more."""
    over = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_renew_until(over, lease))
            try:
                await _write(client, settings, lease, stop)
            finally:
                over.set()
    except ExceptionGroup as failures:
        raise _cause(failures) from failures
    finally:
        await lease.release()


def _cause(failures: ExceptionGroup[Exception]) -> Exception:
    """The failure to act on: one that ends the process, if there is any."""
    leaves: list[Exception] = []
    waiting: list[Exception] = [failures]
    while waiting:
        failure = waiting.pop(0)
        if isinstance(failure, ExceptionGroup):
            waiting += failure.exceptions
        else:
            leaves.append(failure)
    return next((leaf for leaf in leaves if not isinstance(leaf, INTERRUPTIONS)), leaves[0])


async def _renew_until(over: asyncio.Event, lease: Lease) -> None:
    # an event, because nats-py now and then swallows a cancellation
    while not over.is_set():
        try:
            await asyncio.wait_for(over.wait(), lease.renew_seconds)
        except TimeoutError:
            await lease.renew()


async def _write(client: Client, settings: ConsolidationSettings, lease: Lease, stop: asyncio.Event) -> None:
    """Open the stores, write until `stop`, and close them, whatever happens."""
    engine = ThreadPoolExecutor(1, thread_name_prefix="stores")
    try:
        await _write_with(engine, client, settings, lease, stop)
    finally:
        # work in a thread goes on when its caller is cancelled: nothing may begin before its end
        await asyncio.to_thread(engine.shutdown)


async def _write_with(
    engine: ThreadPoolExecutor,
    client: Client,
    settings: ConsolidationSettings,
    lease: Lease,
    stop: asyncio.Event,
) -> None:
    jetstream = client.jetstream()
    log = await event_stream(jetstream)
    open_shard = partial(
        Shard.open, settings.data_dir, maintain_every=settings.maintain_every, form=settings.vector_form
    )
    shard = await asyncio.get_running_loop().run_in_executor(engine, open_shard)
    if shard.manifest is not None:
        check_epoch(lease.epoch, shard.manifest)
        check_stream(log, shard.manifest)
    await check_acknowledged(jetstream, shard.state)
    await _deliver_again(client)
    arrived = asyncio.Event()
    inboxes = [
        Inbox(
            stream,
            await jetstream.pull_subscribe_bind(durable=durable, stream=stream),
            arrived=arrived,
            batch_messages=settings.batch_messages,
            collect_seconds=settings.collect_seconds,
            held_messages=settings.held_messages,
        )
        for stream, durable in DURABLES
    ]
    writer = Writer(
        client, settings, engine=engine, lease=lease, shard=shard, inboxes=inboxes, arrived=arrived
    )
    try:
        await _run_beside(writer, inboxes, settings.ack_wait_seconds, stop)
        await writer.settle()
    finally:
        engine.submit(shard.close)
        for inbox in inboxes:
            await inbox.close()


async def _run_beside(
    writer: Writer, inboxes: list[Inbox], ack_wait_seconds: float, stop: asyncio.Event
) -> None:
    """Run the writer while messages are fetched and kept alive."""
    async with asyncio.TaskGroup() as tasks:
        beside = [
            *(tasks.create_task(inbox.fetch_while_open()) for inbox in inboxes),
            *(tasks.create_task(inbox.keep_alive(ack_wait_seconds=ack_wait_seconds)) for inbox in inboxes),
        ]
        try:
            await writer.run(stop)
        finally:
            for inbox in inboxes:
                inbox.shut()
            for task in beside:
                task.cancel()


async def _deliver_again(client: Client) -> None:
    """Ask at once for what the last writer held; without the right to do so it comes after its ack wait."""
    for stream, durable in DURABLES:
        try:
            await client.jetstream().reset_consumer(stream, durable)
        except UNANSWERED as error:
            _log.warning("consumer not reset", consumer=durable, reason=str(error) or type(error).__name__)
