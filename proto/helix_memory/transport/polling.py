"""Polling: trying at intervals until a condition holds or the time is over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Final

POLL_SECONDS: Final = 0.1


def poll(seconds: float, *, every_seconds: float = POLL_SECONDS) -> Iterator[None]:
    """Yield at once and then every `every_seconds` until `seconds` are over.

    The caller leaves the loop when its condition holds; the code after the loop handles the timeout.
    """
    deadline = time.monotonic() + seconds
    yield
    while time.monotonic() < deadline:
        time.sleep(every_seconds)
        yield


async def async_poll(seconds: float, *, every_seconds: float = POLL_SECONDS) -> AsyncIterator[None]:
    """As `poll`, for coroutines."""
    deadline = time.monotonic() + seconds
    yield
    while time.monotonic() < deadline:
        await asyncio.sleep(every_seconds)
        yield
