"""Looking again until something is so, or until the time for it is over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Final

LOOK_SECONDS: Final = 0.1


def looks(seconds: float, *, every_seconds: float = LOOK_SECONDS) -> Iterator[None]:
    """Yield at once, and then every `every_seconds` until `seconds` are over; the caller returns earlier.

    What stands behind the loop is what happens when the time is over.
    """
    deadline = time.monotonic() + seconds
    yield
    while time.monotonic() < deadline:
        time.sleep(every_seconds)
        yield


async def async_looks(seconds: float, *, every_seconds: float = LOOK_SECONDS) -> AsyncIterator[None]:
    """As `looks`, for coroutines."""
    deadline = time.monotonic() + seconds
    yield
    while time.monotonic() < deadline:
        await asyncio.sleep(every_seconds)
        yield
