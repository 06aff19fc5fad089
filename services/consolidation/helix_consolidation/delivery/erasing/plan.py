"""What an erasure takes from the log, and who is derived again: looked up before the log loses the events.

A generation stores the plan before anything is removed. So a restart misses neither an event nor a neighbour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.delivery.erasing.backup_keys import Keyed
from helix_consolidation.delivery.erasing.reading import for_each, messages_of
from helix_consolidation.delivery.erasing.remembered import unheld
from helix_consolidation.delivery.erasing.selected import selects, subject_of
from helix_consolidation.ledger.lifecycle.erasures import LoggedCandidate
from helix_memory import subjects
from helix_memory.events import EraseEvent
from helix_shared.broker import log
from helix_shared.keys.owner import key_owner, owner_code
from helix_shared.published import published_event

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nats.aio.client import Client

    from helix_consolidation.delivery.erasing.round import Task
    from helix_consolidation.delivery.store_thread import StoreThread
    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.stores.shard import Shard
    from helix_shared.broker.log import LoggedMessage


async def plan(task: Task, *, client: Client, thread: StoreThread, shard: Shard) -> None:
    """Complete the events of a task, and until it is planned, who is to be derived again.

    Raises:
        TemporaryError, nats.errors.Error: NATS does not answer.
    """
    if task.whole_owner is None:
        await _select(task, client, thread, shard.state)
    if not task.is_planned:
        task.nexts = await _nexts(client, task.events)
        task.is_done = True


async def erase_event(client: Client, task: Task) -> EraseEvent | None:
    """The erase event, which stays in the log."""
    logged = await log.message_at(client, subjects.EVENTS_STREAM, task.sequence)
    event = None if logged is None else published_event(logged.subject, logged.body)
    return event if isinstance(event, EraseEvent) else None


async def logged_events(client: Client, sequences: Iterable[int]) -> dict[int, Keyed]:
    """The events that the log still has, by sequence."""

    async def look_up(sequence: int) -> LoggedMessage | None:
        return await log.message_at(client, subjects.EVENTS_STREAM, sequence)

    logged = filter(None, await for_each(look_up, sorted(sequences)))
    return {one.sequence: Keyed(one.subject, key_owner(one.subject, one.body)) for one in logged}


async def _select(task: Task, client: Client, thread: StoreThread, state: ConsolidationState) -> None:
    """Add the events without memories that an erasure of a session, document or user selects."""
    event = await erase_event(client, task) if task.selects_more else None
    if event is None:
        task.whole_owner = ""
        return
    found, own = [], set[int]()
    owner = owner_code(task.tenant_id, event.of_user) if event.of_user else ""
    async for message in messages_of(client.jetstream(), subjects.EVENTS_STREAM, subject_of(event)):
        sequence = message.metadata.sequence.stream
        if sequence >= task.sequence:
            break
        name = selects(event, task.actor, message.subject, message.data)
        if name is not None and sequence not in task.events:
            found.append(LoggedCandidate(task.tenant_id, sequence, name))
        if owner and key_owner(message.subject, message.data) == owner:
            own.add(sequence)
    task.events |= await thread.run(unheld, state, found)
    task.whole_owner = owner if own <= task.events else ""


async def _nexts(client: Client, events: set[int]) -> set[int]:
    """The turns right after those that leave the log, which must have them still."""
    logged = await logged_events(client, events)
    turns = [(one.subject, n) for n, one in logged.items() if subjects.kind_of(one.subject) == "message"]

    async def look_up(turn: tuple[str, int]) -> LoggedMessage | None:
        return await log.first_after(client, subjects.EVENTS_STREAM, *turn)

    return {one.sequence for one in filter(None, await for_each(look_up, turns))} - events
