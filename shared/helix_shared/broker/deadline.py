"""The deadline of a handler: how long it may work on one message.

Waiting for a lane or for an acknowledgement of the stream does not count; those waits have their own limits.
`worker` sets the deadline, `lanes` and `outbox` suspend it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterator
from contextvars import ContextVar
from typing import Final, TypeVar

from helix_shared.errors import OverdueError

T = TypeVar("T")

_RUNNING: Final[ContextVar[tuple[asyncio.Timeout, float] | None]] = ContextVar("deadline", default=None)


async def within(seconds: float, work: Awaitable[T]) -> T:
    """Await `work` and return its result; it is cancelled after `seconds`.

    Its threads cannot be cancelled, see `lanes`.

    Raises:
        OverdueError: `work` did not end in time.
    """
    timer = asyncio.timeout(seconds)
    token = _RUNNING.set((timer, seconds))
    try:
        async with timer:
            return await work
    except TimeoutError:
        if timer.expired():
            raise OverdueError(f"handler did not end within its deadline of {seconds:g} s") from None
        raise
    finally:
        _RUNNING.reset(token)


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """Suspend the deadline of the running handler, if any; on exit it starts again with its full time."""
    running = _RUNNING.get()
    if running is None or running[0].expired():
        yield
        return
    timer, seconds = running
    timer.reschedule(None)
    try:
        yield
    finally:
        timer.reschedule(asyncio.get_running_loop().time() + seconds)
