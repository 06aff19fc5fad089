"""A connection to the bucket of NATS for threads: an event loop of its own, started by the first call."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar

from helix_memory.transport.connection import connect
from helix_shared.artifacts.object_storage.nats_bucket import NatsBucket
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from nats.aio.client import Client

    from helix_memory.transport.credentials import NatsCredentials

    T = TypeVar("T")

CALL_SECONDS: Final = 60.0
"""Longest call; each of its requests has a time of its own, so this ends only one that hangs."""
CLOSE_SECONDS: Final = 2.0


class NatsConnection:
    """Any thread may use it. A server that is away is connected to again."""

    def __init__(self, servers: str, credentials: NatsCredentials | None) -> None:
        self._servers = servers
        self._credentials = credentials
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connecting = asyncio.Lock()
        self._client: Client | None = None
        self._is_closed = False

    def run(self, work: Callable[[NatsBucket], Coroutine[Any, Any, T]]) -> T:
        """The result of a call.

        Raises:
            nats.errors.Error, TimeoutError, OSError: the server does not answer, or refuses.
            TemporaryError: no server answers at first, or this was closed.
        """
        loop = self._started()
        running = asyncio.run_coroutine_threadsafe(self._run(work), loop)
        try:
            return running.result(CALL_SECONDS)
        except concurrent.futures.CancelledError as error:
            raise TemporaryError("the connection to NATS was closed") from error
        finally:
            running.cancel()

    def close(self) -> None:
        """Close the connection, for good; a call that runs fails."""
        with self._starting:
            self._is_closed = True
            loop, self._loop = self._loop, None
        if loop is not None:
            closing = asyncio.run_coroutine_threadsafe(self._close(), loop)
            with contextlib.suppress(Exception):  # whatever the client says, it is left behind
                closing.result(CLOSE_SECONDS)
            loop.call_soon_threadsafe(loop.stop)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._is_closed:
                raise TemporaryError("the connection to NATS was closed")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="object-bucket", daemon=True).start()
            return self._loop

    async def _run(self, work: Callable[[NatsBucket], Coroutine[Any, Any, T]]) -> T:
        async with self._connecting:
            if self._client is None or self._client.is_closed:
                self._client = await connect(
                    self._servers, name="helix-objects", credentials=self._credentials
                )
        return await work(NatsBucket(self._client))

    async def _close(self) -> None:
        if self._client is not None:
            await self._client.close()
        own = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not own]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
