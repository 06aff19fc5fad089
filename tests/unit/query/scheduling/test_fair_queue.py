"""Turns: who is worked on next, and who gives way."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from typing import Any

import pytest

from helix_query.scheduling.fair_executor import FairExecutor, countdown
from helix_query.scheduling.fair_queue import Call, FairQueue
from helix_shared.errors import OverdueError, OverloadedError


class Desk:
    """Turns of one worker that is held up, and the names of the calls in the order of their turns."""

    def __init__(self, places: int) -> None:
        self.turns = FairExecutor(workers=1, places=places)
        self.gate, self.held = threading.Event(), threading.Event()
        self.gate_again, self.held_again = threading.Event(), threading.Event()
        self.order: list[str] = []
        self.calls: list[Future[Any]] = []
        self.enter("holder", self._hold)
        assert self.held.wait(5)

    def _hold(self, _: object) -> None:
        self.held.set()
        assert self.gate.wait(5)

    def hold_again(self, _: object) -> None:
        """Hold the worker up a second time."""
        self.held_again.set()
        assert self.gate_again.wait(5)

    def enter(self, tenant: str, work: Callable[[object], None], *, seconds: float = 5.0) -> Future[Any]:
        """One call."""
        self.calls += self.turns.enter(tenant, [work], until=time.monotonic() + seconds)
        return self.calls[-1]

    def name(self, tenant: str, name: str, *, seconds: float = 5.0) -> Future[Any]:
        """A call that notes its name."""
        return self.enter(tenant, lambda _: self.order.append(name), seconds=seconds)

    def names(self, tenant: str, names: str) -> list[Future[Any]]:
        """A batch."""
        works = [lambda _, name=name: self.order.append(name) for name in names]
        entered = self.turns.enter(tenant, works, until=time.monotonic() + 5)
        self.calls += entered
        return entered

    def done(self) -> str:
        """Let it run to the end; the names."""
        self.gate.set()
        assert not wait(self.calls, timeout=5).not_done
        return "".join(self.order)


@pytest.fixture
def desk() -> Iterator[Desk]:
    """With room for the one in work and six that wait."""
    made = Desk(7)
    yield made
    made.gate.set()
    made.gate_again.set()
    made.turns.close()


def test_tenants_take_turns_and_each_is_first_come_first_served(desk: Desk) -> None:
    """One call of b waits for one of a, however many a has brought before."""
    desk.names("a", "1234")
    desk.name("b", "x")
    assert desk.done() == "1x234"


def test_overflow_is_refused_at_once_and_names_the_limit(desk: Desk) -> None:
    """Nobody has more waiting than the one who comes; what is in work goes on."""
    desk.names("a", "123456")
    with pytest.raises(OverloadedError, match=r"all 7 places for calls \(in_flight\) are taken") as caught:
        desk.name("a", "7")
    assert caught.value.delay_seconds > 0
    assert desk.done() == "123456"


def test_the_greediest_tenant_gives_way_to_another(desk: Desk) -> None:
    """Its newest call is refused in favour of the newcomer; a tie goes to who was there."""
    calls = desk.names("a", "123456")
    desk.names("b", "xyz")
    assert [call.done() for call in calls] == [False] * 3 + [True] * 3
    for call in calls[3:]:
        with pytest.raises(OverloadedError):
            call.result(0)
    with pytest.raises(OverloadedError):
        desk.name("b", "w")
    with pytest.raises(OverloadedError):
        desk.name("a", "4")
    assert desk.done() == "1x2y3z"


def test_a_batch_enters_whole_or_not_at_all(desk: Desk) -> None:
    """Seven beside the one in work have no place, and nobody gives way to a part of them."""
    calls = desk.names("a", "12")
    with pytest.raises(OverloadedError):
        desk.names("b", "stuvwxy")
    assert not any(call.done() for call in calls)
    assert desk.done() == "12"


def test_expired_and_cancelled_calls_do_no_work_and_leave_their_places(desk: Desk) -> None:
    """A cancelled one leaves at once, an expired one when its turn comes."""
    given_up = desk.names("a", "123456")
    for call in given_up:
        call.cancel()
    expired = desk.name("a", "late", seconds=0.01)
    desk.names("a", "7890")
    time.sleep(0.02)
    assert desk.done() == "7890"
    with pytest.raises(OverdueError, match="waited for its turn"):
        expired.result(0)


def test_reserved_calls_are_never_refused_and_never_give_way(desk: Desk) -> None:
    """They have as many places of their own as there are others."""
    desk.names("a", "12345")
    with desk.turns.reserved(7):
        with pytest.raises(OverloadedError), desk.turns.reserved(1):
            pass
        desk.calls += desk.turns.enter(
            "a", [lambda _: desk.order.append("R")], until=time.monotonic() + 5, reserved=True
        )
        desk.name("b", "x")
        desk.name("c", "y")
    assert desk.done() == "1xy234R"


def test_a_reserved_call_in_work_takes_no_ordinary_place(desk: Desk) -> None:
    """As many others are accepted as without it."""
    with desk.turns.reserved(2):
        desk.calls += desk.turns.enter("a", [desk.hold_again], until=time.monotonic() + 5, reserved=True)
        desk.names("b", "12")
        desk.gate.set()
        assert desk.held_again.wait(5)
        desk.names("b", "34567")
        with pytest.raises(OverloadedError):
            desk.name("b", "8")
        desk.gate_again.set()
    assert desk.done() == "1234567"


def test_a_reserved_call_is_accepted_when_reserved_ones_run_beside_a_full_queue() -> None:
    """It throws nobody out, however many are at work."""
    queue = FairQueue(workers=4, places=4)

    def entered(tenant: str, count: int, *, reserved: bool = False) -> list[Call]:
        calls = [Call(tenant, "Test", lambda _: None, 0.0, reserved, lambda: None) for _ in range(count)]
        assert queue.add(tenant, calls) == []
        return calls

    waited, others = entered("a", 2, reserved=True), entered("b", 4)
    for _ in range(3):
        call = queue.next()
        assert call is not None
        call.running = True
        queue.update(call)
    assert [call.running for call in (*waited, *others)] == [True, True, True, False, False, False]
    entered("b", 1, reserved=True)
    entered("a", 1, reserved=True)
    with pytest.raises(OverloadedError):
        entered("b", 1)


def test_a_failure_is_its_callers_and_frees_the_place() -> None:
    """A panic of an engine is a BaseException, and the worker lives."""

    def panic(_: object) -> None:
        raise BaseException("panic")  # noqa: TRY002 - as pyo3's is

    turns = FairExecutor(workers=1, places=1)
    for _ in range(3):
        [call] = turns.enter("a", [panic], until=time.monotonic() + 5)
        with pytest.raises(BaseException, match="panic"):
            call.result(5)
    turns.close()


def test_the_end_comes_after_the_last_and_at_once_after_none() -> None:
    """Once, whoever is the last."""
    ended: list[bool] = []
    end = countdown(2, lambda: ended.append(True))
    end()
    assert not ended
    end()
    assert ended == [True]
    countdown(0, lambda: ended.append(False))
    assert ended == [True, False]
