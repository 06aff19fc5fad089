"""From standing by to writing to letting go: the life of one consolidation process.

It has its own pull loop instead of FastStream's subscribers, because fetching, holding, and
acknowledging after a generation are explicit here. Any failure but a server that is away ends the
process: what was not published is delivered again, to the next writer. `app` starts this.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from nats.errors import Error as NatsError

from helix.subjects import DERIVED_STREAM, EVENTS_STREAM
from helix_consolidation.inbox import Inbox
from helix_consolidation.shard import Shard
from helix_consolidation.stream_state import check_acknowledged, check_epoch, check_stream, event_stream
from helix_consolidation.turn import stand_by
from helix_consolidation.writer import Writer
from helix_shared.broker.streams import CONSOLIDATION_DERIVED, CONSOLIDATION_LIFECYCLE
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_consolidation.lease import Lease
    from helix_consolidation.settings import ConsolidationSettings

DURABLES: Final = ((DERIVED_STREAM, CONSOLIDATION_DERIVED), (EVENTS_STREAM, CONSOLIDATION_LIFECYCLE))

_log = logger(__name__)


async def consolidate(client: Client, settings: ConsolidationSettings, stop: asyncio.Event) -> None:
    """Stand by, then write until `stop` is set.

    Raises:
        LostLeaseError: another writer may be at work.
        HelixError: the data folder and the streams do not fit, or the stores disagree.
    """
    turn = await stand_by(client.jetstream(), settings.data_dir, stop)
    if turn is None:
        return
    lock, lease = turn
    try:
        async with asyncio.TaskGroup() as tasks:
            renewing = tasks.create_task(_renew_for_ever(lease))
            await _write(client, settings, lease, stop)
            renewing.cancel()
    except ExceptionGroup as failures:
        raise _first(failures) from failures
    await lease.release()
    lock.release()


def _first(failure: Exception) -> Exception:
    while isinstance(failure, ExceptionGroup):
        failure = failure.exceptions[0]
    return failure


async def _renew_for_ever(lease: Lease) -> None:
    while True:
        await asyncio.sleep(lease.renew_seconds)
        await lease.renew()


async def _write(client: Client, settings: ConsolidationSettings, lease: Lease, stop: asyncio.Event) -> None:
    jetstream = client.jetstream()
    shard = await asyncio.to_thread(
        Shard.open, settings.data_dir, maintain_every=settings.maintain_every, form=settings.vector_form
    )
    if shard.manifest is not None:
        check_epoch(lease.epoch, shard.manifest)
        check_stream(await event_stream(jetstream), shard.manifest)
    await check_acknowledged(jetstream, shard.known)
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
    writer = Writer(client, settings, lease=lease, shard=shard, inboxes=inboxes, arrived=arrived)
    try:
        await _run_beside(writer, inboxes, settings.ack_wait_seconds, stop)
        await writer.close()
    finally:
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
        except (NatsError, TimeoutError) as error:
            _log.warning("consumer not reset", consumer=durable, reason=str(error) or type(error).__name__)
