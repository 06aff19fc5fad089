"""Addresses of servers in errors and logs."""

import pytest

from helix_memory.errors import TemporaryError
from helix_memory.transport.connection import connect
from helix_memory.transport.credentials import shown


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("nats://127.0.0.1:4222", "nats://127.0.0.1:4222"),
        ("nats://bob:s3cret@host:4222", "nats://***@host:4222"),
        ("nats://bob:s3@cret@host,tls://t0ken@other", "nats://***@host,tls://***@other"),
        ("bob:s3cret@host:4222", "***@host:4222"),
        ("nats://a:b@h1:1, c:d@h2:2", "nats://***@h1:1, ***@h2:2"),
        ("nats://host/a@b", "nats://host/a@b"),
    ],
)
def test_no_password_of_an_address_is_shown(address: str, expected: str) -> None:
    """Of a user, or a token alone; everything else stays."""
    assert shown(address) == expected


async def test_no_password_is_in_the_error_of_a_connection() -> None:
    """It is printed by commands and logged by workers."""
    with pytest.raises(TemporaryError, match=r"nats://\*\*\*@127\.0\.0\.1:1; start one"):
        await connect("nats://bob:s3cret@127.0.0.1:1", name="test")
