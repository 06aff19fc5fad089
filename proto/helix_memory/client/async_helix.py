"""The client for asyncio: the methods of `Helix`, each awaited.

A call runs on a thread of a pool, so a recall holds no event loop, and there is one way of writing and
recalling. A cancelled call returns at once; its thread ends with the call, at its deadline at the latest.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import functools
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar, Unpack

from helix_memory.client.helix import Helix
from helix_memory.client.options import ScopeOptions
from helix_memory.client.session import Session
from helix_memory.errors import CLOSED, PermanentError

CALLS: Final = 32
"""Calls of one client at once; more wait for a thread."""

P = ParamSpec("P")
T = TypeVar("T")


class _OnThreads:
    """Runs calls on a pool of threads, with the context variables of the caller."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    async def _run(self, call: Callable[[], T]) -> T:
        context = contextvars.copy_context()
        try:
            future = self._pool.submit(context.run, call)
        except RuntimeError as error:  # the pool is shut down
            raise PermanentError(CLOSED) from error
        return await asyncio.wrap_future(future)


def _of_helix(
    method: Callable[Concatenate[Helix, P], T],
) -> Callable[Concatenate[AsyncHelix, P], Coroutine[Any, Any, T]]:
    async def call(self: AsyncHelix, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(functools.partial(method, self.helix, *args, **kwargs))

    functools.update_wrapper(call, method)
    return call


def _of_session(
    method: Callable[Concatenate[Session, P], T],
) -> Callable[Concatenate[AsyncSession, P], Coroutine[Any, Any, T]]:
    async def call(self: AsyncSession, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(functools.partial(method, self.session, *args, **kwargs))

    functools.update_wrapper(call, method)
    return call


class AsyncSession(_OnThreads):
    """As `Session`, with methods to await."""

    def __init__(self, session: Session, pool: ThreadPoolExecutor) -> None:
        super().__init__(pool)
        self.session = session
        """The session whose calls run on the threads."""

    @property
    def id(self) -> str:
        """Its name, under which later programs can go on."""
        return self.session.id

    message = _of_session(Session.message)
    tool = _of_session(Session.tool)
    remember = _of_session(Session.remember)
    document = _of_session(Session.document)
    recall = _of_session(Session.recall)

    async def __aenter__(self) -> Self:
        await self._run(self.session.__enter__)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self._run(lambda: self.session.__exit__(kind))


class AsyncHelix(_OnThreads):
    """As `Helix`, with methods to await.

    async with AsyncHelix("127.0.0.1", tenant="acme", user="ana") as helix:
        note = await helix.remember("We deploy on Tuesdays.")
        print((await helix.recall("when do we deploy?", after=note)).context)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As `Helix`."""
        self.helix = Helix(*args, **kwargs)
        """The client whose calls run on the threads."""
        super().__init__(ThreadPoolExecutor(CALLS, "helix-memory"))

    remember = _of_helix(Helix.remember)
    message = _of_helix(Helix.message)
    tool = _of_helix(Helix.tool)
    document = _of_helix(Helix.document)
    correct = _of_helix(Helix.correct)
    forget = _of_helix(Helix.forget)
    restore = _of_helix(Helix.restore)
    undo = _of_helix(Helix.undo)
    erase = _of_helix(Helix.erase)
    receipt = _of_helix(Helix.receipt)
    feedback = _of_helix(Helix.feedback)
    recall = _of_helix(Helix.recall)
    get = _of_helix(Helix.get)
    list = _of_helix(Helix.list)
    timeline = _of_helix(Helix.timeline)
    sessions = _of_helix(Helix.sessions)
    entities = _of_helix(Helix.entities)
    neighbours = _of_helix(Helix.neighbours)
    profile = _of_helix(Helix.profile)
    history = _of_helix(Helix.history)
    state = _of_helix(Helix.state)
    states = _of_helix(Helix.states)
    status = _of_helix(Helix.status)
    explain = _of_helix(Helix.explain)
    why = _of_helix(Helix.why)
    why_not = _of_helix(Helix.why_not)
    wait = _of_helix(Helix.wait)

    def acting_as(self, **caller: Any) -> Self:
        """As `Helix.acting_as`, at once; the threads are shared, too."""
        other = copy.copy(self)
        other.helix = self.helix.acting_as(**caller)
        return other

    def session(self, name: str = "", **options: Unpack[ScopeOptions]) -> AsyncSession:
        """As `Helix.session`, for `async with`."""
        return AsyncSession(self.helix.session(name, **options), self._pool)

    async def close(self) -> None:
        """End the connections and the threads; a call that is under way fails. Closing again does nothing."""
        try:
            # on a thread of asyncio's own, since calls under way may hold all those of the pool
            await asyncio.to_thread(self.helix.close)
        finally:
            self._pool.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
