"""Turns: every thread of a call is accounted for until it ends or is written off."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future, wait
from typing import Any

import pytest
from prometheus_client import REGISTRY

from helix_query.scheduling.fair_executor import MORE, MOST_STUCK, FairExecutor
from helix_query.scheduling.worker_threads import WorkerThreads
from helix_shared.errors import OverdueError, OverloadedError

STUCK_SECONDS = 0.1
Channels = Mapping[str, Executor]


class Held:
    """Turns, and work that goes on until the gate is opened."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.ended: list[str] = []
        self.turns: FairExecutor = self.of()

    def of(self, *, workers: int = 1, places: int = 3) -> FairExecutor:
        """Other turns in place of these."""
        self.turns = FairExecutor(
            workers=workers, places=places, channels=["dense"], stuck_seconds=STUCK_SECONDS
        )
        return self.turns

    def enter(
        self,
        tenant: str,
        work: Callable[[Channels], Any],
        *,
        seconds: float = 5,
        name: str = "",
        reserved: bool = False,
    ) -> Future[Any]:
        """One call."""
        until, note = time.monotonic() + seconds, lambda: self.ended.append(name)
        [call] = self.turns.enter(tenant, [work], until=until, rpc="Test", reserved=reserved, ended=note)
        return call

    def late(self, tenant: str, *, seconds: float = 5, name: str = "", reserved: bool = False) -> None:
        """A call that is answered although its channel still runs; it has been answered."""

        def work(channels: Channels) -> str:
            begun = threading.Event()
            channels["dense"].submit(lambda: (begun.set(), self.gate.wait(10)))
            assert begun.wait(5)
            return "without dense"

        call = self.enter(tenant, work, seconds=seconds, name=name, reserved=reserved)
        assert call.result(5) == "without dense"

    def between_turns(self, tenant: str) -> Future[Any]:
        """A call that wants another turn while its channel still runs; its first turn is over."""
        begun, left = threading.Event(), iter((MORE, "answer"))

        def work(channels: Channels) -> Any:
            result = next(left)
            if result is MORE:
                channels["dense"].submit(lambda: (begun.set(), self.gate.wait(10)))
                assert begun.wait(5)
            return result

        call = self.enter(tenant, work)
        assert begun.wait(5)
        until(lambda: calls("running") == 0)
        return call

    def hang(self, _channels: Channels) -> str:
        """Work that hangs itself."""
        self.gate.wait(10)
        return "too late"


@pytest.fixture
def held() -> Iterator[Held]:
    """Closed at the end, with the gate open."""
    made = Held()
    yield made
    made.gate.set()
    made.turns.close()


def search(channels: Channels) -> str:
    """A call that needs its channel."""
    return channels["dense"].submit(lambda: "dense").result(2)


def calls(state: str) -> float:
    """Calls in a state, by the gauge."""
    return REGISTRY.get_sample_value("helix_recall_calls", {"rpc": "Test", "state": state}) or 0.0


def until(condition: Callable[[], bool]) -> None:
    """Wait for it."""
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_a_late_channel_holds_back_its_own_tenant_alone(held: Held) -> None:
    """Others get a whole channel; the tenant gets its next turn when the thread has ended."""
    held.late("a", name="first")
    waiting = held.enter("a", search)
    assert held.enter("b", search).result(2) == "dense"
    assert not waiting.done()
    assert held.ended == [""]
    held.gate.set()
    assert waiting.result(2) == "dense"
    until(lambda: "first" in held.ended)


def test_a_late_channel_counts_in_the_share_of_its_tenant(held: Held) -> None:
    """One late and one waiting give way to one that waits, as two waiting would."""
    held.late("a")
    waiting = [held.enter("a", search) for _ in range(2)]
    with pytest.raises(OverloadedError):
        held.enter("a", search)
    assert held.enter("b", search).result(2) == "dense"
    with pytest.raises(OverloadedError):
        waiting[1].result(0)
    held.gate.set()
    assert waiting[0].result(2) == "dense"


def test_a_late_channel_keeps_the_only_place(held: Held) -> None:
    """Until it ends, although its call was answered."""
    held.of(places=1)
    held.late("a")
    with pytest.raises(OverloadedError):
        held.enter("b", search)
    held.gate.set()
    until(lambda: held.ended == [""])
    assert held.enter("b", search).result(2) == "dense"


def test_a_reserved_call_keeps_its_own_place_for_a_late_channel(held: Held) -> None:
    """It takes no ordinary place, and nobody can reserve its place before the thread has ended."""
    held.of(places=1)
    with held.turns.reserved(1):
        held.late("a", reserved=True)
    assert held.enter("b", search).result(2) == "dense"
    with pytest.raises(OverloadedError), held.turns.reserved(1):
        pass
    held.gate.set()
    until(lambda: calls("late") == 0)
    with held.turns.reserved(1):
        pass


def test_a_call_between_two_turns_counts_once(held: Held) -> None:
    """It waits, whether or not a channel of its last turn still runs: two that wait are no more than two."""
    held.of(places=4)
    held.between_turns("a")
    assert (calls("waiting"), calls("late")) == (1, 0)
    hanging = held.enter("b", held.hang)
    until(lambda: calls("running") == 1)
    waiting = held.enter("a", search)
    other = held.enter("c", search)
    with pytest.raises(OverloadedError):
        held.enter("c", search)
    held.gate.set()
    assert [call.result(2) for call in (hanging, waiting, other)] == ["too late", "dense", "dense"]


def test_a_call_between_two_turns_with_a_late_channel_does_not_give_way(held: Held) -> None:
    """Its place would stay taken, so there would be more calls than places."""
    held.of(workers=2, places=2)
    held.late("a")
    waiting = held.between_turns("a")
    with pytest.raises(OverloadedError):
        held.enter("b", search)
    held.gate.set()
    assert waiting.result(2) == "answer"


def test_what_waits_for_a_late_channel_ends_at_its_deadline(held: Held) -> None:
    """Without a turn, and without a place from then on."""
    held.late("a")
    with pytest.raises(OverdueError, match="waited for its turn"):
        held.enter("a", search, seconds=0.05, name="waited").result(2)
    until(lambda: held.ended == ["waited"])


def test_a_hung_call_is_written_off_and_replaced(held: Held) -> None:
    """Its place is free then; what it holds is let go of when its thread ends."""
    held.of(places=1)
    hung = held.enter("a", held.hang, seconds=0.05, name="hung")
    until(lambda: held.turns.stuck == 1)
    with pytest.raises(OverdueError):
        hung.result(0)
    assert held.enter("a", search).result(2) == "dense"
    assert held.ended == [""]
    held.gate.set()
    until(lambda: held.turns.stuck == 0)
    assert held.ended == ["", "hung"]


def test_a_late_channel_is_written_off_with_its_call(held: Held) -> None:
    """After the deadline of the call; its tenant has turns again."""
    held.late("a", seconds=0.2)
    waiting = held.enter("a", search)
    until(lambda: held.turns.stuck == 1)
    assert waiting.result(2) == "dense"


def test_a_job_that_waits_for_a_lane_when_its_call_is_written_off_never_begins(held: Held) -> None:
    """The replaced lane is free for others at once, no thread is counted twice, and `close` returns."""
    begun = list[str]()

    def work(channels: Channels) -> None:
        channels["dense"].submit(held.hang, channels)
        channels["dense"].submit(lambda: begun.append("second") or held.hang(channels))
        held.hang(channels)

    held.enter("a", work, seconds=0.05)
    until(lambda: held.turns.stuck == 2)
    assert held.enter("b", search).result(2) == "dense"
    held.gate.set()
    until(lambda: held.turns.stuck == 0)
    held.turns.close()
    assert (begun, held.turns.stuck, held.ended) == ([], 0, ["", ""])


def test_a_written_off_call_that_goes_on_begins_nothing_on_its_channels(held: Held) -> None:
    """It was answered: what it submits from then on is cancelled."""
    jobs = list[Future[str]]()

    def work(channels: Channels) -> None:
        held.hang(channels)
        jobs.append(channels["dense"].submit(lambda: "dense"))
        wait(jobs, timeout=5)

    held.enter("a", work, seconds=0.05)
    until(lambda: held.turns.stuck == 1)
    held.gate.set()
    until(lambda: held.turns.stuck == 0)
    with pytest.raises(CancelledError):
        jobs[0].result(0)


def test_too_many_stuck_are_told_once(held: Held) -> None:
    """One more than the most; `close` does not wait for them."""
    told: list[int] = []
    turns = held.of(workers=MOST_STUCK + 2, places=MOST_STUCK + 2)
    turns.on_too_many_stuck(lambda: told.append(turns.stuck))
    for _ in range(MOST_STUCK):
        held.enter("a", held.hang, seconds=0.01)
    until(lambda: turns.stuck == MOST_STUCK)
    assert not told
    for _ in range(2):
        held.enter("a", held.hang, seconds=0.01)
    until(lambda: turns.stuck == MOST_STUCK + 2)
    assert len(told) == 1
    turns.close()
    assert not held.gate.is_set()


def test_work_that_wants_more_turns_lets_others_in_between(held: Held) -> None:
    """It keeps its one place, so it is not refused half way."""
    held.of(places=2)
    order: list[str] = []
    go = threading.Event()

    def steps(channels: Channels) -> Any:
        go.wait(5)
        order.append("a")
        return MORE if len(order) < 5 else search(channels)

    call = held.enter("a", steps, name="steps")
    other = held.enter("b", lambda _: order.append("b"))
    with pytest.raises(OverloadedError):
        held.enter("a", search)
    go.set()
    assert call.result(2) == "dense"
    assert other.done()
    assert order == list("abaaa")
    assert sorted(held.ended) == ["", "steps"]


def test_work_that_wants_more_turns_ends_at_its_deadline(held: Held) -> None:
    """Between two of its turns."""
    call = held.enter("a", lambda _: time.sleep(0.01) or MORE, seconds=0.05)
    with pytest.raises(OverdueError):
        call.result(2)
    until(lambda: held.ended == [""])


def test_workers_replace_a_thread_once() -> None:
    """The old one ends with its job; asked again for the same thread, nothing is started."""
    workers, gate = WorkerThreads(1, name="replaced"), threading.Event()
    held: list[threading.Thread] = []
    job = workers.submit(lambda: held.append(threading.current_thread()) or gate.wait(5))
    until(lambda: bool(held))
    for _ in range(2):
        workers.replace(held[0])
    assert workers.submit(threading.current_thread).result(2) is not held[0]
    assert sum(thread.name == "replaced" for thread in threading.enumerate()) == 2
    gate.set()
    assert job.result(2)
    held[0].join(2)
    assert not held[0].is_alive()
    workers.shutdown()
    assert not [thread for thread in threading.enumerate() if thread.name == "replaced"]


def test_the_wait_for_workers_ends_at_its_limit() -> None:
    """A thread that no call accounts for does not hold up the end of the process."""
    workers, gate = WorkerThreads(2, name="left"), threading.Event()
    job = workers.submit(gate.wait, 5)
    workers.shutdown(wait=False)
    began = time.monotonic()
    assert not workers.join(began + 0.05)
    assert time.monotonic() - began < 1
    gate.set()
    assert workers.join(began + 5)
    assert job.result(0)
