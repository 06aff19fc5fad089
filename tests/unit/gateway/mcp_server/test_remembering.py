"""What `remember` of the agents' server writes."""

from typing import Any

from helix_gateway.callers import Caller
from helix_gateway.mcp.tools import RememberArguments, remember
from helix_memory.client import Written
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
