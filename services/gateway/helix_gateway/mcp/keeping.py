"""Writing a memory under an id that follows from what it says, so that what is said twice is kept once.

Who says a text again after it was forgotten, replaced or erased means it: it is shown again, or written under
a next id. The id of an erased memory stays erased, whoever publishes its event again. A call that does not
wait cannot see this, so a check follows it as a task of the gateway. A check waits for the writer on a thread
of the client, so few run at once: recalls need the other threads, above all while the writer is away.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from helix_gateway.mcp.results import Kept, KeptChange
from helix_gateway.operations.selecting import changed_memories, written_and_applied
from helix_memory.identity import digest
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import HelixError
from helix_shared.rpc.access.credential import RECALL
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_gateway.callers import Caller
    from helix_memory.client.results import Written

RETURNS: Final = 16
"""How often a text may come back after it was replaced or erased."""
_ERASED: Final = "erased"
"""Stands for the id of a successor in the digest of the next id."""
CHECKS_AT_ONCE: Final = 4
MOST_CHECKS: Final = 1_000
"""That run or wait; what is written beyond them is not checked."""
HIDDEN: Final = (recall_pb2.LOSS_FORGOTTEN, recall_pb2.LOSS_DECAYED)

_log = logger(__name__)
_checks: Final = set[asyncio.Task[None]]()
"""They would be collected as garbage without a reference."""
_rooms: Final = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]()
"""Where checks wait for their turn; a gateway has one event loop."""


async def keep(caller: Caller, prefix: str, name: str, *, corrects: str = "", **options: Any) -> Kept:
    """Write a memory as the event `prefix` + `name`, or a next one.

    The options are those of `remember`; with `corrects`, the id of a memory, those of `correct`. A correction
    of a memory that does not exist is refused after it was written, so it waits where the id is not known
    (as long as events usually take), or the caller may not ask.

    Raises:
        HelixError: as `AsyncHelix.remember` or `correct`.
    """
    helix = caller.helix
    act = partial(helix.correct, corrects) if corrects else helix.remember
    if corrects and not caller.may(RECALL):
        options["wait"] = True
    waits = bool(options.get("wait"))
    for _ in range(RETURNS):
        write = partial(act, event_id=prefix + name, **options)
        if corrects and not waits:
            written, is_applied = await written_and_applied(helix, corrects, write)
        else:
            written, is_applied = await write(), waits
        if not (is_applied or written.duplicate):
            _begin_check(caller, prefix, name, written, {**options, "corrects": corrects})
            break
        later, is_hidden = await _later(caller, written)
        if not later and (is_hidden or written.duplicate):
            # a restore also shows what replaced it: that is asked again
            shown = await caller.helix.restore(written, wait=waits or is_hidden)
            written = replace(written, sequence=shown.sequence)
            later = (await _later(caller, written))[0] if is_hidden else ""
        if not later:
            break
        name = digest(name, later)
    return Kept.of(written, visible=is_applied)


async def hide(caller: Caller, ids: Sequence[str], *, restore: bool = False, wait: bool = True) -> KeptChange:
    """Hide memories, or show them again, and name those that do not exist, to a caller who may recall.

    Raises:
        HelixError: as `AsyncHelix.forget`; also where none of the memories exists.
    """
    may_ask = caller.may(RECALL)
    write = partial(caller.helix.restore if restore else caller.helix.forget, *ids)
    changed, is_applied = await changed_memories(
        caller.helix, ids, write, may_recall=may_ask, wait=wait or not may_ask
    )
    missing = None if changed.missing is None else list(changed.missing)
    return KeptChange.of(changed, visible=is_applied, missing=missing)


def _begin_check(caller: Caller, prefix: str, name: str, written: Written, options: dict[str, Any]) -> None:
    if len(_checks) >= MOST_CHECKS:
        _log.warning("a memory was not checked", reason=f"{MOST_CHECKS} others wait for the writer")
        return
    check = asyncio.create_task(_check(caller, prefix, name, written, options))
    _checks.add(check)
    check.add_done_callback(_checks.discard)


async def _check(caller: Caller, prefix: str, name: str, written: Written, options: dict[str, Any]) -> None:
    """Wait for a memory that was just written, and keep it under a next id where its own cannot hold it."""
    room = _rooms.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(CHECKS_AT_ONCE))
    try:
        async with room:
            await caller.helix.wait(written)
            later, is_hidden = await _later(caller, written)
            if later or is_hidden:
                name = digest(name, later) if later else name
                await keep(caller, prefix, name, **{**options, "wait": True})
    except HelixError as error:
        _log.info("a memory was not checked", reason=str(error))


async def _later(caller: Caller, written: Written) -> tuple[str, bool]:
    """What took the place of a memory (empty: nothing, or it is not known), and whether it is forgotten.

    What happened to it after this write is meant, and does not count: a correction may follow at once.
    """
    try:
        state, applied = await _state(caller, written)
        if state is None:
            await caller.helix.wait(written)
            state, applied = await _state(caller, written)
        if state is None and 0 < applied < written.sequence:
            return "", False  # a replica that is behind the one that was waited for knows nothing of it
        if state is None or state.loss == recall_pb2.LOSS_ERASED:
            return _ERASED, False
        if state.loss == recall_pb2.LOSS_REPLACED and state.replaced_by:
            is_before = written.duplicate or await _sequence(caller, state.replaced_by) < written.sequence
            return state.replaced_by if is_before else "", False
    except HelixError:
        return "", False
    is_before = written.duplicate or state.event_sequence < written.sequence
    return "", state.loss in HIDDEN and is_before


async def _state(caller: Caller, written: Written) -> tuple[recall_pb2.MemoryState | None, int]:
    """The state of a memory, None where there is none, and up to which position in the log that counts."""
    found = await caller.helix.states([written])
    return found.by_id[written.memory_id], found.applied_sequence


async def _sequence(caller: Caller, memory: str) -> int:
    """Position in the log of the event that made a memory; 0: it is not known."""
    history = await caller.helix.history(memory)
    return next((one.source.stream_sequence for one in history.memories if one.memory_id == memory), 0)
