"""A fair executor with work that hangs until a test lets it go."""

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any

from prometheus_client import REGISTRY

from helix_query.scheduling.fair_executor import AGAIN, FairExecutor

STUCK_SECONDS = 0.1
_NUMBERS = itertools.count()
"""Each test has an RPC of its own, because threads of the test before may still end."""
Channels = Mapping[str, Executor]


class Held:
    """An executor, and work that runs until the gate is opened."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.rpc = f"Test{next(_NUMBERS)}"
        self.ended: list[str] = []
        self.executor: FairExecutor = self.restart()

    def restart(self, *, workers: int = 1, places: int = 3) -> FairExecutor:
        """Replace the executor."""
        self.executor = FairExecutor(
            workers=workers, places=places, channels=["dense"], stuck_seconds=STUCK_SECONDS
        )
        return self.executor

    def submit(
        self,
        tenant: str,
        work: Callable[[Channels], Any],
        *,
        seconds: float = 5,
        name: str = "",
        reserved: bool = False,
    ) -> Future[Any]:
        """Submit one call; `ended` gets its name."""
        deadline, note = time.monotonic() + seconds, lambda: self.ended.append(name)
        [call] = self.executor.submit(
            tenant, [work], until=deadline, rpc=self.rpc, reserved=reserved, on_end=note
        )
        return call

    def late(self, tenant: str, *, seconds: float = 5, name: str = "", reserved: bool = False) -> None:
        """Run a call that is answered while its channel thread still runs."""

        def work(channels: Channels) -> str:
            started = threading.Event()
            channels["dense"].submit(lambda: (started.set(), self.gate.wait(10)))
            assert started.wait(5)
            return "without dense"

        call = self.submit(tenant, work, seconds=seconds, name=name, reserved=reserved)
        assert call.result(5) == "without dense"

    def requeued(self, tenant: str) -> Future[Any]:
        """A call that is queued again while a channel thread of its first run still runs."""
        started, left = threading.Event(), iter((AGAIN, "answer"))

        def work(channels: Channels) -> Any:
            result = next(left)
            if result is AGAIN:
                channels["dense"].submit(lambda: (started.set(), self.gate.wait(10)))
                assert started.wait(5)
            return result

        call = self.submit(tenant, work)
        assert started.wait(5)
        wait_until(lambda: self.calls("running") == 0)
        return call

    def calls(self, state: str) -> float:
        """The gauge of this test's calls in a state."""
        return REGISTRY.get_sample_value("helix_recall_calls", {"rpc": self.rpc, "state": state}) or 0.0

    def hang(self, _channels: Channels) -> str:
        """Work that hangs until the gate opens."""
        self.gate.wait(10)
        return "too late"


def search(channels: Channels) -> str:
    """Work that needs its channel."""
    return channels["dense"].submit(lambda: "dense").result(2)


def wait_until(condition: Callable[[], bool]) -> None:
    """Fail after 5 seconds without the condition."""
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)
