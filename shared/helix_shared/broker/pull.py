"""Pulling from a durable consumer: always a few messages in work, and none waits for another.

New messages are fetched while earlier ones are still being answered, so neither the fetch nor the
publishing of one message leaves the cores idle for the next; the server hears of everything in
work before its ack wait is over.

FastStream's pull subscribers are not used. nats-py ends an idle fetch now and then with the bare
`TimeoutError` that FastStream does not expect (measured: every other second). FastStream's batch
mode then forgets what it had fetched until the ack wait is over; its single mode restarts its
task, and keeps every ended one. Here a fetch that ends without a message is no event at all, an
error is waited out, and whatever was fetched is answered before the loop ends.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
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
REFILL: Final = 4
"""A fetch waits until this part of the room is free, so that it brings several messages."""

_log = logger(__name__)


async def pull(
    client: Client,
    answer: Callable[[Msg], Awaitable[None]],
    stop: asyncio.Event,
    *,
    stream: str,
    durable: str,
    most_in_work: int,
    collect_seconds: float,
    ack_wait_seconds: float,
) -> None:
    """Have `answer` run for every message of a durable, up to `most_in_work` at once, until `stop` is set.

    Answers start in the order of delivery. Collecting ends `collect_seconds` after the first message
    of a fetch; it is latency.
    """
    subscription = await client.jetstream().pull_subscribe_bind(durable=durable, stream=stream)
    in_work: dict[asyncio.Task[None], Msg] = {}
    beating = asyncio.create_task(_keep_alive(in_work, ack_wait_seconds / 3))
    try:
        while not stop.is_set():
            room = most_in_work - len(in_work)
            if room < max(1, most_in_work // REFILL):
                await _settle_some(in_work)
                continue
            for message in await fetch(subscription, room, collect_seconds):
                in_work[asyncio.create_task(_answered(answer, message))] = message
            _settle(in_work, {task for task in in_work if task.done()})
        while in_work:
            await _settle_some(in_work)
    finally:
        for task in (beating, *in_work):
            task.cancel()
        await asyncio.gather(beating, *in_work, return_exceptions=True)
        with contextlib.suppress(NatsError):
            await subscription.unsubscribe()


async def _answered(answer: Callable[[Msg], Awaitable[None]], message: Msg) -> None:
    await answer(message)


async def _settle_some(in_work: dict[asyncio.Task[None], Msg]) -> None:
    done, _ = await asyncio.wait(in_work, return_when=asyncio.FIRST_COMPLETED)
    _settle(in_work, done)


def _settle(in_work: dict[asyncio.Task[None], Msg], done: set[asyncio.Task[None]]) -> None:
    """Forget what is answered; what could not even be answered ends the loop."""
    for task in done:
        del in_work[task]
        task.result()


async def _keep_alive(in_work: Mapping[asyncio.Task[None], Msg], every_seconds: float) -> None:
    """Tell the server every so often that the messages are being worked on."""
    while True:
        await asyncio.sleep(every_seconds)
        for message in list(in_work.values()):
            if not message.is_acked:
                # a heartbeat that is lost costs a redelivery, never the worker
                with contextlib.suppress(NatsError, OSError):
                    await message.in_progress()


async def fetch(
    subscription: JetStreamContext.PullSubscription, room: int, collect_seconds: float
) -> list[Msg]:
    """At most `room` messages: the first within `LINGER_SECONDS`, the others `collect_seconds` after it.

    None when there is none, or when the server is away; the latter is waited out.
    """
    try:
        messages = await subscription.fetch(1, timeout=LINGER_SECONDS)
    except TimeoutError:
        return []
    except (NatsError, OSError) as error:
        _log.warning("fetch failed", reason=str(error) or type(error).__name__)
        await asyncio.sleep(RETRY_SECONDS)
        return []
    if room > 1:
        # the first one is at hand and must be answered whatever becomes of this
        with contextlib.suppress(TimeoutError, NatsError, OSError):
            messages += await subscription.fetch(room - 1, timeout=collect_seconds)
    return messages
