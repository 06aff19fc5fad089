"""Publishes events from any thread, over one connection to NATS on a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, Final, TypeVar

from nats.errors import Error as NatsError

from helix_memory.errors import CLOSED, OverdueError, PermanentError, TemporaryError
from helix_memory.transport import connection, dead_letters
from helix_memory.transport.credentials import NatsCredentials
from helix_memory.transport.publisher import Publisher

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_memory.events import Event
    from helix_memory.transport.publisher import PubAck

NAME: Final = "helix-memory"
"""Of the connection, in the server's lists."""

T = TypeVar("T")


class EventWriter:
    """Connects at the first call. Not to be used in a process forked after that."""

    def __init__(self, url: str, credentials: NatsCredentials | None = None) -> None:
        self._url = url
        self._credentials = credentials
        self._start = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: Client | None = None
        self._is_closed = False

    def write(self, event: Event, *, seconds: float) -> PubAck:
        """Publish an event; it is sent again with the same id until the stream acknowledges it.

        Raises:
            InvalidInputError: the event is larger than an event may be.
            OverloadedError: the stream is full.
            OverdueError: no acknowledgement within `seconds`.
            TemporaryError: nothing answers.
            PermanentError: the writer is closed, or was closed meanwhile.
        """

        async def work(client: Client) -> PubAck:
            user = self._credentials or NatsCredentials()
            publisher = Publisher(client.jetstream(), only_tenant=user.tenant, id_secret=user.id_secret)
            return await publisher.publish_event(event)

        try:
            return self._run(work, seconds)
        except OverdueError as error:
            again = f"repeat it with event_id={event.event_id!r}: it is not stored twice"
            raise OverdueError(f"{error}; {again}") from error

    def newest_letter(self, *, seconds: float) -> int:
        """Sequence of the newest dead letter; 0 where there is none.

        Raises:
            OverdueError, TemporaryError, PermanentError: as `write`.
        """
        if self._credentials is not None and self._credentials.is_of_tenant:
            # it may not ask, and `refusal` does not need it
            return 0
        return self._run(lambda client: dead_letters.last_sequence(client.jetstream()), seconds)

    def refusal(
        self, sequence: int, *, tenant_id: str, after: int | None, seconds: float
    ) -> dead_letters.DeadLetter | None:
        """The dead letter, later than `after`, that refuses the event of a tenant with this sequence.

        With None it may be any letter, because the event was published before (`EARLIER_LETTERS` bounds it).

        Raises:
            OverdueError, TemporaryError, PermanentError: as `write`.
        """

        async def work(client: Client) -> dead_letters.DeadLetter | None:
            jetstream, own = client.jetstream(), self._credentials.tenant if self._credentials else ""
            if own:
                found = await dead_letters.own_refusals(jetstream, own, {sequence})
            else:
                start = await dead_letters.start_of_earlier(jetstream, tenant_id) if after is None else after
                found = await dead_letters.refusals_of(
                    jetstream, {sequence}, after=start, tenant_id=tenant_id
                )
            return found.get(sequence)

        return self._run(work, seconds)

    def close(self) -> None:
        """End the connection and the thread; a call that is under way raises PermanentError.

        Closing again does nothing.
        """
        with self._start:
            self._is_closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        try:
            asyncio.run_coroutine_threadsafe(self._close(), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _close(self) -> None:
        """End the calls, then the connection; waits at most `CONNECT_SECONDS` for each."""
        if tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=connection.CONNECT_SECONDS)
        if self._client is not None:
            # the thread ends anyway, and the operating system ends the connection
            with contextlib.suppress(*connection.UNANSWERED):
                await asyncio.wait_for(self._client.close(), connection.CONNECT_SECONDS)

    def _run(self, work: Callable[[Client], Coroutine[Any, Any, T]], seconds: float) -> T:
        async def bounded() -> T:
            async with asyncio.timeout(seconds):
                return await work(await self._connected())

        try:
            return self._submit(bounded).result()
        except CancelledError as error:
            raise PermanentError(CLOSED) from error
        except TimeoutError as error:
            raise OverdueError(f"no answer from NATS at {self._url} within {seconds:g} s") from error
        except NatsError as error:
            reason = connection.reason_of(error)
            raise TemporaryError(f"NATS at {self._url} failed: {reason}") from error

    async def _connected(self) -> Client:
        async with self._connecting:
            if self._client is None or self._client.is_closed:  # for good, such as after a refused password
                self._client = await connection.connect(self._url, name=NAME, credentials=self._credentials)
            return self._client

    def _submit(self, call: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Start a call on the loop, which starts with the first one.

        With the lock, so that `close` finds every call that was started before it.
        """
        with self._start:
            if self._is_closed:
                raise PermanentError(CLOSED)
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._connecting = asyncio.Lock()
                self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name=NAME)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(call(), self._loop)
