"""Tasks that swallow a cancellation are cancelled until they end."""

from __future__ import annotations

import asyncio
import sys

import pytest

from helix_shared.broker.cancelling import cancel_all

AGAIN_SECONDS = 0.01


async def _swallows(times: int) -> None:
    """As a loop of requests whose answers come together with the cancellation."""
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if times == 0:
                raise
            times -= 1


async def test_a_task_that_swallows_cancellations_ends() -> None:
    """Also beside one that ends at once, and one that had ended before."""
    tasks = [asyncio.create_task(_swallows(times)) for times in (0, 1, 3)]
    ended = asyncio.create_task(asyncio.sleep(0))
    await ended
    await asyncio.wait_for(cancel_all([*tasks, ended], again_seconds=AGAIN_SECONDS), 30)
    assert [task.cancelled() for task in (*tasks, ended)] == [True, True, True, False]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="wait_for of Python 3.12 swallows no cancellation")
async def test_the_answer_of_a_wait_swallows_its_cancellation() -> None:
    """What Python 3.11 does, and why one cancellation is not enough."""
    loop = asyncio.get_running_loop()
    turns: list[asyncio.Future[None]] = []

    async def repeated() -> None:
        while True:
            turns.append(loop.create_future())
            await asyncio.wait_for(turns[-1], 60)

    task = asyncio.create_task(repeated())
    await asyncio.sleep(0)
    turns[-1].set_result(None)
    await asyncio.wait_for(cancel_all([task], again_seconds=AGAIN_SECONDS), 30)
    assert task.cancelled()
    assert len(turns) > 1


async def test_a_failure_while_it_ends_is_dropped() -> None:
    """Nothing is raised, and asyncio has nothing to complain about."""

    async def fails() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise ValueError("closing failed")

    task = asyncio.create_task(fails())
    await asyncio.sleep(0)
    await cancel_all([task])
    assert task.done()
