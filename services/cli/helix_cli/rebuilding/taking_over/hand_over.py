"""The stores that were made again take the place of those of the data folder, in one step.

The caller holds the processes that embed and write. The lease of the writer is taken, so no other process
publishes; the step is the replacement of CURRENT, after which the query service swaps as it does at every
generation. Before it nothing has changed, after it the workers continue: messages that are not applied yet
are of events that the new stores hold.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError

from helix_cli.rebuilding.refusals import Refusals
from helix_cli.rebuilding.served import Served
from helix_cli.rebuilding.taking_over.accesses import take_over_accesses
from helix_cli.rebuilding.taking_over.erasures import end_with_erasures, logs_of
from helix_cli.rebuilding.taking_over.set_aside import discard_old, set_aside
from helix_consolidation.delivery.leading.standby import stand_by
from helix_consolidation.delivery.settle import SERVICE as CONSOLIDATION
from helix_consolidation.delivery.streams.stream_state import created_at, event_stream
from helix_consolidation.stores.anew import continue_streams, publish_anew
from helix_consolidation.stores.publish import PublicationInfo
from helix_memory import subjects
from helix_memory.transport.publisher import Publisher
from helix_shared.broker import streams
from helix_shared.broker.shard_bucket import read_map
from helix_shared.errors import CorruptArtifactError, TemporaryError
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import JetStreamContext

    from helix_consolidation.delivery.leading.lease import Lease
    from helix_consolidation.stores.shard import Shard
    from helix_shared.artifacts.generation.manifest import Manifest

LEASE_SECONDS: Final = 30.0
PUBLISH_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class HandOver:
    """`shard` holds the whole log, and becomes the next generation of `data`."""

    client: Client
    shard: Shard
    data: Path
    refusals: Refusals
    derived_end: int
    """Messages of HELIX_DERIVED up to this one are of events that `shard` holds."""
    keeps: bool = False
    """Set the generation aside that is there."""
    is_alone: bool = False
    """No worker runs: also doc2query and kg begin after what is applied."""
    lease: Lease | None = None
    """Of a writer that was asked to pause, beside workers that go on; None: it is acquired."""

    async def run(self) -> tuple[Manifest, Path | None]:
        """Publish; returns the manifest, and the folder of what was set aside.

        Raises:
            TemporaryError: another process is the writer, NATS does not answer, or the shard map was changed;
                nothing has changed.
            LostLeaseError: the lease was lost; nothing has changed.
        """
        if self.lease is not None:
            return await self._published(self.lease)
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(LEASE_SECONDS, stop.set)
        acquired = await stand_by(self._jetstream, self.data, stop, shard=self.shard.place.shard)
        if acquired is None:
            raise TemporaryError(
                f"another process is the writer of {self.data}; it still was after {LEASE_SECONDS:g} s"
            )
        lock, lease = acquired
        over = asyncio.Event()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(lease.renew_until(over))
                try:
                    return await self._published(lease)
                finally:
                    over.set()
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from failures
        finally:
            await lease.release()
            lock.release()

    @property
    def _jetstream(self) -> JetStreamContext:
        return self.client.jetstream()

    async def _published(self, lease: Lease) -> tuple[Manifest, Path | None]:
        state, jetstream = self.shard.state, self._jetstream
        # nobody moves a tenant to or from this shard while the lease is held
        if await read_map(jetstream) != self.shard.place.map:
            raise TemporaryError("the shard map was changed meanwhile: nothing was replaced; rebuild again")
        log = await event_stream(jetstream)
        if log.last_sequence > state.applied.floor:
            # they come to the workers when they start again
            log = log.model_copy(update={"last_sequence": state.applied.floor})
        created = await created_at(jetstream, subjects.DERIVED_STREAM)
        continue_streams(self.shard, derived_stream=created, derived_end=self.derived_end)
        served = Served.look(self.data)
        await self._store_refusals(served)
        now = datetime.now(UTC)
        has_accesses = await asyncio.to_thread(self._take_over, served, microseconds(now))
        logs = logs_of(self.data, await created_at(jetstream, subjects.EVENTS_STREAM))
        await asyncio.to_thread(end_with_erasures, self.shard, served, logs)
        aside = await asyncio.to_thread(self._set_aside, served)
        info = PublicationInfo(lease.epoch, log, now)
        manifest = await asyncio.to_thread(
            publish_anew, self.shard, self.data, info, ensure_lease=lease.ensure_held
        )
        # after the step: an event that is skipped before it would be lost with a step that fails
        await self._skip_applied(has_accesses=has_accesses)
        return manifest, aside

    async def _store_refusals(self, served: Served) -> None:
        """Dead letters of the events that no worker has had."""
        jetstream, handled = self._jetstream, {}
        for service, consumer in (
            (streams.INGEST, streams.INGEST),
            (CONSOLIDATION, self._durable(streams.CONSOLIDATION_LIFECYCLE)),
        ):
            info = await jetstream.consumer_info(subjects.EVENTS_STREAM, consumer)
            floor = info.ack_floor.stream_seq if info.ack_floor else 0
            handled[service] = max(floor, served.applied)
        publisher = Publisher(jetstream, timeout_seconds=PUBLISH_SECONDS)
        await self.refusals.store(self.client, publisher, handled=handled)

    def _take_over(self, served: Served, now: int) -> bool:
        """Accesses, and what time alone hides; returns whether the accesses could be read."""
        has_accesses = not served.problem
        if has_accesses:
            try:
                take_over_accesses(self.shard, served.folder, now=now)
            except (CorruptArtifactError, OSError, ValueError, KeyError):
                has_accesses = False
        if not has_accesses:
            self.shard.state.set_access_stream("")
        self.shard.sweep(now=now)
        return has_accesses

    def _set_aside(self, served: Served) -> Path | None:
        """None where nothing is there, or where it may hold what was erased since."""
        if self._last_erasure > served.applied:
            discard_old(self.data)
            return None
        is_there = served.number and served.folder.is_dir()
        return set_aside(self.data, served.number) if self.keeps and is_there else None

    @property
    def _last_erasure(self) -> int:
        tombstones = self.shard.state.tombstones
        by_selector = (sequence for actors in tombstones.erased.values() for sequence in actors.values())
        by_id = (one.erased_at for one in tombstones.erased_memories.values())
        return max((*by_selector, *by_id), default=0)

    async def _skip_applied(self, *, has_accesses: bool) -> None:
        """Let consumers begin after what the stores hold, so that nothing is embedded twice.

        Workers that also work for other shards stay where they are: those lack what is not derived yet. So
        do workers that go on; what they derive again changes nothing.
        """
        workers, readers = [], [self._durable(streams.CONSOLIDATION_LIFECYCLE)]
        if self.shard.place.is_only and self.lease is None:
            readers.append(streams.INGEST)
            workers += [streams.DOC2QUERY, streams.KG]
        after = {(subjects.EVENTS_STREAM, name): self.shard.state.applied.floor for name in readers}
        if self.is_alone:
            workers.append(self._durable(streams.CONSOLIDATION_DERIVED))
            after |= {(subjects.DERIVED_STREAM, name): self.derived_end for name in workers}
        for (stream, name), floor in after.items():
            info = await self._jetstream.consumer_info(stream, name)
            if info.num_pending or info.num_ack_pending:
                await self._jetstream.reset_consumer(stream, name, seq=floor + 1)
        if not has_accesses:
            # what HELIX_ACCESS still has is counted again
            durable = self._durable(streams.CONSOLIDATION_ACCESS)
            await self._jetstream.reset_consumer(subjects.ACCESS_STREAM, durable, seq=1)

    def _durable(self, consumer: str) -> str:
        """The consumer of this shard's writer."""
        return streams.writer_durable(consumer, self.shard.place.shard)


async def draw_statements_again(jetstream: JetStreamContext) -> bool:
    """Let the worker `extract` read the log from the first turn on; returns whether it is provisioned.

    It publishes the statements of recorded answers, and asks nothing twice. Where the model is another one it
    is stopped meanwhile: it takes the one that it finds when it starts.
    """
    try:
        await jetstream.consumer_info(subjects.EVENTS_STREAM, streams.EXTRACT)
    except NotFoundError:
        return False
    await jetstream.reset_consumer(subjects.EVENTS_STREAM, streams.EXTRACT, seq=1)
    return True
