"""The fair executor: late channel threads, reserved slots, calls that are queued again."""

import threading
import time
from typing import Any

import pytest

from helix_query.scheduling.fair_executor import RUN_AGAIN
from helix_shared.errors import OverdueError, OverloadedError

from .held import PATIENCE_SECONDS, Held, Lanes, search, wait_until


def test_a_late_channel_delays_only_its_own_tenant(held: Held) -> None:
    """Other tenants run; the tenant runs again when the late thread has ended."""
    held.late("a", name="first")
    waiting = held.submit("a", search)
    assert held.submit("b", search).result(PATIENCE_SECONDS) == "dense"
    assert not waiting.done()
    assert held.ended == [""]
    held.gate.set()
    assert waiting.result(PATIENCE_SECONDS) == "dense"
    wait_until(lambda: "first" in held.ended)


def test_a_late_channel_counts_in_the_share_of_its_tenant(held: Held) -> None:
    """A tenant with one late and two waiting calls loses one to a tenant with none."""
    held.late("a")
    waiting = [held.submit("a", search) for _ in range(2)]
    with pytest.raises(OverloadedError):
        held.submit("a", search)
    assert held.submit("b", search).result(PATIENCE_SECONDS) == "dense"
    with pytest.raises(OverloadedError):
        waiting[1].result(0)
    held.gate.set()
    assert waiting[0].result(PATIENCE_SECONDS) == "dense"


def test_a_late_channel_keeps_the_only_slot(held: Held) -> None:
    """The call was answered, but its slot is free only when the thread ends."""
    held.restart(slots=1)
    held.late("a")
    with pytest.raises(OverloadedError):
        held.submit("b", search)
    held.gate.set()
    wait_until(lambda: held.ended == [""])
    assert held.submit("b", search).result(PATIENCE_SECONDS) == "dense"


def test_a_reserved_call_keeps_its_own_slot_for_a_late_channel(held: Held) -> None:
    """It takes no ordinary slot, and its slot cannot be reserved again before the thread ends."""
    held.restart(slots=1)
    with held.executor.reserved(1):
        held.late("a", reserved=True)
    assert held.submit("b", search).result(PATIENCE_SECONDS) == "dense"
    with pytest.raises(OverloadedError), held.executor.reserved(1):
        pass
    held.gate.set()
    wait_until(lambda: held.calls("late") == 0)
    with held.executor.reserved(1):
        pass


def test_a_requeued_call_counts_once(held: Held) -> None:
    """It counts as waiting, also while a channel thread of its last run still runs."""
    held.restart(slots=4)
    held.requeued("a")
    assert (held.calls("waiting"), held.calls("late")) == (1, 0)
    hanging = held.submit("b", held.hang)
    wait_until(lambda: held.calls("running") == 1)
    waiting = held.submit("a", search)
    other = held.submit("c", search)
    with pytest.raises(OverloadedError):
        held.submit("c", search)
    held.gate.set()
    assert [call.result(PATIENCE_SECONDS) for call in (hanging, waiting, other)] == [
        "too late",
        "dense",
        "dense",
    ]


def test_a_requeued_call_with_a_late_channel_is_not_dropped(held: Held) -> None:
    """Its thread would keep the slot, so there would be more calls than slots."""
    held.restart(workers=2, slots=2)
    held.late("a")
    waiting = held.requeued("a")
    with pytest.raises(OverloadedError):
        held.submit("b", search)
    held.gate.set()
    assert waiting.result(PATIENCE_SECONDS) == "answer"


def test_a_call_that_waits_for_a_late_channel_ends_at_its_deadline(held: Held) -> None:
    """It never runs, and its slot is free then."""
    held.late("a")
    with pytest.raises(OverdueError, match="still queued"):
        held.submit("a", search, seconds=0.05, name="waited").result(PATIENCE_SECONDS)
    wait_until(lambda: held.ended == ["waited"])


def test_other_calls_run_between_the_runs_of_a_requeued_call(held: Held) -> None:
    """It keeps its slot, so it is not refused between its runs."""
    held.restart(slots=2)
    order: list[str] = []
    go = threading.Event()

    def steps(lanes: Lanes) -> Any:
        go.wait(5)
        order.append("a")
        return RUN_AGAIN if len(order) < 5 else search(lanes)

    call = held.submit("a", steps, name="steps")
    other = held.submit("b", lambda _: order.append("b"))
    with pytest.raises(OverloadedError):
        held.submit("a", search)
    go.set()
    assert call.result(PATIENCE_SECONDS) == "dense"
    assert other.done()
    assert order == list("abaaa")
    assert sorted(held.ended) == ["", "steps"]


def test_a_requeued_call_ends_at_its_deadline(held: Held) -> None:
    """In the queue, between two runs."""
    call = held.submit("a", lambda _: time.sleep(0.01) or RUN_AGAIN, seconds=0.05)
    with pytest.raises(OverdueError):
        call.result(PATIENCE_SECONDS)
    wait_until(lambda: held.ended == [""])
