"""Finishes erasures in the background of the writer: the log, its archive, other copies, and quotations.

It starts when the generation without the erased memories is published. Planning, cleaning and derivation run
side by side, each for all erasures that wait for it, on copies of the writer's state. Their results are
recorded in that state between two batches and published with the next generation. After a restart, what is
not in a receipt is done again.
"""

from __future__ import annotations

import heapq
import uuid
from collections import defaultdict
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from helix_consolidation.delivery.erasing.audit import record_erasure
from helix_consolidation.delivery.erasing.backup_keys import BackupKeys
from helix_consolidation.delivery.erasing.derived_blocks import drop_derived_bytes
from helix_consolidation.delivery.erasing.erased_ids import MessageIds, are_erased
from helix_consolidation.delivery.erasing.other_streams import (
    remove_answers,
    remove_dead_letters,
    remove_pairs,
)
from helix_consolidation.delivery.erasing.periodic_task import PeriodicTask
from helix_consolidation.delivery.erasing.plan import complete, erase_event, logged_events, plan
from helix_consolidation.delivery.erasing.reading import for_each, remove_message
from helix_consolidation.delivery.erasing.rederiving import rederive
from helix_consolidation.delivery.erasing.round import ErasureTask, Round
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
        self._planning = PeriodicTask[list[ErasureTask]](ROUND_SECONDS)
        self._cleaning = PeriodicTask[Round](ROUND_SECONDS)
        self._deriving = PeriodicTask[dict[int, int]](ROUND_SECONDS)
        self._derived: dict[int, int] = {}
        """Event derived again -> its last message in HELIX_DERIVED, until that is applied."""

    def run_due(self, now: float) -> bool:
        """Record results and start what is due; return whether there is something to publish."""
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
        republished, has_quoting_messages = dict(erasures.republished), erasures.has_quoting_messages
        only_backups_left = [
            one.sequence
            for one in erasures.open.values()
            if one.is_clean_here and not one.is_complete and not one.is_state_key_replaced
        ]
        if tasks or republished or has_quoting_messages or only_backups_left:
            # `has_quoting_messages` stays until the round has dropped them: a generation of meanwhile may be
            # the last
            erasures.has_new_quoting_messages = False
            self._cleaning.start(
                self._run(Round(tasks, republished, has_quoting_messages, only_backups_left)), now
            )

    def _start_derivation(self, now: float) -> None:
        if not self._deriving.is_due(now):
            return
        erasures, model = self._shard.state.erasures, self._shard.state.model
        clean = [one for one in erasures.open.values() if one.are_streams_clean or one.is_out_of_streams]
        to_rederive = erasures.to_rederive.union(*(one.to_rederive for one in clean)).difference(
            self._derived
        )
        if to_rederive:
            chosen = heapq.nsmallest(BATCH_EVENTS, to_rederive)
            self._deriving.start(self._derive(chosen, "" if model is None else model.id), now)

    def _tasks(self, *, is_planned: bool) -> list[ErasureTask]:
        """The erasures that are done in the stores, but not in the streams."""
        return [
            ErasureTask.of(one)
            for one in self._shard.state.erasures.open.values()
            if "memories" in one.clean_since
            and not (one.are_streams_clean or one.is_out_of_streams)
            and one.is_plan_stored == one.is_planned == is_planned
        ]

    async def _plan(self, tasks: list[ErasureTask]) -> list[ErasureTask]:
        """The plans of erasures; what fails is done again."""
        try:
            await plan(
                tasks,
                client=self._client,
                thread=self._thread,
                state=self._shard.state,
                remove_quotations=self._remove_quotations,
            )
        except (*UNANSWERED, HelixError) as error:
            _warn("erasure not planned yet", error)
        return tasks

    async def _remove_quotations(self, task: ErasureTask) -> None:
        now = microseconds(datetime.now(UTC))
        await self._thread.run(self._shard.remove_quotations, task.sequence, task.without_memory, now=now)

    async def _run(self, work: Round) -> Round:
        """One round; what fails is done again in the next one."""
        try:
            await self._clean(work)
            if work.only_backups_left or (work.republished and work.are_republished_done):
                await self._keys.replace_state_key()
                work.is_state_key_replaced = True
        except (*UNANSWERED, HelixError) as error:
            _warn("erasure not finished yet", error)
        return work

    async def _derive(self, events: list[int], model: str) -> dict[int, int]:
        """Have events derived again; those that fail are asked for again."""
        try:
            return await rederive(
                self._client, self._publisher, events, model=model, round_id=uuid.uuid4().hex
            )
        except (*UNANSWERED, HelixError) as error:
            _warn("quoting events not derived again yet", error)
        return {}

    async def _clean(self, work: Round) -> None:
        of_tenant: defaultdict[str, set[int]] = defaultdict(set)
        planned = work.tasks
        await complete(planned, client=self._client, thread=self._thread, state=self._shard.state)
        await self._remove_events(planned, work.republished)
        for task in planned:
            of_tenant[task.tenant_id] |= task.events
        for sequence, tenant in work.republished.items():
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
        is_archive_clean = await self._clean_archive(work.republished, planned)
        is_due = bool(of_tenant) or work.has_quoting_messages
        if is_due and is_archive_clean and await self._drop_derived_bytes():
            await for_each(self._finish, planned)
            work.are_republished_done = True

    async def _finish(self, task: ErasureTask) -> None:
        """Audit an erasure of which the streams hold nothing any more."""
        event = await erase_event(self._client, task)
        if event is not None:
            await record_erasure(self._publisher, event, task.sequence, task.memories)
        task.is_done = True

    async def _drop_derived_bytes(self) -> bool:
        return await drop_derived_bytes(self._jetstream, shards=self._shard.place.map.shards)

    async def _clean_archive(self, republished: Iterable[int], planned: Sequence[ErasureTask]) -> bool:
        """Remove from the archive what left the log; False: not possible now, and the round goes on."""
        removed = set(republished).union(*(task.events for task in planned))
        try:
            found = await self._erase_archived(removed) if removed else frozenset[int]()
        except HelixError as error:
            _log.warning("archive not erased yet", reason=str(error))
            return False
        for task in planned:
            task.counts["archive"] += len(found & task.events)
        return True

    async def _remove_events(self, planned: Sequence[ErasureTask], republished: Iterable[int]) -> None:
        """Destroy the keys of events, then remove them from the log.

        A key first: an event whose key is destroyed is in no later backup, one that is removed has no owner.
        """
        of_tasks = await for_each(lambda task: logged_events(self._client, task.events), planned)
        logged = await logged_events(self._client, republished)
        for own in of_tasks:
            logged |= own
        for task in planned:
            if task.emptied_owner:
                await self._keys.destroy_user(task.emptied_owner, before=task.sequence)
        await self._keys.destroy(logged)
        remove = partial(remove_message, self._jetstream, subjects.EVENTS_STREAM)
        removed = dict(zip(logged, await for_each(remove, logged), strict=True))
        for task, own in zip(planned, of_tasks, strict=True):
            counted = [removed.pop(sequence) for sequence in own if sequence in removed]
            task.counts["events"] += sum(counted)
            task.counts["backups"] += len(counted)

    async def _are_erased(self, tenant_id: str, named: Sequence[MessageIds]) -> list[bool]:
        return await self._thread.run(are_erased, self._shard.state, tenant_id, named)

    def _take_plan(self) -> bool:
        tasks, opened = self._planning.take() or [], self._shard.state.erasures.open
        for task in tasks:
            if task.sequence in opened:
                task.record_plan(opened[task.sequence])
        return any(task.is_done for task in tasks)

    def _take_round(self) -> bool:
        done, erasures = self._cleaning.take(), self._shard.state.erasures
        if done is None:
            return False
        for task in done.tasks:
            if task.sequence in erasures.open:
                task.record_removals(erasures.open[task.sequence])
        for sequence in done.only_backups_left if done.is_state_key_replaced else ():
            if sequence in erasures.open:
                erasures.open[sequence].is_state_key_replaced = erasures.open[sequence].is_changed = True
        if done.are_republished_done:
            erasures.dropped_quoting_messages()
            for sequence in done.republished:
                erasures.republished.pop(sequence, None)
        return done.changed_state

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
        if self._shard.state.erasures.record_rederived(ready):
            # with the next generation: vectors that quoted something erased were replaced
            self._shard.purge.is_due = True
        return True


def _warn(what: str, error: Exception) -> None:
    _log.warning(what, reason=reason_of(error))
