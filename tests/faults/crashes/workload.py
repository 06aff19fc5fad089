"""Events that are all different, and a ledger of those that NATS has acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from nats.errors import NoRespondersError
from nats.js import JetStreamContext
from nats.js.errors import ServiceUnavailableError

from helix_cli.clients.broker import connected
from helix_memory import subjects
from helix_memory.events import MessageEvent
from helix_memory.transport.connection import connect
from helix_memory.transport.polling import async_poll
from helix_memory.transport.publisher import Publisher
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.errors import TemporaryError
from helix_shared.identity import memory_id

TENANTS: Final = ("acme", "umbrella", "initech")
AT_ONCE: Final = 64
READ_SECONDS: Final = 60.0
FIRST: Final = datetime(2026, 9, 1, 8, tzinfo=UTC)
TOPICS: Final = ("the retry budget", "staging", "the importer", "billing", "our release train", "the parser")


def tenant_of(number: int, tenants: Sequence[str] = TENANTS) -> str:
    """Whose event it is."""
    return tenants[number % len(tenants)]


def event(number: int, tenants: Sequence[str] = TENANTS) -> MessageEvent:
    """One turn; each tenant has four sessions at a time, of 20 turns each."""
    moved = f"ticket {number * 7919} moved worker {number * 104729 % 9973} to rack {number}"
    turn = number // len(tenants)
    return MessageEvent(
        event_id=f"message-{number}",
        tenant_id=tenant_of(number, tenants),
        session_id=f"s{turn % 4 + turn // 80 * 4}",
        role="user" if number % 2 else "assistant",
        text=f"About {TOPICS[number % 6]}: {moved}.",
        occurred_at=FIRST + timedelta(minutes=number),
    )


def memory_of(number: int, tenants: Sequence[str] = TENANTS) -> str:
    """Id of the one memory of an event."""
    return memory_id(tenant_of(number, tenants), f"message-{number}", 0)


@dataclass
class Ledger:
    """What was acknowledged, and at which sequence; `repeats` counts events that had to be sent again."""

    tenants: Sequence[str] = TENANTS
    acknowledged: dict[int, int] = field(default_factory=dict)
    repeats: int = 0
    is_over: bool = False

    async def publish(self, url: str, numbers: Iterable[int]) -> None:
        """Publish events one after the other, each until it is acknowledged, or until `is_over`."""
        client = await connect(url, name="test")
        publisher = Publisher(client.jetstream(), timeout_seconds=2.0)
        try:
            for number in numbers:
                while not self.is_over and number not in self.acknowledged:
                    try:
                        ack = await publisher.publish_event(event(number, self.tenants))
                    except TemporaryError:
                        self.repeats += 1
                        await asyncio.sleep(0.2)
                    else:
                        self.repeats += ack.duplicate
                        self.acknowledged[number] = ack.sequence
        finally:
            await client.close()


async def stored(url: str) -> list[str]:
    """The id of each message in the stream of events."""
    ids: list[str] = []
    async with connected(url) as jetstream:
        state = (await jetstream.stream_info(subjects.EVENTS_STREAM)).state
        for start in range(state.first_seq, state.last_seq + 1, AT_ONCE):
            part = range(start, min(start + AT_ONCE, state.last_seq + 1))
            ids += await asyncio.gather(*(_id_at(jetstream, sequence) for sequence in part))
    return ids


async def _id_at(jetstream: JetStreamContext, sequence: int) -> str:
    """Of the leader, because a replica that catches up lacks messages; asked again while there is none."""
    async for _ in async_poll(READ_SECONDS):
        try:
            message = await jetstream.get_msg(subjects.EVENTS_STREAM, sequence)
        except (NoRespondersError, ServiceUnavailableError, TimeoutError):
            continue
        return (message.headers or {}).get(subjects.MSG_ID_HEADER, "")
    raise TemporaryError(f"nobody gives message {sequence}")


def id_of(number: int) -> str:
    """The id under which an event is in the stream."""
    one = event(number)
    return subjects.message_id(one.tenant_id, one.event_id)


def lost_and_twice(generation: Generation, numbers: Iterable[int]) -> tuple[int, int]:
    """How many of the events have no memory, and how many memories say what another one says."""
    rows = generation.vectors.take(range(len(generation.signals)), ["memory_id", "text"])
    found, texts = rows["memory_id"].to_pylist(), rows["text"].to_pylist()
    lost = len(set(map(memory_of, numbers)) - set(found))
    return lost, len(found) - min(len(set(found)), len(set(texts)))


def chunks(count: int, parts: int) -> Iterator[range]:
    """The numbers up to `count` in `parts` parts."""
    for part in range(parts):
        yield range(count * part // parts, count * (part + 1) // parts)
