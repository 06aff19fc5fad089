"""Finishes erasures in the background of the writer: the log, its archive, other copies, and the neighbours.

It begins when the generation without the erased memories is published, since nothing else repeats what is
removed here. Planning, cleaning and derivation go on beside each other, each for all erasures that wait for
it, on copies of the writer's state. What is done is taken over between two batches and published with the
next generation; after a restart what is not in a receipt is done again.
"""

from __future__ import annotations

import heapq
import uuid
from collections import defaultdict
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from helix_consolidation.delivery.erasing.audit import record_erasure
from helix_consolidation.delivery.erasing.background import BackgroundTask
from helix_consolidation.delivery.erasing.backup_keys import BackupKeys
from helix_consolidation.delivery.erasing.derived_blocks import drop_derived_bytes
from helix_consolidation.delivery.erasing.neighbours import derive_again
from helix_consolidation.delivery.erasing.other_streams import (
    remove_answers,
    remove_dead_letters,
    remove_pairs,
)
from helix_consolidation.delivery.erasing.plan import complete, erase_event, logged_events, plan
from helix_consolidation.delivery.erasing.reading import for_each, remove_message
from helix_consolidation.delivery.erasing.remembered import Named, are_erased
from helix_consolidation.delivery.erasing.round import Round, Task
from helix_memory import subjects
from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_shared.errors import HelixError
from helix_shared.moments import microseconds
from helix_shared.shard_map import first_folder
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from nats.aio.client import Client

    from helix_consolidation.delivery.store_thread import StoreThread
    from helix_consolidation.stores.shard import Shard
    from helix_memory.transport.publisher import Publishes

    EraseArchived = Callable[[Collection[int]], Awaitable[frozenset[int]]]
    """Removes events from the archive; returns which of them were there."""

ROUND_SECONDS: Final = 1.0
"""Time between two rounds."""
BATCH_EVENTS: Final = 64
"""Events of one request for derivations; what they became is noted together."""

_log = logger(__name__)


class Eraser:
    """The eraser of one writer."""

    def __init__(
        self,
        client: Client,
        publisher: Publishes,
        thread: StoreThread,
        shard: Shard,
        erase_archived: EraseArchived,
        data: Path,
    ) -> None:
        """`data`: the data folder; that of the first shard has the keys of backups, for all shards."""
        self._client = client
        self._keys = BackupKeys(first_folder(data, shard.place.shard))
        self._jetstream = client.jetstream()
        self._publisher = publisher
        self._thread = thread
        self._shard = shard
        self._erase_archived = erase_archived
        self._planning = BackgroundTask[list[Task]](ROUND_SECONDS)
        self._cleaning = BackgroundTask[Round](ROUND_SECONDS)
        self._deriving = BackgroundTask[dict[int, int]](ROUND_SECONDS)
        self._derived: dict[int, int] = {}
        """Event derived again -> its last message in HELIX_DERIVED, until that is applied."""

    def run_due(self, now: float) -> bool:
        """Take over what has ended, start what is next; returns whether there is something to publish."""
        changed = self._take_plan() | self._take_round() | self._take_derived()
        if not self._shard.state.erasures.is_idle:
            self._start_plan(now)
            self._start_round(now)
            self._start_derivation(now)
        return changed or self._shard.purge.has_work

    async def close(self) -> None:
        """End what is running."""
        for task in (self._planning, self._cleaning, self._deriving):
            await task.close()

    def _start_plan(self, now: float) -> None:
        if self._planning.is_due(now) and (tasks := self._tasks(is_planned=False)):
            self._planning.start(self._plan(tasks), now)

    def _start_round(self, now: float) -> None:
        if not self._cleaning.is_due(now):
            return
        erasures, tasks = self._shard.state.erasures, self._tasks(is_planned=True)
        late, has_copies = dict(erasures.late), erasures.has_copies
        ends = [
            one.sequence
            for one in erasures.open.values()
            if one.is_clean_here and not one.is_complete and not one.is_state_key_replaced
        ]
        if tasks or late or has_copies or ends:
            # `has_copies` stays until the round has dropped them: a generation of meanwhile may be the last
            erasures.has_new_copies = False
            self._cleaning.start(self._run(Round(tasks, late, has_copies, ends)), now)

    def _start_derivation(self, now: float) -> None:
        if not self._deriving.is_due(now):
            return
        erasures, model = self._shard.state.erasures, self._shard.state.model
        clean = [one for one in erasures.open.values() if one.are_streams_clean or one.is_out_of_streams]
        asks = erasures.asks.union(*(one.asks for one in clean)).difference(self._derived)
        if asks:
            chosen = heapq.nsmallest(BATCH_EVENTS, asks)
            self._deriving.start(self._derive(chosen, "" if model is None else model.id), now)

    def _tasks(self, *, is_planned: bool) -> list[Task]:
        """The erasures that are out of the stores, and not of the streams."""
        return [
            Task.of(one)
            for one in self._shard.state.erasures.open.values()
            if "memories" in one.held
            and not (one.are_streams_clean or one.is_out_of_streams)
            and one.is_plan_stored == one.is_planned == is_planned
        ]

    async def _plan(self, tasks: list[Task]) -> list[Task]:
        """The plans of erasures; what fails is done again."""
        try:
            await plan(
                tasks,
                client=self._client,
                thread=self._thread,
                state=self._shard.state,
                take_out=self._take_out,
            )
        except (*UNANSWERED, HelixError) as error:
            _warn("erasure not planned yet", error)
        return tasks

    async def _take_out(self, task: Task) -> None:
        now = microseconds(datetime.now(UTC))
        await self._thread.run(self._shard.take_out, task.sequence, task.silent, now=now)

    async def _run(self, work: Round) -> Round:
        """One round; what fails is done again in the next one."""
        try:
            await self._clean(work)
            if work.ends or (work.late and work.is_late_done):
                await self._keys.replace_state_key()
                work.is_state_key_replaced = True
        except (*UNANSWERED, HelixError) as error:
            _warn("erasure not finished yet", error)
        return work

    async def _derive(self, events: list[int], model: str) -> dict[int, int]:
        """Have events derived again; those that fail are asked for again."""
        try:
            return await derive_again(
                self._client, self._publisher, events, model=model, round_id=uuid.uuid4().hex
            )
        except (*UNANSWERED, HelixError) as error:
            _warn("neighbours not derived again yet", error)
        return {}

    async def _clean(self, work: Round) -> None:
        of_tenant: defaultdict[str, set[int]] = defaultdict(set)
        planned = work.tasks
        await complete(planned, client=self._client, thread=self._thread, state=self._shard.state)
        await self._remove_events(planned, work.late)
        for task in planned:
            of_tenant[task.tenant_id] |= task.events
        for sequence, tenant in work.late.items():
            of_tenant[tenant].add(sequence)
        for tenant, removed in of_tenant.items():
            counts = {
                "dead_letters": await remove_dead_letters(self._jetstream, tenant, removed, self._are_erased),
                "answers": await remove_answers(self._jetstream, tenant, removed),
                "pairs": await remove_pairs(self._jetstream, tenant, removed, self._are_erased),
            }
            # a receipt counts what was of the erasure's own events, and of nobody else's
            for task in planned:
                for name, found in counts.items() if task.tenant_id == tenant else ():
                    task.counts[name] += sum(found[sequence] for sequence in task.events)
        is_archive_clean = await self._clean_archive(work.late, planned)
        is_due = bool(of_tenant) or work.has_copies
        if is_due and is_archive_clean and await self._drop_derived_bytes():
            await for_each(self._finish, planned)
            work.is_late_done = True

    async def _finish(self, task: Task) -> None:
        """Audit an erasure of which the streams hold nothing any more."""
        event = await erase_event(self._client, task)
        if event is not None:
            await record_erasure(self._publisher, event, task.sequence, task.memories)
        task.is_done = True

    async def _drop_derived_bytes(self) -> bool:
        return await drop_derived_bytes(self._jetstream, shards=self._shard.place.map.shards)

    async def _clean_archive(self, late: Iterable[int], planned: Sequence[Task]) -> bool:
        """Remove from the archive what left the log; False: not possible now, and the round goes on."""
        removed = set(late).union(*(task.events for task in planned))
        try:
            found = await self._erase_archived(removed) if removed else frozenset[int]()
        except HelixError as error:
            _log.warning("archive not erased yet", reason=str(error))
            return False
        for task in planned:
            task.counts["archive"] += len(found & task.events)
        return True

    async def _remove_events(self, planned: Sequence[Task], late: Iterable[int]) -> None:
        """Destroy the keys of events, then remove them from the log.

        A key first: an event whose key is destroyed is in no later backup, one that is removed has no owner.
        """
        of_tasks = await for_each(lambda task: logged_events(self._client, task.events), planned)
        logged = await logged_events(self._client, late)
        for own in of_tasks:
            logged |= own
        for task in planned:
            if task.whole_owner:
                await self._keys.destroy_user(task.whole_owner, before=task.sequence)
        await self._keys.destroy(logged)
        remove = partial(remove_message, self._jetstream, subjects.EVENTS_STREAM)
        removed = dict(zip(logged, await for_each(remove, logged), strict=True))
        for task, own in zip(planned, of_tasks, strict=True):
            counted = [removed.pop(sequence) for sequence in own if sequence in removed]
            task.counts["events"] += sum(counted)
            task.counts["backups"] += len(counted)

    async def _are_erased(self, tenant_id: str, named: Sequence[Named]) -> list[bool]:
        return await self._thread.run(are_erased, self._shard.state, tenant_id, named)

    def _take_plan(self) -> bool:
        tasks, opened = self._planning.take() or [], self._shard.state.erasures.open
        for task in tasks:
            if task.sequence in opened:
                task.take_over_plan(opened[task.sequence])
        return any(task.is_done for task in tasks)

    def _take_round(self) -> bool:
        done, erasures = self._cleaning.take(), self._shard.state.erasures
        if done is None:
            return False
        for task in done.tasks:
            if task.sequence in erasures.open:
                task.take_over(erasures.open[task.sequence])
        for sequence in done.ends if done.is_state_key_replaced else ():
            if sequence in erasures.open:
                erasures.open[sequence].is_state_key_replaced = erasures.open[sequence].is_changed = True
        if done.is_late_done:
            erasures.dropped_copies()
            for sequence in done.late:
                erasures.late.pop(sequence, None)
        return done.has_news

    def _take_derived(self) -> bool:
        """Note the events whose new memories are applied."""
        if derived := self._deriving.take():
            self._derived |= derived
            self._deriving.hurry()
        applied = self._shard.state.derived
        ready = [event for event, derived in self._derived.items() if not derived or derived in applied]
        for event in ready:
            del self._derived[event]
        if not ready:
            return False
        if self._shard.state.erasures.derived_again(ready):
            # with the next generation: vectors that quoted something erased were replaced
            self._shard.purge.is_due = True
        return True


def _warn(what: str, error: Exception) -> None:
    _log.warning(what, reason=reason_of(error))
