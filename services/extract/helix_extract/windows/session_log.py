"""Reads the window of a turn from the log, and waits until the window is complete.

Every turn of a session is handled once. The handler of a turn asks only if its turn is the last of its
window; otherwise a later turn's handler does. What was read is cached by session, so a turn in order costs
one direct get.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from helix_extract.windows.window import Turn, Window, WindowLimits, extended, is_boundary
from helix_memory import subjects
from helix_memory.events import MessageEvent
from helix_shared.broker import log
from helix_shared.errors import PermanentError, TemporaryError
from helix_shared.published import published_event

if TYPE_CHECKING:
    from nats.aio.client import Client

CACHED_SESSIONS: Final = 1_024
TURNS_BACK: Final = 2_000
"""Turns read at most to find the start of a window. Only a session whose turns follow each other within
`WindowLimits.seconds` for so long begins a window there."""
CLOCK_SECONDS: Final = 1.0
"""How far the clock of this machine may be ahead of the server's."""


class SessionLog:
    """Turns of sessions; used from one event loop."""

    def __init__(self, limits: WindowLimits, *, clock: Callable[[], datetime] | None = None) -> None:
        self._limits = limits
        self._clock = clock or (lambda: datetime.now(UTC))
        self._windows: OrderedDict[str, Window] = OrderedDict()
        self._waiting: dict[str, asyncio.Event] = {}
        self._ending = asyncio.Event()

    def end(self) -> None:
        """Make every waiting handler give its message back."""
        self._ending.set()
        for waiting in self._waiting.values():
            waiting.set()

    async def pause(self, seconds: float) -> None:
        """Wait, for as long as the worker does not end.

        Raises:
            TemporaryError: the worker ends.
        """
        if seconds > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), seconds)
        if self._ending.is_set():
            raise TemporaryError("the worker ends")

    async def completed_window(self, client: Client, turn: Turn) -> Window | None:
        """The window that ends with `turn`, once it is complete; None if a later turn belongs to it.

        Raises:
            TemporaryError: NATS does not answer, or the worker ends.
        """
        subject = _subject(turn)
        self._wake(subject)
        window = await self.window_of(client, turn)
        while not window.is_full(self._limits):
            following = await self._next(client, turn)
            if following is not None:
                return None if window.takes(following, self._limits) else window
            closes = window.closes_at(self._limits)
            left = (closes - self._clock()).total_seconds() + CLOCK_SECONDS
            if left <= 0:
                return window
            await self._wait(subject, left)
        return window

    async def window_of(self, client: Client, turn: Turn) -> Window:
        """The window of `turn`, without the turns after it.

        Raises:
            TemporaryError: NATS does not answer.
        """
        subject, turns = _subject(turn), [turn]
        base: Window | None = None
        while len(turns) < TURNS_BACK:
            before = await self._before(client, turns[-1])
            cached = self._windows.get(subject)
            if before is None or is_boundary(before, turns[-1], self._limits):
                break
            if cached is not None and cached.last.sequence == before.sequence:
                base = cached
                break
            turns.append(before)
        window = extended(base, reversed(turns), self._limits)
        assert window is not None  # noqa: S101  there is at least one turn
        self._remember(subject, window)
        return window

    async def still_logged(self, client: Client, window: Window) -> Window | None:
        """The window without turns that were erased since they were read; None: all of them were.

        Raises:
            TemporaryError: NATS does not answer.
        """
        turns = [
            turn
            for turn in window.turns
            if await log.message_at(client, subjects.EVENTS_STREAM, turn.sequence) is not None
        ]
        if len(turns) == len(window.turns):
            return window
        self._windows.pop(_subject(window.last), None)
        return Window(tuple(turns)) if turns else None

    def _remember(self, subject: str, window: Window) -> None:
        cached = self._windows.get(subject)
        if cached is None or cached.last.sequence < window.last.sequence:
            self._windows[subject] = window
        self._windows.move_to_end(subject)
        while len(self._windows) > CACHED_SESSIONS:
            self._windows.popitem(last=False)

    def _wake(self, subject: str) -> None:
        if (waiting := self._waiting.pop(subject, None)) is not None:
            waiting.set()

    async def _wait(self, subject: str, seconds: float) -> None:
        """Wait for a later turn of the session, at most `seconds`.

        Raises:
            TemporaryError: the worker ends.
        """
        woken = self._waiting.setdefault(subject, asyncio.Event())
        if not self._ending.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), seconds)
        if self._waiting.get(subject) is woken:
            del self._waiting[subject]
        if self._ending.is_set():
            raise TemporaryError("the worker ends")

    async def _before(self, client: Client, turn: Turn) -> Turn | None:
        """The last valid turn before `turn`; a message that ingest refuses is passed over."""
        sequence = turn.sequence
        for _ in range(TURNS_BACK):
            found = await log.last_before(client, subjects.EVENTS_STREAM, _subject(turn), sequence)
            if found is None or (read := valid_turn_of(found)) is not None:
                return None if found is None else read
            sequence = found.sequence
        return None

    async def _next(self, client: Client, turn: Turn) -> Turn | None:
        """The first valid turn after `turn`."""
        sequence = turn.sequence
        for _ in range(TURNS_BACK):
            found = await log.first_after(client, subjects.EVENTS_STREAM, _subject(turn), sequence)
            if found is None or (read := valid_turn_of(found)) is not None:
                return None if found is None else read
            sequence = found.sequence
        return None


def turn_of(message: log.LoggedMessage) -> Turn | None:
    """The turn in a message of HELIX_EVENTS; None where the event is of another kind.

    Raises:
        PermanentError: the event breaks a rule.
    """
    event = published_event(message.subject, message.body)
    return Turn(event, message.sequence, message.stored_at) if isinstance(event, MessageEvent) else None


def valid_turn_of(message: log.LoggedMessage) -> Turn | None:
    """The same; None also where the event breaks a rule, since ingest refuses it."""
    try:
        return turn_of(message)
    except PermanentError:
        return None


def _subject(turn: Turn) -> str:
    return subjects.session_messages(turn.event.tenant_id, turn.event.session_id)
