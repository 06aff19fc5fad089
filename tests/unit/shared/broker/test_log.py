"""A message has one time, whether it was delivered or read back from the log."""

import random
from datetime import UTC, datetime

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_shared.broker import log

SECOND = 1_795_318_725


def delivered_at(nanoseconds: int) -> datetime:
    """The time that nats-py reads from the reply subject of a delivery."""
    reply = f"$JS.ACK.HELIX_EVENTS.ingest.1.70.70.{nanoseconds}.0"
    return Msg(Client(), "helix.v1.events.acme.s0.message", reply).metadata.timestamp


def stamp(nanoseconds: int) -> str:
    """The timestamp in a direct get: without trailing zeros."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    digits = f"{fraction:09}".rstrip("0")
    return f"{moment}.{digits}Z" if digits else f"{moment}Z"


@pytest.mark.parametrize(
    "fraction", [0, 1, 419_999_499, 419_999_501, 419_999_999, 420_000_000, 500_000_000, 999_999_999]
)
def test_at_the_edges_of_a_millisecond(fraction: int) -> None:
    """With truncation, 419,999,999 ns would be another millisecond than in the delivery."""
    nanoseconds = SECOND * 1_000_000_000 + fraction
    assert log.stored_at(stamp(nanoseconds)) == delivered_at(nanoseconds)


def test_at_any_time() -> None:
    """Drawn from a year."""
    drawn = random.Random(7)
    for _ in range(5_000):
        nanoseconds = SECOND * 1_000_000_000 + drawn.randrange(366 * 86_400 * 1_000_000_000)
        assert log.stored_at(stamp(nanoseconds)) == delivered_at(nanoseconds)
