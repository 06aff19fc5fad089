"""Deadlines and lanes: what counts, and what is abandoned."""

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from helix_shared.broker import deadline
from helix_shared.broker.worker.lanes import Lanes
from helix_shared.broker.worker.worker import Worker
from helix_shared.errors import OverdueError
from helix_shared.machine.panics import EnginePanicError


async def until(holds: Callable[[], bool]) -> None:
    """Wait for a condition that another thread fulfils."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110  another thread makes it true
            await asyncio.sleep(0.01)


async def test_work_past_its_deadline_has_failed() -> None:
    """Also work that only waits."""
    with pytest.raises(OverdueError, match=r"deadline of 0\.05 s"):
        await deadline.within(0.05, asyncio.sleep(60))


async def test_a_time_out_of_the_work_itself_stays_what_it_is() -> None:
    """Waiting for a server does not count."""

    async def unanswered() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await deadline.within(60, unanswered())


async def test_waiting_for_others_does_not_count() -> None:
    """The deadline is suspended inside `suspended` and starts again after it."""

    async def patient() -> None:
        with deadline.suspended():
            await asyncio.sleep(1.5)
        await asyncio.sleep(0)

    await deadline.within(1.0, patient())


async def test_waiting_for_a_lane_does_not_count() -> None:
    """Ten jobs of .3 s in one lane end, each within 2 s."""
    lanes = Lanes(1)
    handlers = [deadline.within(2.0, lanes.run(time.sleep, 0.3)) for _ in range(10)]
    await asyncio.gather(*handlers)
    assert lanes.stuck == 0


async def test_an_abandoned_thread_is_replaced_and_counted_until_its_work_ends() -> None:
    """The next job does not wait for it, and its late result is dropped."""
    lanes, release = Lanes(1), threading.Event()

    async def wait_for_ever() -> None:
        await lanes.run(release.wait)

    with pytest.raises(OverdueError):
        await deadline.within(0.05, wait_for_ever())
    assert lanes.stuck == 1
    assert await lanes.run(lambda: 7) == 7
    release.set()
    await until(lambda: lanes.stuck == 0)


async def test_a_lane_hands_on_what_its_work_raises() -> None:
    """And takes the next job."""
    lanes = Lanes(1)

    def refuse() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await lanes.run(refuse)
    assert await lanes.run(lambda: 7) == 7


class PanicError(BaseException):
    """As a Rust engine raises it: no `Exception`."""


@pytest.mark.parametrize("error", [PanicError("no"), StopIteration("no")])
async def test_a_panic_of_an_engine_is_handed_on_as_an_ordinary_failure(error: BaseException) -> None:
    """The message is then settled; a panic, which is no `Exception`, would end the reading of the worker."""
    lanes = Lanes(1)

    def work() -> None:
        raise error

    async with asyncio.timeout(30):
        with pytest.raises(EnginePanicError, match=f"{type(error).__name__}: no"):
            await lanes.run(work)
        assert await lanes.run(lambda: 7) == 7


async def test_a_panic_outside_of_the_lanes_ends_the_process() -> None:
    """A worker that no longer reads would look ready."""
    worker = Worker(logger=None)

    async def read() -> None:
        raise BaseExceptionGroup("tasks", [PanicError("index out of bounds")])

    await worker.run_part("reader", read())
    assert worker.failure == "reader failed: PanicError: index out of bounds"


async def test_no_more_than_the_count_work_at_once() -> None:
    """Two lanes, six jobs."""
    lanes, lock, now, most = Lanes(2), threading.Lock(), 0, 0

    def work() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1

    await asyncio.gather(*(lanes.run(work) for _ in range(6)))
    assert most == 2


async def test_a_thread_that_cannot_be_started_takes_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system has none left for a moment: the next job would wait for ever, without a deadline."""
    lanes = Lanes(1)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refuse)
        for _ in range(2):
            async with asyncio.timeout(5):
                with pytest.raises(RuntimeError, match="new thread"):
                    await lanes.run(int)
    async with asyncio.timeout(5):
        assert await lanes.run(int, "7") == 7
