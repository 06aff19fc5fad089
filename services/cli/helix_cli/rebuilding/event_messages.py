"""The messages of events that are read from the log: what ingest and its followers make of each, and itself.

Lifecycle events come as they are. Nothing is published. Refused events are noted, most have dead letters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from nats.aio.msg import Msg

from helix_cli.rebuilding.derive import Workers, delivered, delivered_event
from helix_cli.rebuilding.refusals import INGEST, Refusals
from helix_ingest.extraction.values import LoggedEvent
from helix_ingest.session_turns import SessionTurns
from helix_memory import events, subjects
from helix_shared.broker.worker.derived import DerivedMessage
from helix_shared.errors import PermanentError
from helix_shared.moments import microseconds
from helix_shared.published import published_event

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_cli.rebuilding.source import SourceEvent


class EventMessages:
    """Makes them in the order of the log; derived messages are numbered as those of a stream are."""

    def __init__(
        self, client: Client, workers: Workers, refusals: Refusals, *, cached_bytes: int, number: int
    ) -> None:
        """`client` reads the turns before an event, of which `cached_bytes` are kept.

        `number` is that of the last derived message before.
        """
        self._client = client
        self._workers = workers
        self._refusals = refusals
        self._turns = SessionTurns(most_bytes=cached_bytes)
        self._number = number

    async def of(self, found: Sequence[SourceEvent], pool: ThreadPoolExecutor) -> list[Msg]:
        """The messages of the next events; calls come one after the other.

        Raises:
            TemporaryError: NATS does not answer.
        """
        loop = asyncio.get_running_loop()
        made: list[Msg | asyncio.Future[Sequence[DerivedMessage]]] = []
        for logged in found:
            at = microseconds(logged.stored_at)
            stored = delivered_event(self._client, logged.subject, logged.body, logged.sequence, at)
            if subjects.kind_of(logged.subject) in events.LIFECYCLE_KINDS:
                self._turns.observe(stored, None)
                made.append(stored)
                continue
            earlier, event = [], self._event(logged)
            self._turns.observe(stored, event if isinstance(event, LoggedEvent) else None)
            if isinstance(event, LoggedEvent):
                earlier = await self._turns.before(event, self._client)
            made.append(loop.run_in_executor(pool, self._derive, logged, event, earlier))
        messages = []
        for one in made:
            if isinstance(one, Msg):
                messages.append(one)
                continue
            for message in await one:
                self._number += 1
                messages.append(delivered(self._client, message, self._number))
        return messages

    def _event(self, logged: SourceEvent) -> LoggedEvent | PermanentError:
        """The error where ingest refuses the event."""
        try:
            event = published_event(logged.subject, logged.body)
        except PermanentError as error:
            return error
        return LoggedEvent(event, logged.sequence, logged.stored_at)

    def _derive(
        self, logged: SourceEvent, event: LoggedEvent | PermanentError, earlier: list[LoggedEvent]
    ) -> Sequence[DerivedMessage]:
        refusal = event
        if isinstance(event, LoggedEvent):
            try:
                return self._workers.messages(event, earlier)
            except PermanentError as error:
                refusal = error
        self._refusals.add(INGEST, logged.sequence, str(refusal))
        return self._workers.of_refused(logged.subject, logged.sequence)
