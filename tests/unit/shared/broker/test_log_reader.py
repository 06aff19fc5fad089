"""Reading a range of a stream from a server that does not answer."""

from __future__ import annotations

from typing import Any, cast

import pytest
from nats.aio.client import Client

from helix_shared.broker.log_reader import read_range
from helix_shared.errors import TemporaryError


class Silent:
    """A connection whose server answers no request."""

    def jetstream(self) -> Silent:
        """The same: nothing of it answers."""
        return self

    async def add_consumer(self, *_: Any) -> None:
        """As `asyncio.wait_for` ends."""
        raise TimeoutError


async def test_an_error_without_text_is_named_by_its_class() -> None:
    """A timeout of asyncio has no message: the reason ended after the colon."""
    reading = read_range(cast("Client", Silent()), "S", ["s.>"], until=1)
    with pytest.raises(TemporaryError, match=r"stream S does not answer: TimeoutError\Z"):
        await anext(reading)
