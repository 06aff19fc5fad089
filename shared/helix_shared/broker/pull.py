"""Pulling from a durable consumer: one message at once, the ones behind it along with it.

FastStream's pull subscribers are not used. nats-py ends an idle fetch now and then with the bare
`TimeoutError` that FastStream does not expect (measured: every other second). FastStream's batch
mode then forgets what it had fetched until the ack wait is over; its single mode restarts its
task, and keeps every ended one. Here a fetch that ends without a message is no event at all, an
error is waited out, and whatever was fetched is answered before the loop ends.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from nats.errors import Error as NatsError

from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

LINGER_SECONDS: Final = 0.5
"""Longest wait for a first message, and so the longest wait for a loop to notice that it is stopped."""
RETRY_SECONDS: Final = 0.5

_log = logger(__name__)


async def pull(
    client: Client,
    answer: Callable[[Sequence[Msg]], Awaitable[None]],
    stop: asyncio.Event,
    *,
    stream: str,
    durable: str,
    batch_messages: int,
    collect_seconds: float,
) -> None:
    """Hand every message of a durable to `answer`, up to `batch_messages` at once, until `stop` is set.

    Collecting ends `collect_seconds` after the first message of a batch; it is latency.
    """
    subscription = await client.jetstream().pull_subscribe_bind(durable=durable, stream=stream)
    try:
        while not stop.is_set():
            messages = await _fetch(subscription, batch_messages, collect_seconds)
            if messages:
                await answer(messages)
    finally:
        with contextlib.suppress(NatsError):
            await subscription.unsubscribe()


async def _fetch(
    subscription: JetStreamContext.PullSubscription, batch_messages: int, collect_seconds: float
) -> list[Msg]:
    try:
        messages = await subscription.fetch(1, timeout=LINGER_SECONDS)
    except TimeoutError:
        return []
    except (NatsError, OSError) as error:
        _log.warning("fetch failed", reason=str(error) or type(error).__name__)
        await asyncio.sleep(RETRY_SECONDS)
        return []
    if batch_messages > 1:
        # the first one is at hand and must be answered whatever becomes of this
        with contextlib.suppress(TimeoutError, NatsError, OSError):
            messages += await subscription.fetch(batch_messages - 1, timeout=collect_seconds)
    return messages
