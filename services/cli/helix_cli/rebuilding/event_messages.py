"""The messages of events that are read from the log: what ingest and its followers make of each, and itself.

Lifecycle events come as they are. Nothing is published. Refused events are noted, most have dead letters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nats.aio.msg import Msg

from helix_cli.rebuilding.derive import delivered, delivered_event
from helix_cli.rebuilding.deriving import Underived, process_errors
from helix_cli.rebuilding.refusals import INGEST, Refusals
from helix_ingest.extraction.values import LoggedEvent
from helix_ingest.session_turns import SessionTurns
from helix_memory import events, subjects
from helix_shared.errors import PermanentError
from helix_shared.moments import microseconds
from helix_shared.published import published_event

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_cli.rebuilding.deriving import Derived, Deriving
    from helix_cli.rebuilding.source import SourceEvent

SUBMITTED: Final = 4
"""Events that are handed over to be derived together."""


class EventMessages:
    """Makes them in the order of the log; derived messages are numbered as those of a stream are."""

    def __init__(
        self, client: Client, deriving: Deriving, refusals: Refusals, *, cached_bytes: int, number: int
    ) -> None:
        """`client` reads the turns before an event, of which `cached_bytes` are kept.

        `number` is that of the last derived message before.
        """
        self._client = client
        self._deriving = deriving
        self._refusals = refusals
        self._turns = SessionTurns(most_bytes=cached_bytes)
        self._number = number

    async def of(self, found: Sequence[SourceEvent]) -> list[Msg]:
        """The messages of the next events; calls come one after the other.

        Raises:
            TemporaryError: NATS does not answer, or a process that derives was ended.
        """
        read: list[Msg | Underived] = []
        submitted: list[asyncio.Future[list[Derived]]] = []
        for start in range(0, len(found), SUBMITTED):
            some = [await self._read(logged) for logged in found[start : start + SUBMITTED]]
            read += some
            if underived := [one for one in some if isinstance(one, Underived)]:
                submitted.append(self._submit(underived))
        with process_errors():
            derived = iter([one for some in submitted for one in await some])
        messages: list[Msg] = []
        for one in read:
            messages += [one] if isinstance(one, Msg) else self._delivered(next(derived))
        return messages

    async def _read(self, logged: SourceEvent) -> Msg | Underived:
        """A lifecycle event as it comes, any other with the turns before it."""
        at = microseconds(logged.stored_at)
        stored = delivered_event(self._client, logged.subject, logged.body, logged.sequence, at)
        if subjects.kind_of(logged.subject) in events.LIFECYCLE_KINDS:
            self._turns.observe(stored, None)
            return stored
        try:
            event = LoggedEvent(
                published_event(logged.subject, logged.body), logged.sequence, logged.stored_at
            )
        except PermanentError as error:
            self._turns.observe(stored, None)
            return Underived(logged.subject, logged.sequence, None, refusal=str(error))
        self._turns.observe(stored, event)
        earlier = await self._turns.before(event, self._client)
        return Underived(logged.subject, logged.sequence, event, earlier)

    def _submit(self, some: Sequence[Underived]) -> asyncio.Future[list[Derived]]:
        return asyncio.wrap_future(self._deriving.submit(some))

    def _delivered(self, derived: Derived) -> list[Msg]:
        if derived.refusal:
            self._refusals.add(INGEST, derived.sequence, derived.refusal)
        first = self._number + 1
        self._number += len(derived.messages)
        return [
            delivered(self._client, message, number) for number, message in enumerate(derived.messages, first)
        ]
