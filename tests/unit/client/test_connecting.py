"""Connecting to NATS."""

import pytest

from helix_memory.errors import TemporaryError
from helix_memory.transport.connection import connect


async def test_a_server_that_is_away_is_told_once(
    unused_tcp_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """By the error; a program without logging would print warnings before it."""
    with pytest.raises(TemporaryError, match="no NATS server answers"):
        await connect(f"nats://127.0.0.1:{unused_tcp_port}", name="test")
    assert caplog.messages == []
