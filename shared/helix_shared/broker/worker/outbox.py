"""The outbox of a worker: messages that handlers publish at about the same time form one atomic batch.

A message is published at once if no other handler runs. Otherwise it waits for their messages, at most
`LINGER_SECONDS`, because a batch costs the server little more than one message. `publish` returns when its
own message is stored. If the stream refuses a batch, its messages are published one by one with the same ids.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from helix_memory.transport.batch import Outgoing, split
from helix_memory.transport.publisher import PubAck, Publisher
from helix_shared.broker import deadline
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from nats.aio.client import Client

LINGER_SECONDS: Final = 1.0
ENOUGH_TOGETHER: Final = 32
"""Messages that are sent without waiting longer: half of those in progress, so that the lanes stay busy."""
MOST_TOGETHER: Final = 64

Entry = tuple[Outgoing, "asyncio.Future[PubAck]"]


class Outbox:
    """Publishes like `Publisher`, but batches messages of concurrent handlers."""

    def __init__(self, client: Client, publisher: Publisher) -> None:
        self._client = client
        self._publisher = publisher
        self._waiting: deque[Entry] = deque()
        self._expected = 0
        self._changed = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def expecting(self) -> Iterator[None]:
        """Inside, one more message is expected, and others wait for it."""
        self._expected += 1
        try:
            yield
        finally:
            self._expected -= 1
            self._changed.set()

    async def publish(
        self, subject: str, body: bytes, *, message_id: str, headers: Mapping[str, str] | None = None
    ) -> PubAck:
        """Publish a message and return when the stream has stored it.

        Raises: as `Publisher.publish`.
        """
        stored: asyncio.Future[PubAck] = asyncio.get_running_loop().create_future()
        self._waiting.append((Outgoing(subject, body, message_id, headers or {}), stored))
        self._changed.set()
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_waiting())
        # the publisher has its own time limits, and an unreachable stream is not a fault of the message
        with deadline.suspended():
            return await stored

    async def _send_waiting(self) -> None:
        try:
            while self._waiting:
                await self._collect()
                count = min(MOST_TOGETHER, len(self._waiting))
                await self._send([self._waiting.popleft() for _ in range(count)])
        finally:
            self._sending = None

    async def _collect(self) -> None:
        """Wait for all expected messages, for `ENOUGH_TOGETHER` of them, or for `LINGER_SECONDS`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while len(self._waiting) < min(ENOUGH_TOGETHER, self._expected):
                    self._changed.clear()
                    await self._changed.wait()

    async def _send(self, entries: Sequence[Entry]) -> None:
        """Publish messages; each handler learns what became of its own, also of an error of this module."""
        try:
            await self._publish(entries)
        except BaseException as error:
            # the deadline of a handler is suspended while it waits: untold, it would wait for ever
            failure = error if isinstance(error, Exception) else TemporaryError("publishing was ended")
            for _, stored in entries:
                _resolve(stored, failure)
            if not isinstance(error, Exception):
                raise

    async def _publish(self, entries: Sequence[Entry]) -> None:
        entry_of = {id(message): stored for message, stored in entries}
        for batch in split([message for message, _ in entries]):
            acks = await self._publisher.publish_together(self._client, batch) if len(batch) > 1 else None
            if acks is None:
                await asyncio.gather(*(self._send_alone(m, entry_of[id(m)]) for m in batch))
                continue
            for message, ack in zip(batch, acks, strict=True):
                _resolve(entry_of[id(message)], ack)

    async def _send_alone(self, message: Outgoing, stored: asyncio.Future[PubAck]) -> None:
        try:
            ack = await self._publisher.publish(
                message.subject, message.body, message_id=message.message_id, headers=message.headers
            )
        except Exception as error:  # noqa: BLE001  raised again in the caller of `publish`
            _resolve(stored, error)
        else:
            _resolve(stored, ack)


def _resolve(stored: asyncio.Future[PubAck], outcome: PubAck | Exception) -> None:
    """Set the outcome, unless the handler was cancelled meanwhile."""
    if stored.done():
        return
    if isinstance(outcome, Exception):
        stored.set_exception(outcome)
    else:
        stored.set_result(outcome)
