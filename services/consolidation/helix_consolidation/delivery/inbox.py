"""The inbox: messages of one durable consumer, from fetching to answering.

Fetching runs beside applying, so a slow batch does not leave the network idle, and stops at a
bound: what is fetched is held, and kept alive on the server, until its generation is published.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import TYPE_CHECKING, Final

from helix_memory.subjects import ROOT
from helix_shared.broker.connection import UNANSWERED
from helix_shared.broker.pull import fetch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

FULL_SECONDS: Final = 0.05
_MEMORIES: Final = f"{ROOT}.derived.memories."


class Inbox:
    """Fetched and unanswered messages; `arrived` is set whenever something waits."""

    def __init__(
        self,
        stream: str,
        subscription: JetStreamContext.PullSubscription,
        *,
        arrived: asyncio.Event,
        batch_messages: int,
        collect_seconds: float,
        held_messages: int,
    ) -> None:
        self.stream = stream
        self._subscription = subscription
        self._arrived = arrived
        self._batch_messages = batch_messages
        self._collect_seconds = collect_seconds
        self._held_messages = held_messages
        self._waiting: deque[Msg] = deque()
        self._held: dict[int, Msg] = {}
        self._is_open = True
        self.is_paused = False
        """While set, nothing is fetched or taken; what is held is kept alive."""

    @property
    def waiting(self) -> int:
        """Messages that may be taken."""
        return 0 if self.is_paused else len(self._waiting)

    @property
    def events_waiting(self) -> int:
        """Of the messages waiting, those that answer an event with its memories."""
        return sum(message.subject.startswith(_MEMORIES) for message in self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether nothing is fetched before something is answered."""
        return len(self._held) >= self._held_messages

    async def fetch_while_open(self) -> None:
        """Fetch while there is room; a server that is away is asked again.

        Ends by `shut`: nats-py's fetch now and then swallows the cancellation of its task.
        """
        while self._is_open:
            if self.is_paused or self.is_full or self.waiting >= 2 * self._batch_messages:
                await asyncio.sleep(FULL_SECONDS)
                continue
            room = min(self._batch_messages, self._held_messages - len(self._held))
            if messages := await fetch(self._subscription, room, self._collect_seconds):
                self._keep(messages)

    def take(self, most: int) -> list[Msg]:
        """At most `most` waiting messages, in order of delivery; they stay held."""
        return [self._waiting.popleft() for _ in range(min(most, self.waiting))]

    def put_back(self, messages: Sequence[Msg]) -> None:
        """These were taken and not worked on; they are the next to be taken."""
        self._waiting.extendleft(reversed(messages))

    def release(self, messages: Iterable[Msg]) -> None:
        """These are answered; they need not be kept alive any more."""
        for message in messages:
            self._held.pop(message.metadata.sequence.stream, None)

    async def keep_alive(self, *, ack_wait_seconds: float) -> None:
        """Tell the server every third of the ack wait that everything held is being worked on."""
        while True:
            await asyncio.sleep(ack_wait_seconds / 3)
            for message in list(self._held.values()):
                if not message.is_acked:
                    # lost when the server is away: then the message comes again, and changes nothing
                    with contextlib.suppress(*UNANSWERED):
                        await message.in_progress()

    def shut(self) -> None:
        """Fetch nothing more."""
        self._is_open = False

    async def give_back(self) -> None:
        """Let go of everything held, so that the next writer gets it at once."""
        for message in self._held.values():
            if not message.is_acked:
                await message.nak()
        self._held.clear()
        self._waiting.clear()

    async def close(self) -> None:
        """End the subscription; draining a connection waits half a minute for an open one."""
        with contextlib.suppress(*UNANSWERED):
            await self._subscription.unsubscribe()

    def _keep(self, messages: list[Msg]) -> None:
        for message in messages:
            self._held[message.metadata.sequence.stream] = message
        self._waiting.extend(messages)
        self._arrived.set()
