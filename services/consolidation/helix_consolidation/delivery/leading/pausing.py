"""Writers release the lease of their shard for some time when a command requests it.

The request goes to every process of a shard, also to those that stand by. It has no reply: the command has
the lease once a writer gave it up. A pause ends by itself, so that a command that was killed stops nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Final, Self

from helix_memory.subjects import pause_request_subject
from helix_memory.transport.connection import UNANSWERED
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

LONGEST_SECONDS: Final = 10.0
"""Longest pause of one request; a command that needs longer asks again."""

_log = logger(__name__)


def encode_pause(seconds: float) -> bytes:
    """The body of a request; 0 ends a pause."""
    return f"{seconds:g}".encode()


def decode_pause(body: bytes) -> float:
    """Seconds from 0 to `LONGEST_SECONDS`; what is no number is 0."""
    try:
        seconds = float(body)
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), LONGEST_SECONDS) if seconds == seconds else 0.0  # noqa: PLR0124  NaN


class Pauses:
    """The requests to one process, between `async with` and its end."""

    def __init__(self, client: Client, shard: int, stop: asyncio.Event) -> None:
        self._client = client
        self._shard = shard
        self._stop = stop
        self._until = 0.0
        self._changed = asyncio.Event()
        self._halts: set[asyncio.Event] = set()
        self._subscription: Subscription | None = None
        self._stopping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        subject = pause_request_subject(self._shard)
        self._subscription = await self._client.subscribe(subject, cb=self._take)
        self._stopping = asyncio.create_task(self._halt_at_stop())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._stopping is not None:
            self._stopping.cancel()
        if self._subscription is not None:
            with contextlib.suppress(*UNANSWERED):
                await self._subscription.unsubscribe()

    @contextlib.contextmanager
    def halt(self) -> Iterator[asyncio.Event]:
        """An event that is set when the process stops, or is to pause."""
        event = asyncio.Event()
        self._halts.add(event)
        if self._stop.is_set() or self._seconds > 0:
            event.set()
        try:
            yield event
        finally:
            self._halts.discard(event)

    async def over(self) -> None:
        """Return once there is no pause, or the process stops."""
        while self._seconds > 0 and not self._stop.is_set():
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), self._seconds)

    @property
    def _seconds(self) -> float:
        return self._until - time.monotonic()

    async def _take(self, message: Msg) -> None:
        seconds = decode_pause(message.data)
        if seconds and self._seconds <= 0:
            _log.info("paused", seconds=seconds)
        self._until = time.monotonic() + seconds
        self._changed.set()
        if seconds:
            self._set_halts()

    async def _halt_at_stop(self) -> None:
        await self._stop.wait()
        self._changed.set()
        self._set_halts()

    def _set_halts(self) -> None:
        for event in self._halts:
            event.set()
