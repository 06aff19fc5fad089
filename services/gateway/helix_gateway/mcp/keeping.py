"""Writing a memory under an id that follows from what it says, so that what is said twice is kept once.

Who says a text again after it was forgotten, replaced or erased means it: it is shown again, or written under
a next id. The id of an erased memory stays erased, whoever publishes its event again. A call that does not
wait cannot see this, so a check follows it as a task of the gateway.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from helix_gateway.mcp.results import Kept
from helix_memory.identity import digest
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import HelixError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from helix_gateway.callers import Caller
    from helix_memory.client.results import Written

RETURNS: Final = 16
"""How often a text may come back after it was replaced or erased."""
_ERASED: Final = "erased"
"""Stands for the id of a successor in the digest of the next id."""
_HIDDEN: Final = (recall_pb2.LOSS_FORGOTTEN, recall_pb2.LOSS_DECAYED)

_log = logger(__name__)
_checks: Final = set[asyncio.Task[None]]()
"""They would be collected as garbage without a reference."""


async def keep(caller: Caller, prefix: str, name: str, **options: Any) -> Kept:
    """Write a memory as the event `prefix` + `name`, or a next one; the options are those of `remember`.

    Raises:
        HelixError: as `AsyncHelix.remember`.
    """
    waits = bool(options.get("wait"))
    for _ in range(RETURNS):
        written = await caller.helix.remember(event_id=prefix + name, **options)
        if not (waits or written.duplicate):
            check = asyncio.create_task(_check(caller, prefix, name, written, options))
            _checks.add(check)
            check.add_done_callback(_checks.discard)
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
    return Kept.of(written, visible=waits)


async def _check(caller: Caller, prefix: str, name: str, written: Written, options: dict[str, Any]) -> None:
    """Wait for a memory that was just written, and keep it under a next id where its own cannot hold it."""
    try:
        await caller.helix.wait(written)
        later, is_hidden = await _later(caller, written)
        if later or is_hidden:
            await keep(caller, prefix, digest(name, later) if later else name, **{**options, "wait": True})
    except HelixError as error:
        _log.info("a memory was not checked", reason=str(error))


async def _later(caller: Caller, written: Written) -> tuple[str, bool]:
    """What took the place of a memory (empty: nothing, or it is not known), and whether it is forgotten."""
    try:
        state = await caller.helix.state(written)
        if state is None:
            await caller.helix.wait(written)
            state = await caller.helix.state(written)
    except HelixError:
        return "", False
    if state is None or state.loss == recall_pb2.LOSS_ERASED:
        return _ERASED, False
    return state.replaced_by if state.loss == recall_pb2.LOSS_REPLACED else "", state.loss in _HIDDEN
