"""The life of one consolidation process: stand by, write under the lease, release it, and again.

It has its own pull loop instead of FastStream's subscribers, because it holds messages and acknowledges them
after a generation is published. A lost lease, or a server that is away for longer than the lease is valid,
ends the writing, not the process: it stands by again and starts from the newest generation. What was not
published is delivered again. Any other failure ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from nats.errors import Error as NatsError

from helix_consolidation.archiving.event_archive import EventArchive, erase_where_none_is_written
from helix_consolidation.archiving.moves import follow_moves
from helix_consolidation.delivery.followed_log import FollowedLog
from helix_consolidation.delivery.inbox import Inbox
from helix_consolidation.delivery.leading.lease import LostLeaseError
from helix_consolidation.delivery.leading.pausing import Pauses
from helix_consolidation.delivery.leading.standby import POLL_SECONDS, stand_by
from helix_consolidation.delivery.store_thread import StoreThread
from helix_consolidation.delivery.stream_state import (
    DURABLES,
    check_epoch,
    check_stream,
    created_at,
    event_stream,
    reconcile_derived_position,
    request_redelivery,
)
from helix_consolidation.delivery.writer import Writer
from helix_consolidation.observing.observer import Observer
from helix_consolidation.stores.begin import begin_empty, require_trained_prefix
from helix_consolidation.stores.shard import Shard
from helix_consolidation.uploading.opening import open_uploads
from helix_consolidation.usage.decay import decay_rule
from helix_memory.subjects import ACCESS_STREAM
from helix_shared.broker.cancelling import cancel_all
from helix_shared.broker.pull_reader import PullReader
from helix_shared.broker.shard_bucket import read_map
from helix_shared.broker.streams import writer_durable
from helix_shared.errors import TemporaryError
from helix_shared.moments import microseconds
from helix_shared.shard_map import ShardPlace
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import JetStreamContext

    from helix_consolidation.delivery.leading.lease import Lease
    from helix_consolidation.settings import ConsolidationSettings
    from helix_shared.telemetry.health import Health

INTERRUPTIONS: Final = (LostLeaseError, TemporaryError, NatsError, TimeoutError, ConnectionError)
"""Errors that end the writing, not the process; other `OSError`s come from the disk and end the process."""

_log = logger(__name__)


def durables_of(shard: int) -> list[tuple[str, str]]:
    """Stream and name of the durable consumers of a shard's writer."""
    return [(stream, writer_durable(name, shard)) for stream, name in DURABLES]


async def consolidate(
    client: Client, settings: ConsolidationSettings, stop: asyncio.Event, health: Health
) -> None:
    """Stand by and write until `stop` is set; start again after every interruption.

    `health` hears why the writer is blocked or publishes nothing.

    Raises:
        HelixError: the data folder and the streams do not fit, or the stores disagree.
    """
    async with Pauses(client, settings.shard, stop) as pauses:
        while not stop.is_set():
            await pauses.over()
            with pauses.halt() as halt:
                if await _write_once(client, settings, halt, health):
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(halt.wait(), POLL_SECONDS)


async def _write_once(
    client: Client, settings: ConsolidationSettings, halt: asyncio.Event, health: Health
) -> bool:
    """Stand by, and write until `halt` is set; returns whether something else ended it."""
    acquired = await stand_by(client.jetstream(), settings.data_dir, halt, shard=settings.shard)
    if acquired is None:
        return False
    lock, lease = acquired
    try:
        await _write_under(lease, client, settings, halt, health)
    except INTERRUPTIONS as error:
        _log.warning("writing interrupted", reason=str(error) or type(error).__name__)
        return True
    finally:
        lock.release()
    return False


async def _write_under(
    lease: Lease, client: Client, settings: ConsolidationSettings, stop: asyncio.Event, health: Health
) -> None:
    """Write while the lease is renewed; release it once no thread of this writer runs."""
    over = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(lease.renew_until(over))
            try:
                await _write(client, settings, lease, stop, health)
            finally:
                over.set()
    except BaseExceptionGroup as failures:
        raise _cause(failures) from failures
    finally:
        await lease.release()


def _cause(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """The failure that decides: one that ends the process, if there is any."""
    leaves: list[BaseException] = []
    waiting: list[BaseException] = [failures]
    while waiting:
        failure = waiting.pop(0)
        if isinstance(failure, BaseExceptionGroup):
            waiting += failure.exceptions
        else:
            leaves.append(failure)
    return next((leaf for leaf in leaves if not isinstance(leaf, INTERRUPTIONS)), leaves[0])


async def _write(
    client: Client, settings: ConsolidationSettings, lease: Lease, stop: asyncio.Event, health: Health
) -> None:
    """Open the stores, write until `stop`, and close them in any case."""
    executor = ThreadPoolExecutor(1, thread_name_prefix="stores")
    try:
        await _write_with(executor, client, settings, lease, stop, health)
    finally:
        # work in a thread continues when its caller is cancelled: wait until it ends
        await asyncio.to_thread(executor.shutdown)


async def _write_with(
    executor: ThreadPoolExecutor,
    client: Client,
    settings: ConsolidationSettings,
    lease: Lease,
    stop: asyncio.Event,
    health: Health,
) -> None:
    jetstream = client.jetstream()
    # nobody changes the map while this process has the lease of one of its shards
    place = await _place(jetstream, settings.shard)
    log = await event_stream(jetstream)
    open_shard = partial(
        Shard.open,
        settings.data_dir,
        maintain_every=settings.maintain_every,
        form=settings.vector_form,
        decay=decay_rule(settings),
        place=place,
    )
    loop = asyncio.get_running_loop()
    require_trained_prefix(settings.models_dir, settings.scan_dimensions)
    shard = await loop.run_in_executor(executor, open_shard)
    if shard.manifest is None and not (log.last_sequence and place.is_only):
        await loop.run_in_executor(executor, begin_empty, shard, settings.models_dir)
    if shard.manifest is not None:
        check_epoch(lease.epoch, shard.manifest)
        check_stream(log, shard.manifest)
    published_at = None if shard.manifest is None else shard.manifest.published_at
    if missing := await reconcile_derived_position(
        jetstream, shard.state, shard=place.shard, published_at=published_at
    ):
        _log.warning("derived messages are read again: the data folder lacks them", first=missing)
    shard.state.set_access_stream(await created_at(jetstream, ACCESS_STREAM))
    drop_foreign = partial(shard.drop_foreign, now=microseconds(datetime.now(UTC)))
    if moved := await loop.run_in_executor(executor, drop_foreign):
        _log.info("tenants of other shards removed", tenants=moved)
    if shard.published_place != place:
        await follow_moves(client, settings, log, before=shard.published_place, place=place)
    await request_redelivery(jetstream, shard.state, shard=place.shard)
    arrived = asyncio.Event()
    inboxes = [
        Inbox(
            client,
            stream,
            await PullReader.open(client, stream=stream, consumer=durable),
            arrived=arrived,
            batch_messages=settings.batch_messages,
            collect_seconds=settings.collect_seconds,
            held_messages=settings.held_messages,
        )
        for stream, durable in durables_of(place.shard)
    ]
    archive, erase_archived = None, partial(erase_where_none_is_written, settings.data_dir, log)
    if settings.archive:
        archive = EventArchive(
            client, settings.data_dir, log, segment_bytes=settings.archive_segment_bytes, place=place
        )
    uploads = await open_uploads(settings)
    shard.purge.attach(uploads)
    thread = StoreThread(executor, deadline_seconds=settings.deadline_seconds)
    writer = Writer(
        client,
        settings,
        thread=thread,
        lease=lease,
        shard=shard,
        inboxes=inboxes,
        arrived=arrived,
        health=health,
        log=FollowedLog(client, log, archive),
        erase_archived=erase_archived if archive is None else archive.erase,
    )
    try:
        if archive is not None:
            await archive.check_continues()
            await archive.catch_up(log.last_sequence)
        observer = Observer(client, settings.data_dir, shard)
        with uploads or contextlib.nullcontext():
            await _run_writer(writer, inboxes, observer, settings.ack_wait_seconds, stop)
            await writer.finish()
    finally:
        executor.submit(shard.close)
        if archive is not None:
            archive.close()
        for inbox in inboxes:
            await inbox.close()


async def _run_writer(
    writer: Writer,
    inboxes: list[Inbox],
    observer: Observer,
    ack_wait_seconds: float,
    stop: asyncio.Event,
) -> None:
    """Run the writer with fetching, keep-alive and metrics in the background."""
    async with asyncio.TaskGroup() as tasks:
        background = [
            tasks.create_task(observer.run()),
            *(tasks.create_task(inbox.fetch_while_open()) for inbox in inboxes),
            *(tasks.create_task(inbox.keep_alive(ack_wait_seconds=ack_wait_seconds)) for inbox in inboxes),
        ]
        try:
            await writer.run(stop)
        finally:
            for inbox in inboxes:
                inbox.stop_fetching()
            await cancel_all(background)


async def _place(jetstream: JetStreamContext, shard: int) -> ShardPlace:
    """The shard of this process in the map of now.

    Raises:
        TemporaryError: there are fewer shards.
    """
    found = await read_map(jetstream)
    if shard >= found.shards:
        raise TemporaryError(f"shard {shard} does not exist: there are {found.shards}; run `helix provision`")
    return ShardPlace(shard=shard, map=found)
