"""Waiting for an event sequence."""

import asyncio
import threading
import time

from helix_query.scheduling.progress import Progress


async def test_a_wait_is_ended_by_another_thread() -> None:
    """As soon as the sequence is reached, without polling."""
    progress = Progress()
    threading.Timer(0.1, progress.advance, [7]).start()
    began = time.monotonic()
    assert await progress.reach(7, seconds=60)
    assert time.monotonic() - began < 30
    assert progress.has_reached(7)
    assert not progress.has_reached(8)


async def test_an_earlier_sequence_does_not_end_the_wait() -> None:
    """The swapped generation does not hold the event yet."""
    progress = Progress()
    waiting = asyncio.create_task(progress.reach(7, seconds=0.3))
    await asyncio.sleep(0.05)
    progress.advance(6)
    assert not await waiting
    assert progress._waiting == {}


async def test_the_wait_ends_after_its_seconds() -> None:
    """Also for the greatest sequence, 2^64 - 1."""
    began = time.monotonic()
    assert not await Progress().reach(2**64 - 1, seconds=0.1)
    assert time.monotonic() - began > 0.09


async def test_a_cancelled_wait_leaves_nothing_behind() -> None:
    """A later advance finds no waiting future."""
    progress = Progress()
    waiting = asyncio.create_task(progress.reach(3, seconds=5))
    await asyncio.sleep(0.05)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    progress.advance(3)
    assert progress._waiting == {}


def test_sequence_zero_is_always_reached() -> None:
    """A recall without `min_seq` never waits, even without a generation."""
    assert Progress().has_reached(0)
    assert not Progress().has_reached(1)
