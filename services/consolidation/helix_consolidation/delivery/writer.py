"""The active writer: apply, publish, and only then answer. The one place that knows the order.

Engine work runs in a thread, one piece at a time; the event loop stays free for heartbeats and
for the lease. `consumer` starts it when its turn has come.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from nats.errors import Error as NatsError

from helix_consolidation.delivery.blocked import BlockedMessages
from helix_consolidation.delivery.out_of_order import OutOfOrderMessages
from helix_consolidation.delivery.pace import Due, events_to_come, pace_of
from helix_consolidation.delivery.prune import prune_derived
from helix_consolidation.delivery.settle import SERVICE, answer, file, postpone
from helix_consolidation.delivery.stream_state import event_stream, skip_gap
from helix_consolidation.stores.publish import PublicationInfo
from helix_consolidation.stores.shard import Outcome
from helix_memory.subjects import DERIVED_STREAM, EVENTS_STREAM
from helix_shared.broker.connection import UNANSWERED
from helix_shared.broker.publisher import Publisher
from helix_shared.broker.pull import RETRY_SECONDS
from helix_shared.broker.worker.watchdog import end_at_once
from helix_shared.errors import TemporaryError
from helix_shared.moments import microseconds
from helix_shared.telemetry import GENERATION, MESSAGES, WORK_SECONDS, logger

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from nats.aio.client import Client
    from nats.aio.msg import Msg

    from helix_consolidation.delivery.inbox import Inbox
    from helix_consolidation.delivery.lease import Lease
    from helix_consolidation.settings import ConsolidationSettings
    from helix_consolidation.stores.shard import Shard

TICK_SECONDS: Final = 0.05
"""Longest sleep when nothing arrives; due work waits no longer."""

PRUNE_SECONDS: Final = 5.0
"""Time between two looks for derived messages that nobody needs any more."""

P = ParamSpec("P")
T = TypeVar("T")

_log = logger(__name__)


class Writer:
    """The active writer; lives from getting its turn to losing or giving it up."""

    def __init__(
        self,
        client: Client,
        settings: ConsolidationSettings,
        *,
        engine: ThreadPoolExecutor,
        lease: Lease,
        shard: Shard,
        inboxes: list[Inbox],
        arrived: asyncio.Event,
    ) -> None:
        now = time.monotonic()
        self._jetstream = client.jetstream()
        self._publisher = Publisher(self._jetstream, timeout_seconds=settings.publish_timeout_seconds)
        self._settings = settings
        self._engine = engine
        self._lease = lease
        self._shard = shard
        self._inboxes = inboxes
        self._arrived = arrived
        self._unpublished = Outcome()
        self._is_dirty = False
        self._is_urgent = False
        self._log_end = 0
        self._standstill = BlockedMessages(client, service=SERVICE)
        # the other half of the room is for what they wait for
        self._early = OutOfOrderMessages(settings.held_messages // 2)
        self._answering: asyncio.Task[None] | None = None
        self._applying = Due(settings.apply_interval_seconds, now - settings.apply_interval_seconds)
        # the first generation is due at once, also in a backlog
        longest = max(settings.publish_interval_seconds, settings.backlog_interval_seconds)
        self._publishing = Due(settings.publish_interval_seconds, now - longest)
        self._sweeping = Due(settings.sweep_seconds, now - settings.sweep_seconds)
        self._gaps = Due(settings.gap_seconds, now)
        self._pruning = Due(PRUNE_SECONDS, now)

    async def run(self, stop: asyncio.Event) -> None:
        """Apply and publish until `stop`, then publish what is left."""
        while not stop.is_set():
            # asked every time round: a cancellation may get lost in a wait, a lost lease must not
            self._lease.ensure_held()
            await self._apply([*self._retried(), *self._no_longer_early(), *await self._next_batch()])
            await self._housekeep()
            if self._is_publication_due():
                await self._publish()
        if self._is_dirty and self._shard.can_publish:
            await self._publish()

    async def settle(self) -> None:
        """Finish answering, and hand back what is held; the stores stay open."""
        self._standstill.close()
        if self._answering is not None:
            await self._answering
        for inbox in self._inboxes:
            with contextlib.suppress(*UNANSWERED):
                await inbox.give_back()

    async def _in_engine(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Work on the stores, in the one thread that does.

        Work past its deadline ends the process at once: nothing else can be done in that thread, and the
        lease must not be released while the work may still go on.
        """
        loop = asyncio.get_running_loop()
        seconds = self._settings.deadline_seconds
        timer = asyncio.timeout(seconds)
        try:
            async with timer:
                return await loop.run_in_executor(self._engine, functools.partial(work, *args, **kwargs))
        except TimeoutError:
            if timer.expired():
                end_at_once(f"{work.__name__} did not end within its deadline of {seconds:g} s")
            raise

    async def _next_batch(self) -> list[Msg]:
        if not any(inbox.waiting for inbox in self._inboxes):
            self._arrived.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._arrived.wait(), TICK_SECONDS)
        self._keep_pace()
        if not self._is_application_due():
            await asyncio.sleep(TICK_SECONDS)
            return []
        return [m for inbox in self._inboxes for m in inbox.take(self._settings.batch_messages)]

    def _retried(self) -> list[Msg]:
        """What stood still and may fit now."""
        model = self._shard.state.model
        return self._standstill.take(model=model.id if model else "") if self._standstill.is_on else []

    def _no_longer_early(self) -> list[Msg]:
        """What came too early before; nothing of it may pass a message that does not fit."""
        if self._standstill.is_on:
            return []
        return self._early.take(self._shard.state, most=self._settings.batch_messages)

    def _is_application_due(self) -> bool:
        """Not at once for every message: a batch of a few costs the stores as much as one of a hundred."""
        full = any(inbox.waiting >= self._settings.batch_messages for inbox in self._inboxes)
        return full or self._applying.is_due(time.monotonic())

    async def _apply(self, messages: list[Msg]) -> None:
        if not messages:
            return
        self._lease.ensure_held()
        with WORK_SECONDS.labels(SERVICE).time():
            try:
                self._log_end = (await event_stream(self._jetstream)).last_sequence
            except UNANSWERED as error:
                _log.warning("not applied yet", reason=str(error) or type(error).__name__)
                self._put_back(messages)
                await asyncio.sleep(RETRY_SECONDS)
                return
            outcome = await self._in_engine(self._shard.apply, messages, now=_now(), log_end=self._log_end)
        await file(outcome, self._publisher)
        self._shard.dead_letters_stored(outcome)
        self._is_urgent |= any(message.metadata.stream == EVENTS_STREAM for message in messages)
        for message in outcome.done:
            # it is held until its generation is out; its body is not needed any more
            message.data = b""
        self._unpublished.done += outcome.done
        self._unpublished.dead += outcome.dead
        self._is_dirty = self._is_dirty or bool(outcome.done or outcome.dead)
        self._applying.last = time.monotonic()
        again = self._early.keep(outcome.postponed, self._shard.state)
        self._release([message for message, _ in again])
        await postpone(again, self._shard.state)
        if outcome.unfit or any(m.metadata.stream == DERIVED_STREAM for m in messages):
            await self._stand(outcome)

    async def _stand(self, outcome: Outcome) -> None:
        """Take no derived messages while one does not fit, and say so."""
        changed = self._standstill.note(outcome)
        for inbox in self._inboxes:
            if inbox.stream == DERIVED_STREAM:
                inbox.is_paused = self._standstill.is_on
        if changed:
            await self._lease.tell(self._standstill.reason)

    def _keep_pace(self) -> None:
        """Go slower in a backlog, but not when something is to be hidden or erased."""
        urgent = self._is_urgent or any(i.waiting for i in self._inboxes if i.stream == EVENTS_STREAM)
        here = sum(inbox.events_waiting for inbox in self._inboxes) + len(self._early.events)
        to_come = 0 if urgent else events_to_come(self._shard.state.applied, self._log_end, here=here)
        pace = pace_of(self._settings, events_to_come=to_come)
        self._applying.every_seconds = pace.apply_seconds
        self._publishing.every_seconds = pace.publish_seconds

    async def _housekeep(self) -> None:
        now = time.monotonic()
        if self._gaps.is_due(now):
            self._gaps.last = now
            await self._skip_gaps()
        if self._pruning.is_due(now):
            self._pruning.last = now
            await self._prune()
        if self._sweeping.is_due(now):
            self._sweeping.last = now
            self._is_dirty |= await self._in_engine(self._shard.sweep, now=_now())
            await self._retire()

        if not self._is_dirty and now - self._publishing.last >= self._settings.tidy_seconds:
            self._is_dirty = await self._in_engine(self._shard.tidy)

    async def _skip_gaps(self) -> None:
        state = self._shard.state
        for stream, processed in ((EVENTS_STREAM, state.applied), (DERIVED_STREAM, state.derived)):
            if not processed.has_gap:
                continue
            try:
                if await skip_gap(self._jetstream, stream, processed):
                    _log.info("gap skipped", stream=stream, floor=processed.floor)
                    self._is_dirty = True
            except UNANSWERED as error:
                _log.warning("gap not looked up", stream=stream, reason=str(error) or type(error).__name__)

    async def _prune(self) -> None:
        try:
            await prune_derived(self._jetstream)
        except UNANSWERED as error:
            _log.warning("derived messages not pruned", reason=str(error) or type(error).__name__)

    def _is_publication_due(self) -> bool:
        if not (self._is_dirty and self._shard.can_publish):
            return False
        return self._publishing.is_due(time.monotonic()) or any(inbox.is_full for inbox in self._inboxes)

    async def _publish(self) -> None:
        # asked of the server, not of the clock: who lost the lease a moment ago publishes nothing
        await self._lease.renew()
        self._publishing.last = time.monotonic()
        try:
            stream = await event_stream(self._jetstream)
            circumstances = PublicationInfo(self._lease.epoch, stream, datetime.now(UTC))
            manifest = await self._in_engine(
                self._shard.publish, circumstances, ensure_lease=self._lease.ensure_held
            )
        except (TemporaryError, NatsError, TimeoutError, ConnectionError) as error:
            _log.warning("not published yet", reason=str(error) or type(error).__name__)
            return
        self._is_dirty = self._is_urgent = False
        self._publishing.last = time.monotonic()
        GENERATION.labels(SERVICE).set(manifest.generation)
        _log.info(
            "published",
            generation=manifest.generation,
            memories=manifest.counts.recallable,
            applied=manifest.applied_sequence,
            derived=manifest.derived_sequence,
        )
        await self._answer_published()
        await self._retire()

    async def _answer_published(self) -> None:
        """Answer in the background; one generation's answers at a time."""
        if self._answering is not None:
            await self._answering
        outcome, self._unpublished = self._unpublished, Outcome()
        self._answering = asyncio.create_task(self._answer(outcome))

    async def _answer(self, outcome: Outcome) -> None:
        await answer(outcome)
        self._release([*outcome.done, *(message for message, _ in outcome.dead)])
        MESSAGES.labels(SERVICE, "done").inc(len(outcome.done))

    def _put_back(self, messages: list[Msg]) -> None:
        for inbox in self._inboxes:
            if inbox.is_paused:
                continue  # what was taken of it is the standstill's, and stays there
            inbox.put_back([m for m in messages if m.metadata.stream == inbox.stream])

    def _release(self, messages: list[Msg]) -> None:
        for inbox in self._inboxes:
            inbox.release(m for m in messages if m.metadata.stream == inbox.stream)

    async def _retire(self) -> None:
        removed = await self._in_engine(
            self._shard.retire,
            now=datetime.now(UTC),
            keep=self._settings.keep_generations,
            min_age_seconds=self._settings.keep_seconds,
        )
        if removed:
            _log.info("retired", generations=removed)


def _now() -> int:
    return microseconds(datetime.now(UTC))
