import asyncio
import threading
import time

from helix_query.scheduling.progress import Progress


async def test_who_waits_is_woken_by_another_thread() -> None:
    """At once when the sequence is reached, not at the next look."""
    progress = Progress()
    threading.Timer(0.1, progress.advance, [7]).start()
    began = time.monotonic()
    assert await progress.reach(7, seconds=5)
    assert time.monotonic() - began < 1
    assert progress.has_reached(7)
    assert not progress.has_reached(8)


async def test_too_little_progress_wakes_nobody() -> None:
    """A swap that does not hold the event is not the one that is waited for."""
    progress = Progress()
    waiting = asyncio.create_task(progress.reach(7, seconds=0.3))
    await asyncio.sleep(0.05)
    progress.advance(6)
    assert not await waiting
    assert progress._waiting == {}


async def test_the_end_of_the_wait_is_kept_whatever_is_wanted() -> None:
    """2^64 - 1 never comes."""
    began = time.monotonic()
    assert not await Progress().reach(2**64 - 1, seconds=0.1)
    assert time.monotonic() - began < 1


async def test_a_cancelled_wait_leaves_nothing_behind() -> None:
    """And the sequence may come afterwards."""
    progress = Progress()
    waiting = asyncio.create_task(progress.reach(3, seconds=5))
    await asyncio.sleep(0.05)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    progress.advance(3)
    assert progress._waiting == {}


def test_sequence_nought_is_always_reached() -> None:
    """No generation yet and no wish: the recall itself says that there is none."""
    assert Progress().has_reached(0)
    assert not Progress().has_reached(1)
