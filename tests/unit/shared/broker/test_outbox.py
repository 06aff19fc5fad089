"""The outbox where publishing fails in a way that the publisher does not foresee."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from helix_memory.transport.publisher import PubAck, Publisher
from helix_shared.broker.worker.outbox import Outbox
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nats.aio.client import Client

    from helix_memory.transport.batch import Outgoing


class Broken(Publisher):
    """Fails with `error` for the first batch, then stores everything."""

    def __init__(self, error: BaseException) -> None:
        self._error: BaseException | None = error

    async def publish_together(self, client: Client, messages: Sequence[Outgoing]) -> list[PubAck] | None:
        """Fail once."""
        del client
        if (error := self._error) is not None:
            self._error = None
            raise error
        return [PubAck(number, duplicate=False) for number in range(len(messages))]

    async def publish(self, *_: Any, **__: Any) -> PubAck:
        """Store a message."""
        return PubAck(0, duplicate=False)


@pytest.mark.parametrize(
    ("error", "told"),
    [(AttributeError("no transport"), AttributeError), (asyncio.CancelledError(), TemporaryError)],
)
async def test_every_handler_of_a_batch_that_fails_is_told(
    error: BaseException, told: type[Exception]
) -> None:
    """It would wait for ever: its deadline does not count while it waits for the stream."""
    outbox = Outbox(cast("Client", None), Broken(error))

    async def handle(number: int) -> PubAck:
        with outbox.expecting():
            return await outbox.publish("derived", b"", message_id=str(number))

    async with asyncio.timeout(10):
        failed = await asyncio.gather(*map(handle, range(3)), return_exceptions=True)
        assert [type(one) for one in failed] == [told] * 3
        # the next ones are sent
        assert await asyncio.gather(*map(handle, range(2))) == [
            PubAck(number, duplicate=False) for number in range(2)
        ]
