"""The active writer: archive, apply, publish, and only then acknowledge. The one place that knows this order.

`session` creates it once the process has the lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from nats.errors import Error as NatsError

from helix_consolidation.delivery.abandoned import mark_erasure
from helix_consolidation.delivery.blocked import BlockedMessages
from helix_consolidation.delivery.erasing.eraser import Eraser
from helix_consolidation.delivery.foreign import ForeignMessages
from helix_consolidation.delivery.housekeeping import Housekeeping
from helix_consolidation.delivery.inbox import put_back, release
from helix_consolidation.delivery.out_of_order import OutOfOrderMessages
from helix_consolidation.delivery.pace import GenerationAge, Interval, events_to_come, pace_of
from helix_consolidation.delivery.publication_need import PublicationNeed
from helix_consolidation.delivery.settle import (
    SERVICE,
    postpone,
    settle,
    store_dead_letters,
    store_unreached,
)
from helix_consolidation.delivery.unsure_pairs import UnsurePairsStore
from helix_consolidation.reconciliation.schedule import Reconciliation
from helix_consolidation.stores.outcome import Outcome
from helix_consolidation.stores.publish import PublicationInfo
from helix_memory.subjects import ACCESS_STREAM, DERIVED_STREAM, EVENTS_STREAM
from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_memory.transport.publisher import Publisher
from helix_shared.broker.pull import RETRY_SECONDS
from helix_shared.broker.traced import made_recallable
from helix_shared.errors import TemporaryError
from helix_shared.moments import microseconds
from helix_shared.telemetry.logs import logger
from helix_shared.telemetry.metrics import MESSAGES, WORK_SECONDS, report_generation

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

    from helix_consolidation.delivery.erasing.eraser import EraseArchived
    from helix_consolidation.delivery.inbox import Inbox
    from helix_consolidation.delivery.leading.lease import Lease
    from helix_consolidation.delivery.store_thread import StoreThread
    from helix_consolidation.delivery.streams.followed_log import FollowedLog
    from helix_consolidation.settings import ConsolidationSettings
    from helix_consolidation.stores.shard import Shard
    from helix_shared.telemetry.health import Health

TICK_SECONDS: Final = 0.05
"""Longest sleep when nothing arrives, and so the longest delay of due work."""

_log = logger(__name__)


class Writer:
    """Exists while its process holds the lease."""

    def __init__(
        self,
        client: Client,
        settings: ConsolidationSettings,
        *,
        thread: StoreThread,
        lease: Lease,
        shard: Shard,
        inboxes: list[Inbox],
        arrived: asyncio.Event,
        health: Health,
        log: FollowedLog,
        erase_archived: EraseArchived,
    ) -> None:
        now = time.monotonic()
        self._health = health
        self._age = GenerationAge(settings, now)
        self._client = client
        self._jetstream = client.jetstream()
        self._publisher = Publisher(self._jetstream, timeout_seconds=settings.publish_timeout_seconds)
        self._settings = settings
        self._thread = thread
        self._lease = lease
        self._shard = shard
        self._inboxes = [inbox for inbox in inboxes if inbox.stream != ACCESS_STREAM]
        self._all_inboxes = inboxes
        self._arrived = arrived
        self._unpublished = Outcome()
        self._need = PublicationNeed()
        if shard.can_publish and (shard.manifest is None or shard.published_place != shard.place):
            self._need.note("first generation" if shard.manifest is None else "shard map")
        self._log = log
        [accesses] = [inbox for inbox in inboxes if inbox.stream == ACCESS_STREAM]
        self._housekeeping = Housekeeping(self._jetstream, settings, thread, shard, accesses)
        self._pairs = UnsurePairsStore(self._jetstream, self._publisher, epoch=lease.epoch)
        self._reconciliation = Reconciliation(
            client, settings.data_dir, hour=settings.reconcile_hour, place=shard.place
        )
        self._eraser = Eraser(client, self._publisher, thread, shard, erase_archived, settings.data_dir)
        self._blocked = BlockedMessages(client)
        self._foreign = ForeignMessages(shard, every_seconds=settings.backlog_interval_seconds)
        # the other half of the room is left for the messages they wait for
        self._out_of_order = OutOfOrderMessages(settings.held_messages // 2)
        self._settling: asyncio.Task[None] | None = None
        self._applying = Interval(settings.apply_interval_seconds, now - settings.apply_interval_seconds)
        # the first generation is due at once, also in a backlog
        self._publishing = Interval(settings.publish_interval_seconds, now - self._age.longest_seconds)

    async def run(self, halt: asyncio.Event) -> None:
        """Apply and publish until `halt`, then publish what is left."""
        await self._pairs.run_due(self._shard)
        while not halt.is_set():
            # checked in every iteration: nats-py may swallow a cancellation, a lost lease must not be missed
            self._lease.ensure_held()
            await self._apply([*self._take_unblocked(), *self._take_in_order(), *await self._next_batch()])
            await self._run_housekeeping()
            if self._is_publication_due():
                await self._publish()
            self._report_age()
        if self._need and self._shard.can_publish:
            await self._publish()

    async def close(self) -> None:
        """End the background tasks and reporting; call it whether or not `run` failed."""
        self._blocked.close()
        self._reconciliation.close()
        for part in ("blocked", "generation"):
            self._health.set_problem(part, "")
        await self._eraser.close()

    async def finish(self) -> None:
        """Finish settling and give held messages back; the stores stay open."""
        if self._settling is not None:
            await self._settling
        for inbox in self._all_inboxes:
            with contextlib.suppress(*UNANSWERED):
                await inbox.give_back()

    def _report_age(self) -> None:
        """Report how old the last generation is while something waits for the next one."""
        is_due = bool(self._need) and self._shard.can_publish
        is_waiting = is_due or any(inbox.waiting for inbox in self._inboxes)
        self._health.set_problem("generation", self._age.problem(time.monotonic(), is_waiting=is_waiting))

    async def _next_batch(self) -> list[Msg]:
        if not any(inbox.waiting for inbox in self._inboxes):
            self._arrived.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._arrived.wait(), TICK_SECONDS)
        self._set_pace()
        if not self._is_application_due():
            await asyncio.sleep(TICK_SECONDS)
            return []
        return [m for inbox in self._inboxes for m in inbox.take(self._settings.batch_messages)]

    def _take_unblocked(self) -> list[Msg]:
        """Blocked messages that may fit now."""
        model = self._shard.state.model
        return self._blocked.take(model=model.id if model else "") if self._blocked.is_on else []

    def _take_in_order(self) -> list[Msg]:
        """Out-of-order messages that may be applied now; none while an incompatible message blocks."""
        if self._blocked.is_on:
            return []
        return self._out_of_order.take(self._shard.state, most=self._settings.batch_messages)

    def _is_application_due(self) -> bool:
        """Whether a batch is full or the interval has passed; a small batch costs as much as a large one."""
        full = any(inbox.waiting >= self._settings.batch_messages for inbox in self._inboxes)
        return full or self._applying.is_due(time.monotonic())

    async def _apply(self, messages: list[Msg]) -> None:
        if not messages:
            return
        self._lease.ensure_held()
        with WORK_SECONDS.labels(SERVICE).time():
            if not await self._log.prepare_to_apply():
                put_back(self._inboxes, messages)
                await asyncio.sleep(RETRY_SECONDS)
                return
            now = microseconds(datetime.now(UTC))
            end = self._log.last_sequence
            outcome = await self._thread.run(self._shard.apply, messages, now=now, log_end=end)
        await store_dead_letters(outcome, self._publisher)
        self._shard.dead_letters_stored(outcome)
        self._need.is_urgent |= any(message.metadata.stream == EVENTS_STREAM for message in messages)
        for message in (*outcome.done, *outcome.foreign):
            # held until its generation is published, but its body is not needed any more
            message.data = b""
        self._unpublished.done += outcome.done
        self._unpublished.dead += outcome.dead
        self._unpublished.foreign += outcome.foreign
        is_awaited = self._foreign.note(outcome)
        if is_awaited or outcome.done or outcome.dead:
            self._need.note("messages")
        self._applying.last = time.monotonic()
        others = self._out_of_order.keep(outcome.postponed, self._shard.state)
        release(self._all_inboxes, [message for message, _ in others])
        await postpone(others, self._shard.state)
        if outcome.incompatible or any(m.metadata.stream == DERIVED_STREAM for m in messages):
            await self._block(outcome)

    async def _block(self, outcome: Outcome) -> None:
        """Stop taking derived messages while one is incompatible, and report that in the lease."""
        changed = self._blocked.update(outcome)
        for inbox in self._inboxes:
            if inbox.stream == DERIVED_STREAM:
                inbox.is_paused = self._blocked.is_on
        if changed:
            self._health.set_problem("blocked", self._blocked.reason)
            await self._lease.report(self._blocked.reason)

    def _set_pace(self) -> None:
        """Set the intervals by the backlog; lifecycle events are not delayed by it."""
        urgent = self._need.is_urgent or any(i.waiting for i in self._inboxes if i.stream == EVENTS_STREAM)
        here = sum(inbox.events_waiting for inbox in self._inboxes) + len(self._out_of_order.events)
        end = self._log.last_sequence
        to_come = 0 if urgent else events_to_come(self._shard.state.applied, end, here=here)
        pace = pace_of(self._settings, events_to_come=to_come)
        self._applying.every_seconds = pace.apply_seconds
        self._publishing.every_seconds = pace.publish_seconds

    async def _run_housekeeping(self) -> None:
        manifest = self._shard.manifest
        self._reconciliation.run_due(None if manifest is None else manifest.generation, datetime.now(UTC))
        await self._pairs.run_due(self._shard)
        if await self._housekeeping.run_due():
            self._need.note("housekeeping")
        if self._eraser.run_due(time.monotonic()):
            self._need.note("erasure")
        counted = self._housekeeping.take_counted()
        if self._need:
            self._unpublished.done += counted
        elif counted:
            # nothing to publish: they named memories that do not exist
            await self._settle(Outcome(done=counted))
        idle_seconds = time.monotonic() - self._publishing.last
        if not self._need and await self._housekeeping.run_when_idle(idle_seconds):
            self._need.note("maintenance")

    def _is_publication_due(self) -> bool:
        if not self._shard.can_publish:
            return False
        now, is_full = time.monotonic(), any(inbox.is_full for inbox in self._inboxes)
        if not self._need:
            return self._foreign.is_due(math.inf if is_full else now - self._publishing.last)
        return self._publishing.is_due(now) or is_full

    async def _publish(self) -> None:
        # the server is asked, not the clock: a writer that has just lost the lease must not publish
        await self._lease.renew()
        self._publishing.last = time.monotonic()
        if self._shard.purge.is_due:
            mark_erasure(self._settings.data_dir)
        if (log := await self._log.refresh()) is None:
            return
        try:
            await store_unreached(self._client, self._shard.unreached, self._publisher)
            await self._pairs.store(self._shard)
            info = PublicationInfo(self._lease.epoch, log, datetime.now(UTC))
            manifest = await self._thread.run(self._shard.publish, info, ensure_lease=self._lease.ensure_held)
        except (TemporaryError, NatsError, TimeoutError, ConnectionError) as error:
            _log.warning("generation not published yet", reason=reason_of(error))
            return
        reasons = self._need.published() + self._foreign.published()
        self._publishing.last = time.monotonic()
        self._age.published(self._publishing.last)
        report_generation(SERVICE, manifest, memories=manifest.counts.recallable)
        _log.info(
            "published",
            reasons=reasons,
            generation=manifest.generation,
            memories=manifest.counts.recallable,
            applied=manifest.applied_sequence,
            derived=manifest.derived_sequence,
        )
        made_recallable(self._unpublished.done, manifest.generation, SERVICE)
        await self._settle_published()
        await self._housekeeping.retire()

    async def _settle_published(self) -> None:
        """Settle the messages of published generations in the background, one generation at a time."""
        if self._settling is not None:
            await self._settling
        outcome, self._unpublished = self._unpublished, Outcome()
        self._settling = asyncio.create_task(self._settle(outcome))

    async def _settle(self, outcome: Outcome) -> None:
        await settle(outcome)
        release(self._all_inboxes, [*outcome.done, *outcome.foreign, *(m for m, _ in outcome.dead)])
        MESSAGES.labels(SERVICE, "done").inc(len(outcome.done))
