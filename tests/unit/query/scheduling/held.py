"""A fair executor with work that hangs until a test lets it go."""

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any

from prometheus_client import REGISTRY

from helix_query.scheduling.fair_executor import RUN_AGAIN, FairExecutor

STUCK_SECONDS = 0.1
SOON = 1.0
"""Seconds after which a call is overdue: a busy machine starts it before."""
PATIENCE_SECONDS = 60
_NUMBERS = itertools.count()
"""Each test has an RPC of its own, because threads of the test before may still end."""
Lanes = Mapping[str, Executor]


class Held:
    """An executor, and work that runs until the gate is opened."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.rpc = f"Test{next(_NUMBERS)}"
        self.ended: list[str] = []
        self.executor: FairExecutor = self.restart()

    def restart(self, *, workers: int = 1, slots: int = 3) -> FairExecutor:
        """Replace the executor."""
        self.executor = FairExecutor(
            workers=workers, slots=slots, lanes=["dense"], stuck_seconds=STUCK_SECONDS
        )
        return self.executor

    def submit(
        self,
        tenant: str,
        task: Callable[[Lanes], Any],
        *,
        seconds: float = 30,
        name: str = "",
        reserved: bool = False,
    ) -> Future[Any]:
        """Submit one call; `ended` gets its name."""
        deadline, note = time.monotonic() + seconds, lambda: self.ended.append(name)
        [call] = self.executor.submit(
            tenant, [task], until=deadline, rpc=self.rpc, reserved=reserved, on_end=note
        )
        return call

    def late(self, tenant: str, *, seconds: float = 30, name: str = "", reserved: bool = False) -> None:
        """Run a call that is answered while its channel thread still runs."""

        def task(lanes: Lanes) -> str:
            started = threading.Event()
            lanes["dense"].submit(lambda: (started.set(), self.gate.wait(PATIENCE_SECONDS)))
            assert started.wait(PATIENCE_SECONDS)
            return "without dense"

        call = self.submit(tenant, task, seconds=seconds, name=name, reserved=reserved)
        assert call.result(PATIENCE_SECONDS) == "without dense"

    def requeued(self, tenant: str) -> Future[Any]:
        """A call that is queued again while a channel thread of its first run still runs."""
        started, left = threading.Event(), iter((RUN_AGAIN, "answer"))

        def task(lanes: Lanes) -> Any:
            result = next(left)
            if result is RUN_AGAIN:
                lanes["dense"].submit(lambda: (started.set(), self.gate.wait(PATIENCE_SECONDS)))
                assert started.wait(PATIENCE_SECONDS)
            return result

        call = self.submit(tenant, task)
        assert started.wait(PATIENCE_SECONDS)
        wait_until(lambda: self.calls("running") == 0)
        return call

    def calls(self, state: str) -> float:
        """The gauge of this test's calls in a state."""
        return REGISTRY.get_sample_value("helix_recall_calls", {"rpc": self.rpc, "state": state}) or 0.0

    def hang(self, _lanes: Lanes) -> str:
        """Work that hangs until the gate opens."""
        self.gate.wait(PATIENCE_SECONDS)
        return "too late"


def search(lanes: Lanes) -> str:
    """Work that needs its channel."""
    return lanes["dense"].submit(lambda: "dense").result(PATIENCE_SECONDS)


def wait_until(condition: Callable[[], bool]) -> None:
    """Fail if the condition does not hold in time."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)
