"""What `remember` of the agents' server writes."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from helix_gateway.callers import Caller
from helix_gateway.mcp import keeping
from helix_gateway.mcp.tools import RememberArguments, remember
from helix_memory.client import MemoryStates, Written
from helix_memory.recall.v1 import recall_pb2
from tests.unit.gateway.gateways import StubHelix


async def test_the_same_text_is_kept_in_each_project() -> None:
    """It has an id of its own in each, so the second one is not taken for a repetition of the first."""

    async def answer(*_: Any, **__: Any) -> Written:
        return Written(event_id="e", memory_id="0" * 32, sequence=1, duplicate=False)

    helix = StubHelix(answer)
    for project in ("atlas", "atlas", "borealis"):
        caller = Caller(helix, "acme", "ana", project=project)  # type: ignore[arg-type]  # a stub
        await remember(caller, RememberArguments(text="Run make test before a push.", wait=False))
    first, again, other = (options["event_id"] for _, _, options in helix.calls)
    assert first == again != other


class LateHelix(StubHelix):
    """A writer that is away: a wait ends when the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = 0
        self.may_end = asyncio.Event()

    async def remember(self, **_: Any) -> Written:
        """The log takes it."""
        return Written("e", "0" * 32, 1, duplicate=False)

    async def wait(self, _: Written) -> None:
        """Count it."""
        self.waits += 1
        await self.may_end.wait()

    async def states(self, memories: Iterable[Written]) -> MemoryStates:
        """They are there."""
        return MemoryStates({one.memory_id: recall_pb2.MemoryState() for one in memories}, 1)


async def test_few_checks_wait_for_the_writer_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each holds a thread of the client; recalls of everybody would wait for them. Nor do they pile up."""
    monkeypatch.setattr(keeping, "MOST_CHECKS", 20)
    helix = LateHelix()
    caller = Caller(helix, "acme", "ana")  # type: ignore[arg-type]  # a stub
    for number in range(30):
        await remember(caller, RememberArguments(text=f"Door {number} is green.", wait=False))
    for _ in range(10):
        await asyncio.sleep(0)
    assert helix.waits == keeping.CHECKS_AT_ONCE
    helix.may_end.set()
    await asyncio.gather(*keeping._checks)
    assert helix.waits == 20
