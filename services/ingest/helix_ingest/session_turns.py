"""The turns before an event: as the log has them, read from it only where they are not known already.

A worker knows the end of a session when it has been given, without a gap, every message of the
stream since it last looked; what it was not given is read from the log, one direct get for each
turn. The log is only ever appended to, so both ways give the same turns, whichever copy asks and
however often (ops/decisions/0005). What is kept is bounded in bytes and in age, and dropped when an
event erases or forgets, because the log itself may then have lost turns. `consumer` asks.
"""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic import ValidationError

from helix_ingest.extraction.draft import Logged
from helix_ingest.extraction.drafts import CONTEXT_TURNS
from helix_memory import events, subjects
from helix_memory.events import Event, MessageEvent, SessionEvent, ToolEvent
from helix_shared.broker import log

KEPT_SECONDS: Final = 60.0
"""A session not read from the log for this long is read anew."""
KEPT_MESSAGES: Final = 2 * CONTEXT_TURNS
"""Of one session; more than asked for, because events of a session may be asked for out of order."""
OVERHEAD_BYTES: Final = 2_048
"""Of a kept message besides its body."""

_ERASING: Final = frozenset({"erase", "forget"})


@dataclass(frozen=True, slots=True)
class _Said:
    """A message on a session's subject; `event` is None when it is refused."""

    sequence: int
    stored_at: datetime
    event: Event | None
    size_bytes: int


@dataclass(slots=True)
class _Tail:
    """Every message of one session with `after` < sequence <= `until`, in order.

    It grows upwards by what is delivered and downwards by what is read from the log.
    """

    since: float
    after: int
    until: int
    said: deque[_Said] = field(default_factory=deque)

    @property
    def size_bytes(self) -> int:
        return sum(said.size_bytes for said in self.said)


class SessionTurns:
    """The turns a worker knows; used from its event loop alone."""

    def __init__(self, *, most_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_bytes = most_bytes
        self._clock = clock
        self._tails: OrderedDict[str, _Tail] = OrderedDict()
        self._bytes = 0
        self._run = (0, 0)
        """First and last of the newest sequences that were delivered without a gap."""

    def note(self, message: Msg) -> None:
        """Take notice of a delivered message; in the order of delivery, before anything is awaited."""
        sequence = message.metadata.sequence.stream
        run = self._run
        address = subjects.parse_event_subject(message.subject)
        if address is not None and address.kind in _ERASING:
            self._tails.clear()
            self._bytes = 0
        if address is not None and address.kind == "message":
            said = _said(sequence, message.metadata.timestamp, message.data)
            with self._changing(message.subject):
                self._append(message.subject, said, run)
        if sequence > run[1]:
            self._run = (run[0] if sequence == run[1] + 1 and run[0] else sequence, sequence)

    async def before(self, logged: Logged, client: Client) -> list[Logged]:
        """Up to `CONTEXT_TURNS` turns of the same session before the event, oldest first.

        Raises:
            TemporaryError: the log does not answer.
        """
        event = logged.event
        wanted = _turns_wanted(event)
        if not event.session_id or wanted == 0:
            return []
        subject = subjects.session_messages(event.tenant_id, event.session_id)
        turns: list[Logged] = []
        walked: list[_Said] = []
        at = logged.sequence
        while len(turns) < wanted:
            said = self._last_known(subject, at) or await _read(client, subject, at)
            if said is None:
                break
            walked.append(said)
            at = said.sequence
            if said.event is not None and _is_turn(said.event, event):
                turns.append(Logged(said.event, said.sequence, said.stored_at))
        with self._changing(subject):
            self._prepend(subject, walked, above=logged.sequence)
        return turns[::-1]

    def _append(self, subject: str, said: _Said, run: tuple[int, int]) -> None:
        """A message was delivered: its session is known up to it, without a gap or from here on."""
        tail = self._tails.get(subject)
        if tail is not None and said.sequence <= tail.until:
            return
        gap = tail is None or not run[0] <= tail.until + 1 or said.sequence != run[1] + 1
        if tail is None or gap or self._clock() - tail.since > KEPT_SECONDS:
            tail = _Tail(self._clock(), said.sequence - 1, said.sequence)
            self._tails[subject] = tail
        tail.said.append(said)
        tail.until = said.sequence
        while len(tail.said) > KEPT_MESSAGES:
            tail.after = tail.said.popleft().sequence

    def _prepend(self, subject: str, walked: Sequence[_Said], *, above: int) -> None:
        """Everything from the last of `walked` up to `above` was read, newest first."""
        tail = self._tails.get(subject)
        if tail is None or tail.after >= above:
            return
        for said in walked:
            if said.sequence <= tail.after and len(tail.said) < KEPT_MESSAGES:
                tail.said.appendleft(said)
                tail.after = said.sequence - 1

    def _last_known(self, subject: str, sequence: int) -> _Said | None:
        """The last message of a session before `sequence`, if what is kept tells."""
        tail = self._tails.get(subject)
        if tail is None or self._clock() - tail.since > KEPT_SECONDS:
            return None
        first, last = self._run
        until = max(last, tail.until) if first <= tail.until + 1 else tail.until
        if sequence > until + 1:
            return None
        return next((said for said in reversed(tail.said) if said.sequence < sequence), None)

    @contextlib.contextmanager
    def _changing(self, subject: str) -> Iterator[None]:
        """Keep count of the bytes, and drop the sessions used least lately when they are too many."""
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
        return CONTEXT_TURNS
    return 1 if isinstance(event, ToolEvent) else 0


def _is_turn(earlier: Event, event: Event) -> bool:
    """Whether an earlier message counts; one of a foreign tenant, or repeating this very event, does not."""
    return earlier.tenant_id == event.tenant_id and earlier.event_id != event.event_id


def _said(sequence: int, stored: datetime, body: bytes) -> _Said:
    try:
        event = events.parse_event(body)
    except ValidationError:
        event = None
    return _Said(sequence, stored, event, OVERHEAD_BYTES + len(body))


async def _read(client: Client, subject: str, sequence: int) -> _Said | None:
    found = await log.last_before(client, subjects.EVENTS_STREAM, subject, sequence)
    return None if found is None else _said(found.sequence, found.stored_at, found.body)
