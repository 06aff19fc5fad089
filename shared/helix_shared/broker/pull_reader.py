"""Fetches messages of a pull consumer, whatever headers they have; a fetch gives a message or raises.

nats-py's own fetch takes a header `Status` for an answer of the server, which `transport.delivered` prevents
for connections of Helix, and returns nothing where the consumer is removed while it waits. Here an answer of
the server is a message without a subject for acknowledgements, which a stored message always has.
"""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING, Any, Final, Self

from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.errors import APIError

from helix_memory.transport.connection import UNANSWERED

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

ENDS: Final = frozenset({"404", "408", "409"})
"""Statuses that are no error: no message, not in time, and no more for this request."""
_NEXT: Final = "$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"


class PullReader:
    """A subscription for the messages of one pull consumer; one fetch at a time."""

    def __init__(
        self, client: Client, subscription: Subscription, inbox: str, stream: str, consumer: str
    ) -> None:
        """Use `open`."""
        self._client = client
        self._subscription = subscription
        self._inbox = inbox
        self._stream, self._consumer = stream, consumer
        self._requests = _NEXT.format(stream=stream, consumer=consumer)
        self._number = 0

    @classmethod
    async def open(cls, client: Client, *, stream: str, consumer: str) -> Self:
        """Subscribe; whether there is such a consumer shows with the first fetch.

        Raises:
            nats.errors.Error: the connection is closed.
        """
        inbox = client.new_inbox()
        subscription = await client.subscribe(f"{inbox}.*", pending_msgs_limit=-1, pending_bytes_limit=-1)
        return cls(client, subscription, inbox, stream, consumer)

    async def heartbeat_seconds(self, ack_wait_seconds: float) -> float:
        """Time between two heartbeats: a third of `ack_wait_seconds`, or of the consumer's where shorter.

        Provisioning, and not the worker, sets the ack wait of a consumer.
        """
        own = None
        with contextlib.suppress(*UNANSWERED):
            info = await self._client.jetstream().consumer_info(self._stream, self._consumer)
            own = info.config.ack_wait
        return min(ack_wait_seconds, own or ack_wait_seconds) / 3

    async def fetch(self, most: int, *, timeout_seconds: float) -> list[Msg]:
        """What is there now, at most `most` messages; where nothing is, the first that come in time.

        Raises:
            nats.errors.TimeoutError: none comes within `timeout_seconds`, or the server does not answer.
            nats.js.errors.APIError: there is no such consumer, or the server refuses.
        """
        until = time.monotonic() + timeout_seconds
        found: list[Msg] = []
        # an earlier request may have been answered after its time
        while self._subscription.pending_msgs and len(found) < most:
            message = await self._next(until)
            if message.reply:
                found.append(message)
        if most > 1 and len(found) < most:
            await self._request(found, most, until, {"no_wait": True})
        while not found:
            left = until - time.monotonic()
            if left <= 0:
                raise NatsTimeoutError
            await self._request(found, most, until, {"expires": int(left * 1e9)})
        return found

    async def unsubscribe(self) -> None:
        """End the subscription.

        Raises:
            nats.errors.Error: it was ended before.
        """
        await self._subscription.unsubscribe()

    async def _request(self, found: list[Msg], most: int, until: float, options: dict[str, Any]) -> None:
        """Ask for the missing messages, and add them to `found` until the server ends the request."""
        self._number += 1
        inbox = f"{self._inbox}.{self._number}"
        request = {"batch": most - len(found), **options}
        await self._client.publish(self._requests, json.dumps(request).encode(), reply=inbox)
        with contextlib.suppress(NatsTimeoutError):
            while len(found) < most:
                message = await self._next(until)
                if message.reply:
                    found.append(message)
                elif message.subject == inbox:
                    if not found and (message.headers or {}).get("Status") not in ENDS:
                        APIError.from_msg(message)
                    return

    async def _next(self, until: float) -> Msg:
        return await self._subscription.next_msg(max(until - time.monotonic(), 0.001))
