"""The turns before an event in its session: read from the log, or from a cache of delivered messages.

The cache answers for a session only where this worker received every message of the stream without a gap;
anything else is read from the log, one direct get per turn. The log is append-only, so cache and log give the
same turns for any copy of the worker at any time (ops/decisions/0005). The cache is bounded in bytes and age.
A forget or erase event empties it, because the log may lose turns then.
"""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_ingest.extraction.acts.answered_question import says_nothing
from helix_ingest.extraction.drafts import CONTEXT_TURNS, NEAR_TURNS
from helix_ingest.extraction.persons.pronouns import has_pronoun
from helix_ingest.extraction.values import LoggedEvent
from helix_memory import subjects
from helix_memory.events import Event, MessageEvent, SessionEvent, ToolEvent
from helix_shared.broker import log
from helix_shared.errors import PermanentError
from helix_shared.published import published_event

CACHE_SECONDS: Final = 60.0
"""A cached session that is older is read from the log again."""
CACHED_MESSAGES: Final = 2 * CONTEXT_TURNS
"""Messages cached per session; more than one event needs, because events may be handled out of order."""
MOST_VISITED: Final = 256
"""Each is read from the log. A publisher may have sent any number of messages that are refused."""
OVERHEAD_BYTES: Final = 2_048
"""Memory of a cached message besides its body."""

_ERASING: Final = frozenset({"erase", "forget"})


@dataclass(frozen=True, slots=True)
class _SessionMessage:
    """A message on the subject of a session; `logged` is None when the event is refused."""

    sequence: int
    logged: LoggedEvent | None
    size_bytes: int


@dataclass(slots=True)
class _Tail:
    """Every message of one session with `after` < sequence <= `until`, oldest first.

    Delivered messages are appended; messages read from the log are prepended.
    """

    since: float
    after: int
    until: int
    messages: deque[_SessionMessage] = field(default_factory=deque)

    @property
    def size_bytes(self) -> int:
        return sum(message.size_bytes for message in self.messages)


class SessionTurns:
    """Finds the turns before an event; used from one event loop."""

    def __init__(self, *, most_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_bytes = most_bytes
        self._clock = clock
        self._tails: OrderedDict[str, _Tail] = OrderedDict()
        self._bytes = 0
        self._run = (0, 0)
        """First and last sequence of the latest messages that were delivered without a gap."""

    def observe(self, message: Msg, logged: LoggedEvent | None) -> None:
        """Record a delivered message and its event, None if it was refused or not parsed.

        Must be called in the order of delivery.
        """
        sequence = message.metadata.sequence.stream
        run = self._run
        address = subjects.parse_event_subject(message.subject)
        if address is not None and address.kind in _ERASING:
            self._tails.clear()
            self._bytes = 0
        if address is not None and address.kind == "message":
            delivered = _SessionMessage(sequence, logged, OVERHEAD_BYTES + len(message.data))
            with self._changing(message.subject):
                self._append(message.subject, delivered, run)
        if sequence > run[1]:
            self._run = (run[0] if sequence == run[1] + 1 and run[0] else sequence, sequence)

    async def before(self, logged: LoggedEvent, client: Client) -> list[LoggedEvent]:
        """Up to `NEAR_TURNS` turns of the same session before the event, oldest first.

        Up to `CONTEXT_TURNS` where the event or one of those says "he" or "she", or says nothing. Only the
        last `MOST_VISITED` messages before the event are read.

        Raises:
            TemporaryError: the log does not answer.
        """
        event = logged.event
        wanted = _turns_wanted(event)
        if not event.session_id or wanted == 0:
            return []
        subject = subjects.session_messages(event.tenant_id, event.session_id)
        turns: list[LoggedEvent] = []
        visited: list[_SessionMessage] = []
        sequence = logged.sequence
        while len(turns) < wanted and len(visited) < MOST_VISITED:
            found = self._last_cached(subject, sequence) or await _read(client, subject, sequence)
            if found is None:
                break
            visited.append(found)
            sequence = found.sequence
            # a repetition of this event is not an earlier turn
            if found.logged is not None and found.logged.event.event_id != event.event_id:
                turns.append(found.logged)
            if len(turns) == NEAR_TURNS and any(map(_points_back, (logged, *turns))):
                wanted = CONTEXT_TURNS
        with self._changing(subject):
            self._prepend(subject, visited, above=logged.sequence)
        return turns[::-1]

    def _append(self, subject: str, delivered: _SessionMessage, run: tuple[int, int]) -> None:
        """Extend the tail of a session by a delivered message; after a gap a new tail starts with it."""
        tail = self._tails.get(subject)
        if tail is not None and delivered.sequence <= tail.until:
            return
        gap = tail is None or not run[0] <= tail.until + 1 or delivered.sequence != run[1] + 1
        if tail is None or gap or self._clock() - tail.since > CACHE_SECONDS:
            tail = _Tail(self._clock(), delivered.sequence - 1, delivered.sequence)
            self._tails[subject] = tail
        tail.messages.append(delivered)
        tail.until = delivered.sequence
        while len(tail.messages) > CACHED_MESSAGES:
            tail.after = tail.messages.popleft().sequence

    def _prepend(self, subject: str, visited: Sequence[_SessionMessage], *, above: int) -> None:
        """Extend a tail downwards by `visited`: all messages of the session below `above`, newest first."""
        tail = self._tails.get(subject)
        if tail is None or tail.after >= above:
            return
        for message in visited:
            if message.sequence <= tail.after and len(tail.messages) < CACHED_MESSAGES:
                tail.messages.appendleft(message)
                tail.after = message.sequence - 1

    def _last_cached(self, subject: str, sequence: int) -> _SessionMessage | None:
        """The last message of a session before `sequence`; None if the cache cannot tell."""
        tail = self._tails.get(subject)
        if tail is None or self._clock() - tail.since > CACHE_SECONDS:
            return None
        first, last = self._run
        until = max(last, tail.until) if first <= tail.until + 1 else tail.until
        if sequence > until + 1:
            return None
        return next((message for message in reversed(tail.messages) if message.sequence < sequence), None)

    @contextlib.contextmanager
    def _changing(self, subject: str) -> Iterator[None]:
        """Update the byte count of a session that changes, then drop the least recently used sessions."""
        tail = self._tails.get(subject)
        self._bytes -= tail.size_bytes if tail else 0
        yield
        tail = self._tails.get(subject)
        if tail is not None:
            self._bytes += tail.size_bytes
            self._tails.move_to_end(subject)
        while self._bytes > self._most_bytes:
            _, dropped = self._tails.popitem(last=False)
            self._bytes -= dropped.size_bytes


def _turns_wanted(event: Event) -> int:
    if isinstance(event, MessageEvent | SessionEvent):
        return NEAR_TURNS
    return 1 if isinstance(event, ToolEvent) else 0


def _points_back(turn: LoggedEvent) -> bool:
    """Whether a turn is read with more turns before it: it has a pronoun, or stands before an answer."""
    event = turn.event
    return isinstance(event, MessageEvent) and (has_pronoun(event.text) or says_nothing(event))


async def _read(client: Client, subject: str, sequence: int) -> _SessionMessage | None:
    found = await log.last_before(client, subjects.EVENTS_STREAM, subject, sequence)
    if found is None:
        return None
    try:
        logged = LoggedEvent(published_event(found.subject, found.body), found.sequence, found.stored_at)
    except PermanentError:
        logged = None
    return _SessionMessage(found.sequence, logged, OVERHEAD_BYTES + len(found.body))
