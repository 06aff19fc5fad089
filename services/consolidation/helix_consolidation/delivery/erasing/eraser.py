"""Finishes erasures in the background of the writer: the log, its archive, other copies, and the neighbours.

It begins when the generation without the erased memories is published, since nothing else repeats what is
removed here. Each round works on a copy of the writer's state. What is done is taken over between two batches
and published with the next generation; after a restart what is not in a receipt is done again.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from nats.errors import Error as NatsError

from helix_consolidation.delivery.erasing.copies import remove_answers, remove_dead_letters, remove_pairs
from helix_consolidation.delivery.erasing.derived_blocks import drop_derived_bytes
from helix_consolidation.delivery.erasing.neighbours import derive_again
from helix_consolidation.delivery.erasing.reading import messages_of, remove_message
from helix_consolidation.delivery.erasing.remembered import is_any_erased, unheld
from helix_consolidation.delivery.erasing.selected import selects, subject_of
from helix_consolidation.delivery.pace import Interval
from helix_consolidation.ledger.lifecycle.erasures import LoggedCandidate
from helix_memory import subjects
from helix_memory.events import EraseEvent
from helix_memory.transport.connection import UNANSWERED
from helix_shared.broker import log
from helix_shared.errors import HelixError
from helix_shared.published import published_event
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from nats.aio.client import Client

    from helix_consolidation.delivery.store_thread import StoreThread
    from helix_consolidation.ledger.event_reach import Actor
    from helix_consolidation.stores.shard import Shard
    from helix_memory.transport.publisher import Publishes

    EraseArchived = Callable[[Collection[int]], Awaitable[frozenset[int]]]
    """Removes events from the archive; returns which of them were there."""

AGAIN_SECONDS: Final = 1.0
"""Time between two rounds."""
ASKED_IN_A_ROUND: Final = 64
"""Events derived again in one round, so that a large erasure does not stop the others."""

_log = logger(__name__)


@dataclass(slots=True)
class Task:
    """One erasure in a round."""

    sequence: int
    tenant_id: str
    actor: Actor
    selects_more: bool
    """Whether it may select events that have no memory."""
    events: set[int]
    counts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    nexts: set[int] = field(default_factory=set)
    """Turns right after a removed one: their memories, and those of the turn before, were made with it."""
    is_done: bool = False


@dataclass(slots=True)
class Round:
    """What one round works on, and what became of it."""

    tasks: list[Task]
    late: dict[int, str]
    asks: list[int]
    model: str
    has_copies: bool
    derived: dict[int, int] = field(default_factory=dict)
    """Event derived again -> its last message in HELIX_DERIVED."""
    is_late_done: bool = False


class Eraser:
    """Of one writer."""

    def __init__(
        self,
        client: Client,
        publisher: Publishes,
        thread: StoreThread,
        shard: Shard,
        erase_archived: EraseArchived,
    ) -> None:
        self._client = client
        self._jetstream = client.jetstream()
        self._publisher = publisher
        self._thread = thread
        self._shard = shard
        self._erase_archived = erase_archived
        self._running: asyncio.Task[Round] | None = None
        self._derived: dict[int, int] = {}
        self._due = Interval(AGAIN_SECONDS, 0.0)

    def step(self, now: float) -> bool:
        """Take over a finished round, start the next; returns whether there is something to publish."""
        erasures, changed = self._shard.state.erasures, False
        if self._running is not None and self._running.done():
            task, self._running = self._running, None
            changed |= self._take_over(task.result())
        changed |= self._take_derived()
        if self._running is None and not erasures.is_idle and self._due.is_due(now):
            self._due.last = now
            found = self._next_round()
            if found is not None:
                self._running = asyncio.create_task(self._run(found))
        return changed or self._shard.has_erased_work

    async def close(self) -> None:
        """End the round that is running."""
        if self._running is not None:
            self._running.cancel()
            with contextlib.suppress(asyncio.CancelledError, HelixError, *UNANSWERED):
                await self._running

    def _next_round(self) -> Round | None:
        erasures, model = self._shard.state.erasures, self._shard.state.model
        tasks = [
            Task(one.sequence, one.tenant_id, one.actor, one.kind != "memory", set(one.events))
            for one in erasures.open.values()
            if "memories" in one.held and not one.are_streams_clean and not one.is_out_of_streams
        ]
        open_ones = [one for one in erasures.open.values() if one.are_streams_clean or one.is_out_of_streams]
        asks = erasures.asks.union(*(one.asks for one in open_ones)).difference(self._derived)
        chosen = sorted(asks)[:ASKED_IN_A_ROUND]
        late, has_copies = dict(erasures.late_tenants), erasures.has_copies
        if not (tasks or late or chosen or has_copies):
            return None
        # one that comes during the round is for the next
        erasures.has_copies = False
        return Round(tasks, late, chosen, "" if model is None else model.id, has_copies)

    async def _run(self, work: Round) -> Round:
        """One round; what fails is done again in the next one."""
        try:
            await self._clean(work)
            work.derived = await derive_again(
                self._client, self._publisher, work.asks, model=work.model, round_id=uuid.uuid4().hex
            )
        except (*UNANSWERED, NatsError, HelixError) as error:
            _log.warning("erasure not finished yet", reason=str(error) or type(error).__name__)
        return work

    async def _clean(self, work: Round) -> None:
        of_tenant: defaultdict[str, set[int]] = defaultdict(set)
        for task in work.tasks:
            await self._select(task)
            await self._remove_events(task)
            of_tenant[task.tenant_id] |= task.events
        for sequence, tenant in work.late.items():
            await remove_message(self._jetstream, subjects.EVENTS_STREAM, sequence)
            of_tenant[tenant].add(sequence)
        for tenant, removed in of_tenant.items():
            counts = {
                "dead_letters": await remove_dead_letters(self._jetstream, tenant, removed, self._is_erased),
                "answers": await remove_answers(self._jetstream, tenant, removed),
                "pairs": await remove_pairs(self._jetstream, tenant, removed, self._is_erased),
            }
            # a receipt counts what was of the erasure's own events, and of nobody else's
            for task in work.tasks:
                for name, found in counts.items() if task.tenant_id == tenant else ():
                    task.counts[name] += sum(found[sequence] for sequence in task.events)
        is_archive_clean = await self._clean_archive(work)
        is_due = bool(of_tenant) or work.has_copies
        if is_due and is_archive_clean and await drop_derived_bytes(self._jetstream):
            for task in work.tasks:
                task.is_done = True
            work.is_late_done = True

    async def _clean_archive(self, work: Round) -> bool:
        """Remove from the archive what left the log; False: not possible now, and the round goes on."""
        removed = set(work.late).union(*(task.events for task in work.tasks))
        try:
            found = await self._erase_archived(removed) if removed else frozenset[int]()
        except HelixError as error:
            _log.warning("archive not erased yet", reason=str(error))
            return False
        for task in work.tasks:
            task.counts["archive"] += len(found & task.events)
        return True

    async def _select(self, task: Task) -> None:
        """Add the events without memories that an erasure of a session, document or user selects."""
        event = await self._erase_event(task) if task.selects_more else None
        if event is None:
            return
        found = []
        async for message in messages_of(self._jetstream, subjects.EVENTS_STREAM, subject_of(event)):
            sequence = message.metadata.sequence.stream
            if sequence >= task.sequence:
                break
            name = selects(event, task.actor, message.subject, message.data)
            if name is not None and sequence not in task.events:
                found.append(LoggedCandidate(task.tenant_id, sequence, name))
        task.events |= await self._thread.run(unheld, self._shard.state, found)

    async def _erase_event(self, task: Task) -> EraseEvent | None:
        """The erase event, which stays in the log."""
        logged = await log.message_at(self._client, subjects.EVENTS_STREAM, task.sequence)
        event = None if logged is None else published_event(logged.subject, logged.body)
        return event if isinstance(event, EraseEvent) else None

    async def _remove_events(self, task: Task) -> None:
        for sequence in sorted(task.events):
            logged = await log.message_at(self._client, subjects.EVENTS_STREAM, sequence)
            if logged is None:
                continue
            task.counts["events"] += await remove_message(self._jetstream, subjects.EVENTS_STREAM, sequence)
            if subjects.kind_of(logged.subject) == "message":
                following = await log.first_after(
                    self._client, subjects.EVENTS_STREAM, logged.subject, sequence
                )
                if following is not None:
                    task.nexts.add(following.sequence)
        task.nexts -= task.events

    async def _is_erased(self, tenant_id: str, events: frozenset[str], memories: frozenset[str]) -> bool:
        return await self._thread.run(is_any_erased, self._shard.state, tenant_id, events, memories)

    def _take_over(self, done: Round) -> bool:
        erasures = self._shard.state.erasures
        for task in done.tasks:
            erasure = erasures.open.get(task.sequence)
            if erasure is None:
                continue
            for name, count in task.counts.items():
                if count:
                    erasure.add(name, count)
            erasure.asks |= task.nexts
            if task.is_done:
                erasure.events, erasure.are_streams_clean, erasure.is_changed = set(), True, True
        erasures.has_copies |= done.has_copies and not done.is_late_done
        if done.is_late_done:
            for sequence in done.late:
                erasures.late_tenants.pop(sequence, None)
                erasures.late.discard(sequence)
        self._derived |= done.derived
        return bool(done.tasks or done.late)

    def _take_derived(self) -> bool:
        """Note the events whose new memories are applied."""
        applied = self._shard.state.derived
        ready = [event for event, derived in self._derived.items() if not derived or derived in applied]
        for event in ready:
            del self._derived[event]
        if not ready:
            return False
        if self._shard.state.erasures.derived_again(ready):
            self._shard.replaced_quotations()
        return True
