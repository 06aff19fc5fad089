"""A writer's session: opens stores, inboxes, archive and uploads under its lease, and closes them at the end.

`writer_session` has the order in which streams and data folder are compared before anything is applied.
"""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from helix_consolidation.archiving.event_archive import EventArchive, erase_where_none_is_written
from helix_consolidation.archiving.moves import follow_moves
from helix_consolidation.delivery.inbox import Inbox
from helix_consolidation.delivery.store_thread import StoreThread
from helix_consolidation.delivery.streams.followed_log import FollowedLog
from helix_consolidation.delivery.streams.stream_state import (
    check_epoch,
    check_stream,
    created_at,
    durables_of,
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
from helix_shared.errors import TemporaryError
from helix_shared.moments import microseconds
from helix_shared.shard_map import ShardPlace
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from concurrent.futures import Executor

    from nats.aio.client import Client
    from nats.js import JetStreamContext

    from helix_consolidation.delivery.leading.lease import Lease
    from helix_consolidation.settings import ConsolidationSettings
    from helix_consolidation.uploading.upload_thread import UploadThread
    from helix_shared.artifacts.generation.manifest import StreamState
    from helix_shared.telemetry.health import Health

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class WriterSession:
    """A writer, and the resources it uses."""

    client: Client
    settings: ConsolidationSettings
    log: StreamState
    """The log as it was when the session was opened."""
    shard: Shard
    inboxes: list[Inbox]
    archive: EventArchive | None
    uploads: UploadThread | None
    writer: Writer

    async def write(self, halt: asyncio.Event) -> None:
        """Archive the log up to now, write until `halt`, and give held messages back."""
        if self.archive is not None:
            await self.archive.check_continues()
            await self.archive.catch_up(self.log.last_sequence)
        observer = Observer(self.client, self.settings.data_dir, self.shard)
        with self.uploads or contextlib.nullcontext():
            try:
                await self._run(observer, halt)
            finally:
                await self.writer.close()
            await self.writer.finish()

    async def _run(self, observer: Observer, halt: asyncio.Event) -> None:
        """Run the writer with fetching, keep-alive and metrics in the background."""
        ack_wait_seconds = self.settings.ack_wait_seconds
        async with asyncio.TaskGroup() as tasks:
            background = [
                tasks.create_task(observer.run()),
                *(tasks.create_task(one.fetch_while_open()) for one in self.inboxes),
                *(
                    tasks.create_task(one.keep_alive(ack_wait_seconds=ack_wait_seconds))
                    for one in self.inboxes
                ),
            ]
            try:
                await self.writer.run(halt)
            finally:
                for inbox in self.inboxes:
                    inbox.stop_fetching()
                await cancel_all(background)


@contextlib.asynccontextmanager
async def writer_session(
    client: Client, settings: ConsolidationSettings, lease: Lease, health: Health
) -> AsyncIterator[WriterSession]:
    """Open a session under `lease`; at the end everything is closed, and no thread of it runs.

    That holds also where opening fails half way, as when NATS goes away, or is cancelled.

    Raises:
        HelixError: the data folder and the streams do not fit, or the stores disagree.
    """
    async with contextlib.AsyncExitStack() as owned:
        executor = ThreadPoolExecutor(1, thread_name_prefix="stores")
        # work in a thread continues when its caller is cancelled: wait until it ends
        owned.push_async_callback(asyncio.to_thread, executor.shutdown)
        yield await _open(client, settings, lease, health, executor, owned)


async def _open(
    client: Client,
    settings: ConsolidationSettings,
    lease: Lease,
    health: Health,
    executor: ThreadPoolExecutor,
    owned: contextlib.AsyncExitStack,
) -> WriterSession:
    """The session; `owned` closes what was opened, whether all of it was or not."""
    jetstream = client.jetstream()
    # nobody changes the map while this process has the lease of one of its shards
    place = await _place(jetstream, settings.shard)
    log = await event_stream(jetstream)
    shard = await _open_shard(settings, executor, place, log, owned)
    await _compare_streams(jetstream, lease, shard, log)
    await _follow_map(client, settings, executor, shard, log)
    await request_redelivery(jetstream, shard.state, shard=place.shard)
    arrived = asyncio.Event()
    inboxes = await _open_inboxes(client, settings, place, arrived, owned)
    archive, erase_archived = None, partial(erase_where_none_is_written, settings.data_dir, log)
    if settings.archive:
        archive = EventArchive(
            client, settings.data_dir, log, segment_bytes=settings.archive_segment_bytes, place=place
        )
        # it waits for a thread that erases, which may take minutes: the event loop must not
        owned.push_async_callback(asyncio.to_thread, archive.close)
    uploads = await open_uploads(settings)
    shard.purge.attach(uploads)
    writer = Writer(
        client,
        settings,
        thread=StoreThread(executor, deadline_seconds=settings.deadline_seconds),
        lease=lease,
        shard=shard,
        inboxes=inboxes,
        arrived=arrived,
        health=health,
        log=FollowedLog(client, log, archive),
        erase_archived=erase_archived if archive is None else archive.erase,
    )
    return WriterSession(client, settings, log, shard, inboxes, archive, uploads, writer)


async def _place(jetstream: JetStreamContext, shard: int) -> ShardPlace:
    """The shard of this process in the map of now.

    Raises:
        TemporaryError: there are fewer shards.
    """
    found = await read_map(jetstream)
    if shard >= found.shards:
        raise TemporaryError(f"shard {shard} does not exist: there are {found.shards}; run `helix provision`")
    return ShardPlace(shard=shard, map=found)


async def _open_shard(
    settings: ConsolidationSettings,
    executor: Executor,
    place: ShardPlace,
    log: StreamState,
    owned: contextlib.AsyncExitStack,
) -> Shard:
    """Open the stores; a new data folder of an empty log, or of one shard of several, begins empty."""
    require_trained_prefix(settings.models_dir, settings.scan_dimensions)
    opening = executor.submit(
        Shard.open,
        settings.data_dir,
        maintain_every=settings.maintain_every,
        form=settings.vector_form,
        decay=decay_rule(settings),
        place=place,
    )
    # in the thread that opens it, which may still do so when the wait for it is cancelled
    owned.callback(executor.submit, lambda: opening.result().close())
    shard = await asyncio.wrap_future(opening)
    if shard.manifest is None and not (log.last_sequence and place.is_only):
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(executor, begin_empty, shard, settings.models_dir)
    return shard


async def _compare_streams(jetstream: JetStreamContext, lease: Lease, shard: Shard, log: StreamState) -> None:
    """Compare the lease and the streams with the last generation; correct what counts as processed."""
    published_at = None
    if shard.manifest is not None:
        check_epoch(lease.epoch, shard.manifest)
        check_stream(log, shard.manifest)
        published_at = shard.manifest.published_at
    missing = await reconcile_derived_position(
        jetstream, shard.state, shard=shard.place.shard, published_at=published_at
    )
    if missing:
        _log.warning("derived messages are read again: the data folder lacks them", first=missing)
    shard.state.set_access_stream(await created_at(jetstream, ACCESS_STREAM))


async def _follow_map(
    client: Client, settings: ConsolidationSettings, executor: Executor, shard: Shard, log: StreamState
) -> None:
    """Remove tenants that the shard map places elsewhere, and bring the archive to that map."""
    drop_foreign = partial(shard.drop_foreign, now=microseconds(datetime.now(UTC)))
    if moved := await asyncio.get_running_loop().run_in_executor(executor, drop_foreign):
        _log.info("tenants of other shards removed", tenants=moved)
    if shard.published_place != shard.place:
        await follow_moves(client, settings, log, before=shard.published_place, place=shard.place)


async def _open_inboxes(
    client: Client,
    settings: ConsolidationSettings,
    place: ShardPlace,
    arrived: asyncio.Event,
    owned: contextlib.AsyncExitStack,
) -> list[Inbox]:
    inboxes = []
    for stream, durable in durables_of(place.shard):
        inbox = Inbox(
            client,
            stream,
            await PullReader.open(client, stream=stream, consumer=durable),
            arrived=arrived,
            batch_messages=settings.batch_messages,
            collect_seconds=settings.collect_seconds,
            held_messages=settings.held_messages,
        )
        owned.push_async_callback(inbox.close)
        inboxes.append(inbox)
    return inboxes
