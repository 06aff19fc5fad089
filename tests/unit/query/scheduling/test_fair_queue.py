"""The fair queue: which call runs next, and which one is dropped."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from typing import Any

import pytest

from helix_query.scheduling.fair_executor import FairExecutor, countdown
from helix_query.scheduling.fair_queue import Call, FairQueue
from helix_shared.errors import OverdueError, OverloadedError


class Recorder:
    """An executor whose one worker is blocked, and the names of calls in the order they ran."""

    def __init__(self, slots: int) -> None:
        self.executor = FairExecutor(workers=1, slots=slots)
        self.gate, self.held = threading.Event(), threading.Event()
        self.gate_again, self.held_again = threading.Event(), threading.Event()
        self.order: list[str] = []
        self.calls: list[Future[Any]] = []
        self.submit("holder", self._hold)
        assert self.held.wait(60)

    def _hold(self, _: object) -> None:
        self.held.set()
        assert self.gate.wait(60)

    def hold_again(self, _: object) -> None:
        """Block the worker a second time."""
        self.held_again.set()
        assert self.gate_again.wait(60)

    def submit(self, tenant: str, task: Callable[[object], None], *, seconds: float = 60.0) -> Future[Any]:
        """Submit one call."""
        self.calls += self.executor.submit(tenant, [task], until=time.monotonic() + seconds)
        return self.calls[-1]

    def name(self, tenant: str, name: str, *, seconds: float = 60.0) -> Future[Any]:
        """Submit a call that records its name."""
        return self.submit(tenant, lambda _: self.order.append(name), seconds=seconds)

    def names(self, tenant: str, names: str) -> list[Future[Any]]:
        """Submit a batch of such calls, one a letter."""
        tasks = [lambda _, name=name: self.order.append(name) for name in names]
        calls = self.executor.submit(tenant, tasks, until=time.monotonic() + 60)
        self.calls += calls
        return calls

    def done(self) -> str:
        """Run all calls; return the recorded names."""
        self.gate.set()
        assert not wait(self.calls, timeout=60).not_done
        return "".join(self.order)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """Places for the running call and six that wait."""
    made = Recorder(7)
    yield made
    made.gate.set()
    made.gate_again.set()
    made.executor.close()


def test_tenants_rotate_and_each_is_first_come_first_served(recorder: Recorder) -> None:
    """One call of b waits for one call of a, however many a has queued."""
    recorder.names("a", "1234")
    recorder.name("b", "x")
    assert recorder.done() == "1x234"


def test_overflow_is_refused_at_once_and_names_the_limit(recorder: Recorder) -> None:
    """No tenant has more calls than the caller, so none is dropped."""
    recorder.names("a", "123456")
    with pytest.raises(OverloadedError, match=r"all 7 slots for calls \(in_flight\) are taken") as caught:
        recorder.name("a", "7")
    assert caught.value.delay_seconds > 0
    assert recorder.done() == "123456"


def test_the_tenant_with_the_most_calls_loses_its_newest(recorder: Recorder) -> None:
    """Its newest call is dropped for a call of another tenant; at a tie the new call is refused."""
    calls = recorder.names("a", "123456")
    recorder.names("b", "xyz")
    assert [call.done() for call in calls] == [False] * 3 + [True] * 3
    for call in calls[3:]:
        with pytest.raises(OverloadedError):
            call.result(0)
    with pytest.raises(OverloadedError):
        recorder.name("b", "w")
    with pytest.raises(OverloadedError):
        recorder.name("a", "4")
    assert recorder.done() == "1x2y3z"


def test_a_batch_is_queued_whole_or_not_at_all(recorder: Recorder) -> None:
    """Seven have no slot beside the running call, and no call is dropped for a part of them."""
    calls = recorder.names("a", "12")
    with pytest.raises(OverloadedError):
        recorder.names("b", "stuvwxy")
    assert not any(call.done() for call in calls)
    assert recorder.done() == "12"


def test_expired_and_cancelled_calls_do_not_run_and_free_their_slots(recorder: Recorder) -> None:
    """A cancelled call leaves at once, an expired one when it would run."""
    cancelled = recorder.names("a", "123456")
    for call in cancelled:
        call.cancel()
    expired = recorder.name("a", "late", seconds=0.01)
    recorder.names("a", "7890")
    time.sleep(0.02)
    assert recorder.done() == "7890"
    with pytest.raises(OverdueError, match="still queued"):
        expired.result(0)


def test_reserved_calls_are_never_refused_or_dropped(recorder: Recorder) -> None:
    """There are as many reserved slots as ordinary ones."""
    recorder.names("a", "12345")
    with recorder.executor.reserved(7):
        with pytest.raises(OverloadedError), recorder.executor.reserved(1):
            pass
        recorder.calls += recorder.executor.submit(
            "a", [lambda _: recorder.order.append("R")], until=time.monotonic() + 60, reserved=True
        )
        recorder.name("b", "x")
        recorder.name("c", "y")
    assert recorder.done() == "1xy234R"


def test_a_running_reserved_call_takes_no_ordinary_place(recorder: Recorder) -> None:
    """As many other calls are accepted as without it."""
    with recorder.executor.reserved(2):
        recorder.calls += recorder.executor.submit(
            "a", [recorder.hold_again], until=time.monotonic() + 60, reserved=True
        )
        recorder.names("b", "12")
        recorder.gate.set()
        assert recorder.held_again.wait(60)
        recorder.names("b", "34567")
        with pytest.raises(OverloadedError):
            recorder.name("b", "8")
        recorder.gate_again.set()
    assert recorder.done() == "1234567"


def test_a_reserved_call_is_accepted_when_reserved_ones_run_beside_a_full_queue() -> None:
    """It drops no other call, however many reserved calls run."""
    queue = FairQueue(workers=4, slots=4)

    def added(tenant: str, count: int, *, reserved: bool = False) -> list[Call]:
        calls = [Call(tenant, "Test", lambda _: None, 0.0, reserved, lambda: None) for _ in range(count)]
        assert queue.add(tenant, calls) == []
        return calls

    waited, others = added("a", 2, reserved=True), added("b", 4)
    for _ in range(3):
        call = queue.pop()
        assert call is not None
        call.running = True
        queue.update(call)
    assert [call.running for call in (*waited, *others)] == [True, True, True, False, False, False]
    added("b", 1, reserved=True)
    added("a", 1, reserved=True)
    with pytest.raises(OverloadedError):
        added("b", 1)


def test_an_error_goes_to_its_caller_and_frees_the_place() -> None:
    """A panic of a Rust engine is a BaseException; the worker thread survives it."""

    def panic(_: object) -> None:
        raise BaseException("panic")  # noqa: TRY002 - as pyo3's is

    executor = FairExecutor(workers=1, slots=1)
    for _ in range(3):
        [call] = executor.submit("a", [panic], until=time.monotonic() + 60)
        with pytest.raises(BaseException, match="panic"):
            call.result(5)
    executor.close()


def test_a_countdown_ends_at_its_last_call_or_at_once_for_none() -> None:
    """`end` is called once, by the last."""
    ended: list[bool] = []
    end = countdown(2, lambda: ended.append(True))
    end()
    assert not ended
    end()
    assert ended == [True]
    countdown(0, lambda: ended.append(False))
    assert ended == [True, False]
