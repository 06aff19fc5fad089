"""Atomic batches: the stream stores all messages of a batch in one write, or none.

A single message costs the server a flush to disk (about 3 ms, measured), a message in a batch of 64 a
thirtieth of that. The stream refuses a whole batch when one of its message ids is already stored. After a
refusal or without a reply `publisher` publishes the messages one by one; their ids make that safe.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from helix_memory import subjects
from helix_memory.transport.connection import UNANSWERED

if TYPE_CHECKING:
    from nats.aio.client import Client

MOST_MESSAGES: Final = 500
"""Half of the server's limit for one batch."""
MOST_BYTES: Final = 4 * 1024 * 1024
"""Bodies in one batch; the server keeps an open batch in memory."""

_BATCH_ID: Final = "Nats-Batch-Id"
_BATCH_SEQUENCE: Final = "Nats-Batch-Sequence"
_BATCH_COMMIT: Final = "Nats-Batch-Commit"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message to publish; repeating it with the same `message_id` changes nothing."""

    subject: str
    body: bytes
    message_id: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def stamped(self) -> dict[str, str]:
        """The headers including the message id."""
        return {**self.headers, subjects.MSG_ID_HEADER: self.message_id}


def split(messages: Iterable[Outgoing]) -> Iterator[list[Outgoing]]:
    """Batches in order, each of at most `MOST_MESSAGES` messages and `MOST_BYTES`, or one larger message."""
    batch: list[Outgoing] = []
    size = 0
    for message in messages:
        if batch and (len(batch) == MOST_MESSAGES or size + len(message.body) > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += len(message.body)
    if batch:
        yield batch


async def publish_batch(
    client: Client, messages: Sequence[Outgoing], *, timeout_seconds: float
) -> list[int] | None:
    """Store `messages` as one batch and return their sequences; None if the stream did not confirm it.

    After None publish each message alone; some of them may already be stored.
    """
    named = [message.message_id for message in messages if message.message_id]
    if len(set(named)) < len(named):
        return None
    batch = uuid.uuid4().hex
    try:
        for number, message in enumerate(messages[:-1], 1):
            headers = {**message.stamped, _BATCH_ID: batch, _BATCH_SEQUENCE: str(number)}
            await client.publish(message.subject, message.body, headers=headers)
        last = messages[-1]
        headers = {**last.stamped, _BATCH_ID: batch, _BATCH_SEQUENCE: str(len(messages)), _BATCH_COMMIT: "1"}
        reply = await client.request(last.subject, last.body, timeout=timeout_seconds, headers=headers)
        return _sequences(json.loads(reply.data), len(messages))
    except (*UNANSWERED, ValueError, KeyError) as error:
        _log.info("batch of %d not acknowledged: %s", len(messages), type(error).__name__)
        return None


def _sequences(answer: dict[str, object], count: int) -> list[int] | None:
    last = answer.get("seq")
    if "error" in answer or answer.get("count") != count or not isinstance(last, int):
        _log.debug("batch of %d refused: %s", count, answer.get("error", answer))
        return None
    return list(range(last - count + 1, last + 1))
