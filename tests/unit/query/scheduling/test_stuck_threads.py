"""Threads that run long past the deadline of their call are written off, replaced and counted."""

from concurrent.futures import CancelledError, Future, wait

import pytest

from helix_query.scheduling.fair_executor import MAX_STUCK
from helix_shared.errors import OverdueError

from .held import PATIENCE_SECONDS, SOON, Held, Lanes, search, wait_until


def test_a_hung_call_is_written_off_and_replaced(held: Held) -> None:
    """Its slot is free then; `on_end` is called when its thread ends."""
    held.restart(slots=1)
    hung = held.submit("a", held.hang, seconds=SOON, name="hung")
    wait_until(lambda: held.executor.stuck == 1)
    with pytest.raises(OverdueError):
        hung.result(0)
    assert held.submit("a", search).result(PATIENCE_SECONDS) == "dense"
    assert held.ended == [""]
    held.gate.set()
    # it is called after the count changes, outside of the lock
    wait_until(lambda: held.ended == ["", "hung"])
    assert held.executor.stuck == 0


def test_a_late_channel_is_written_off_with_its_call(held: Held) -> None:
    """After the deadline of the call; calls of its tenant run again."""
    held.late("a", seconds=SOON)
    waiting = held.submit("a", search)
    wait_until(lambda: held.executor.stuck == 1)
    assert waiting.result(PATIENCE_SECONDS) == "dense"


def test_a_queued_job_of_a_written_off_call_never_starts(held: Held) -> None:
    """The replaced thread is free for others at once, no thread counts twice, and `close` returns."""
    started = list[str]()

    def task(lanes: Lanes) -> None:
        lanes["dense"].submit(held.hang, lanes)
        lanes["dense"].submit(lambda: started.append("second") or held.hang(lanes))
        held.hang(lanes)

    held.submit("a", task, seconds=SOON)
    wait_until(lambda: held.executor.stuck == 2)
    assert held.submit("b", search).result(PATIENCE_SECONDS) == "dense"
    held.gate.set()
    wait_until(lambda: held.executor.stuck == 0)
    held.executor.close()
    wait_until(lambda: held.ended == ["", ""])
    assert (started, held.executor.stuck) == ([], 0)


def test_a_written_off_call_cannot_start_channel_jobs(held: Held) -> None:
    """It was answered, so jobs that it submits are cancelled."""
    jobs = list[Future[str]]()

    def task(lanes: Lanes) -> None:
        held.hang(lanes)
        jobs.append(lanes["dense"].submit(lambda: "dense"))
        wait(jobs, timeout=5)

    held.submit("a", task, seconds=SOON)
    wait_until(lambda: held.executor.stuck == 1)
    held.gate.set()
    wait_until(lambda: held.executor.stuck == 0)
    with pytest.raises(CancelledError):
        jobs[0].result(0)


def test_too_many_stuck_threads_are_reported_once(held: Held) -> None:
    """At `MAX_STUCK` + 1; `close` does not wait for them."""
    reported: list[int] = []
    executor = held.restart(workers=MAX_STUCK + 2, slots=MAX_STUCK + 2)
    executor.on_too_many_stuck(lambda: reported.append(executor.stuck))
    for _ in range(MAX_STUCK):
        held.submit("a", held.hang, seconds=SOON)
    wait_until(lambda: executor.stuck == MAX_STUCK)
    assert not reported
    for _ in range(2):
        held.submit("a", held.hang, seconds=SOON)
    # the report follows the count, outside of the lock
    wait_until(lambda: executor.stuck == MAX_STUCK + 2 and bool(reported))
    executor.close()
    assert len(reported) == 1
    assert not held.gate.is_set()
