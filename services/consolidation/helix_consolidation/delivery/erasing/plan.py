"""The plan of an erasure: which events leave the log, and which events are derived again.

It is made while the log still has the events, and a generation stores it before anything is removed. So a
restart misses neither an event nor one that quotes it.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from helix_consolidation.delivery.erasing.backup_keys import KeyedEvent
from helix_consolidation.delivery.erasing.erased_ids import without_memories
from helix_consolidation.delivery.erasing.reading import for_each, messages_of
from helix_consolidation.delivery.erasing.selected import Selector, Selectors, subject_of
from helix_consolidation.ledger.lifecycle.erasures import LoggedCandidate
from helix_memory import subjects
from helix_memory.events import EraseEvent
from helix_shared.broker import log
from helix_shared.keys.owner import key_owner, owner_code
from helix_shared.published import published_event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from nats.aio.client import Client

    from helix_consolidation.delivery.erasing.round import ErasureTask
    from helix_consolidation.delivery.store_thread import StoreThread
    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_shared.broker.log import LoggedMessage


async def plan(
    tasks: Sequence[ErasureTask],
    *,
    client: Client,
    thread: StoreThread,
    state: ConsolidationState,
    remove_quotations: Callable[[ErasureTask], Awaitable[None]],
) -> None:
    """Complete tasks: the events of each, and which events are to be derived again.

    `remove_quotations` removes from memories what they quote of the events of a task `without_memory`: the
    stores know only the events that have memories.

    Raises: as `complete`.
    """
    await complete(tasks, client=client, thread=thread, state=state)
    for task in tasks:
        if task.without_memory:
            await remove_quotations(task)
    for task, following_turns in zip(
        tasks, await for_each(partial(_following_turns, client), tasks), strict=True
    ):
        task.following_turns, task.is_done = following_turns, True


async def complete(
    tasks: Iterable[ErasureTask], *, client: Client, thread: StoreThread, state: ConsolidationState
) -> None:
    """Add the events without memories that erasures of a session, document or user select.

    Erasures whose events have one subject, such as those of all documents of a tenant, read the log together.

    Raises:
        TemporaryError, nats.errors.Error: NATS does not answer.
    """
    waiting = [task for task in tasks if task.emptied_owner is None]
    events = await for_each(partial(erase_event, client), waiting)
    of_subject: defaultdict[str, list[Selector]] = defaultdict(list)
    for task, event in zip(waiting, events, strict=True):
        if event is not None and task.may_select_without_memory:
            of_subject[subject_of(event)].append(Selector(task, event))
        else:
            task.emptied_owner = ""
    await for_each(partial(_select, client, thread, state), of_subject.values())


async def erase_event(client: Client, task: ErasureTask) -> EraseEvent | None:
    """The erase event, which stays in the log."""
    logged = await log.message_at(client, subjects.EVENTS_STREAM, task.sequence)
    event = None if logged is None else published_event(logged.subject, logged.body)
    return event if isinstance(event, EraseEvent) else None


async def logged_events(client: Client, sequences: Iterable[int]) -> dict[int, KeyedEvent]:
    """The events that the log still has, by sequence."""

    async def look_up(sequence: int) -> LoggedMessage | None:
        return await log.message_at(client, subjects.EVENTS_STREAM, sequence)

    logged = filter(None, await for_each(look_up, sorted(sequences)))
    return {one.sequence: KeyedEvent(one.subject, key_owner(one.subject, one.body)) for one in logged}


async def _select(
    client: Client, thread: StoreThread, state: ConsolidationState, selectors: Sequence[Selector]
) -> None:
    """Complete tasks whose events have one subject."""
    selected = Selectors(selectors)
    owners = {owner_code(one.task.tenant_id, one.event.of_user) for one in selectors if one.event.of_user}
    found, own = defaultdict[int, list[LoggedCandidate]](list), defaultdict[str, set[int]](set)
    last = max(task.sequence for task, _ in selectors)
    subject = subject_of(selectors[0].event)
    async for message in messages_of(client.jetstream(), subjects.EVENTS_STREAM, subject):
        sequence = message.metadata.sequence.stream
        if sequence >= last:
            break
        for task, candidate in selected.of(message.subject, sequence, message.data):
            found[task.sequence].append(candidate)
        if owners and (owner := key_owner(message.subject, message.data)) in owners:
            own[owner].add(sequence)
    left = await thread.run(without_memories, state, {one for each in found.values() for one in each})
    for task, event in selectors:
        without_memory = [one for one in found[task.sequence] if one.sequence in left]
        task.events |= {one.sequence for one in without_memory}
        task.without_memory |= {(one.session_id, one.event_id) for one in without_memory}
        owner = owner_code(task.tenant_id, event.of_user) if event.of_user else ""
        kept = {sequence for sequence in own[owner] if sequence < task.sequence} - task.events
        task.emptied_owner = "" if kept else owner


async def _following_turns(client: Client, task: ErasureTask) -> set[int]:
    """The turns right after those that leave the log; the log must still have these."""
    logged = await logged_events(client, task.events)
    turns = [(one.subject, n) for n, one in logged.items() if subjects.kind_of(one.subject) == "message"]

    async def look_up(turn: tuple[str, int]) -> LoggedMessage | None:
        return await log.first_after(client, subjects.EVENTS_STREAM, *turn)

    return {one.sequence for one in filter(None, await for_each(look_up, turns))} - task.events
