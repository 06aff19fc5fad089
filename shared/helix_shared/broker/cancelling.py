"""Cancels tasks, repeatedly until each has ended.

`asyncio.wait_for` of Python 3.11, and so every request of nats-py, returns its result instead of raising when
the answer and the cancellation come in one turn of the event loop. A task that goes on with its next request
then never ends, and who waits for it waits for ever.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

REPEAT_SECONDS: Final = 1.0
"""Time for what a cancelled task still has to do, before it is cancelled again."""


async def cancel_all(tasks: Iterable[asyncio.Task[Any]], *, again_seconds: float = REPEAT_SECONDS) -> None:
    """Cancel tasks and wait until all have ended; their results and failures are dropped."""
    unfinished = set(tasks)
    while unfinished:
        for task in unfinished:
            task.cancel()
        done, unfinished = await asyncio.wait(unfinished, timeout=again_seconds)
        for task in done:
            if not task.cancelled():
                task.exception()
