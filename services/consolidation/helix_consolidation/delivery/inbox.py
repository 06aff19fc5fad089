"""The inbox: messages of one durable consumer, from fetching to acknowledgement.

Fetching runs in parallel to applying, and stops at a bound: a fetched message is held, and kept alive on the
server, until its generation is published.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import TYPE_CHECKING, Final

from helix_memory.subjects import derived_subject
from helix_memory.transport.connection import UNANSWERED
from helix_shared.broker.pull import fetch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nats.aio.client import Client
    from nats.aio.msg import Msg

    from helix_shared.broker.pull_reader import PullReader

FULL_SECONDS: Final = 0.05
_MEMORIES: Final = derived_subject("memories", "")


class Inbox:
    """Fetched messages that are not settled; `arrived` is set whenever one waits to be taken."""

    def __init__(
        self,
        client: Client,
        stream: str,
        reader: PullReader,
        *,
        arrived: asyncio.Event,
        batch_messages: int,
        collect_seconds: float,
        held_messages: int,
    ) -> None:
        self._client = client
        self.stream = stream
        self._reader = reader
        self._arrived = arrived
        self._batch_messages = batch_messages
        self._collect_seconds = collect_seconds
        self._held_messages = held_messages
        self._waiting: deque[Msg] = deque()
        self._held: dict[int, Msg] = {}
        self._is_open = True
        self.is_paused = False
        """While set, nothing is fetched or taken; held messages are kept alive."""

    @property
    def waiting(self) -> int:
        """Messages that may be taken."""
        return 0 if self.is_paused else len(self._waiting)

    @property
    def events_waiting(self) -> int:
        """Waiting messages that hold the memories of an event."""
        return sum(message.subject.startswith(_MEMORIES) for message in self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether nothing is fetched until something is released."""
        return len(self._held) >= self._held_messages

    async def fetch_while_open(self) -> None:
        """Fetch while there is room; retry while the server is away.

        Ends by `stop_fetching`: nats-py's fetch may swallow the cancellation of its task.
        """
        while self._is_open:
            if self.is_paused or self.is_full or self.waiting >= 2 * self._batch_messages:
                await asyncio.sleep(FULL_SECONDS)
                continue
            room = min(self._batch_messages, self._held_messages - len(self._held))
            if messages := await fetch(self._client, self._reader, room, self._collect_seconds):
                self._keep(messages)

    def take(self, most: int) -> list[Msg]:
        """At most `most` waiting messages, in order of delivery; they stay held."""
        return [self._waiting.popleft() for _ in range(min(most, self.waiting))]

    def put_back(self, messages: Sequence[Msg]) -> None:
        """Undo `take`: the next `take` returns these messages first."""
        self._waiting.extendleft(reversed(messages))

    def release(self, messages: Iterable[Msg]) -> None:
        """Stop holding these messages, and keeping them alive."""
        for message in messages:
            self._held.pop(message.metadata.sequence.stream, None)

    async def keep_alive(self, *, ack_wait_seconds: float) -> None:
        """Send "in progress" for every held message, every third of the ack wait."""
        every_seconds = await self._reader.heartbeat_seconds(ack_wait_seconds)
        while True:
            await asyncio.sleep(every_seconds)
            for message in list(self._held.values()):
                if not message.is_acked:
                    # if it is lost the message is delivered again, which changes nothing
                    with contextlib.suppress(*UNANSWERED):
                        await message.in_progress()

    def stop_fetching(self) -> None:
        """Make `fetch_while_open` end."""
        self._is_open = False

    async def give_back(self) -> None:
        """Give all held messages back to the server, so that the next writer gets them at once."""
        for message in self._held.values():
            if not message.is_acked:
                await message.nak()
        self._held.clear()
        self._waiting.clear()

    async def close(self) -> None:
        """End the subscription; with an open one, draining the connection takes half a minute."""
        with contextlib.suppress(*UNANSWERED):
            await self._reader.unsubscribe()

    def _keep(self, messages: list[Msg]) -> None:
        for message in messages:
            self._held[message.metadata.sequence.stream] = message
        self._waiting.extend(messages)
        self._arrived.set()


def put_back(inboxes: Iterable[Inbox], messages: Sequence[Msg]) -> None:
    """Undo `take` of a batch; the messages of a paused inbox are held by `blocked`."""
    for inbox in inboxes:
        if not inbox.is_paused:
            inbox.put_back([m for m in messages if m.metadata.stream == inbox.stream])


def release(inboxes: Iterable[Inbox], messages: Sequence[Msg]) -> None:
    """Stop holding the messages of a batch."""
    for inbox in inboxes:
        inbox.release(m for m in messages if m.metadata.stream == inbox.stream)
