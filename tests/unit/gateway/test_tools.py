"""The tools of MCP, over a client that notes its calls."""

from typing import Any

from helix_gateway.callers import Caller
from helix_gateway.mcp.tools import RememberArguments, remember
from helix_memory.client import Written
from helix_memory.recall.v1 import recall_pb2


class Notes:
    """Stands for the client; keeps the ids of events that are written."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.replaced: dict[str, str] = {}

    async def remember(self, *, event_id: str, **_: Any) -> Written:
        """Note it."""
        self.ids.append(event_id)
        return Written(event_id, event_id, len(self.ids), duplicate=event_id in self.ids[:-1])

    async def restore(self, written: Written, **_: Any) -> Written:
        """Nothing was forgotten."""
        return written

    async def history(self, memory: str) -> recall_pb2.GetHistoryResponse:
        """What replaced it."""
        found = recall_pb2.Memory(memory_id=memory, superseded_by=self.replaced.get(memory, ""))
        return recall_pb2.GetHistoryResponse(memories=[found])


async def test_the_same_text_is_kept_once_a_project() -> None:
    """Each project has it, however often it is said there."""
    notes = Notes()
    sent = RememberArguments(text="We deploy on Tuesdays.")
    for project in ("", "atlas", "atlas", "borealis"):
        await remember(Caller(notes, "acme", "ana", project=project), sent)  # type: ignore[arg-type]  # a stub
    assert len(notes.ids) == 4
    assert len(set(notes.ids)) == 3


async def test_a_text_that_comes_back_on_the_same_day_is_kept() -> None:
    """On Tuesdays, on Fridays, after all on Tuesdays: the last one holds; said twice it is kept once."""
    notes = Notes()
    sent = RememberArguments(text="We deploy on Tuesdays.")
    caller = Caller(notes, "acme", "ana")  # type: ignore[arg-type]  # a stub
    kept = []
    for later in ("fridays", "", "mondays", ""):
        kept.append(await remember(caller, sent))
        kept.append(await remember(caller, sent))
        notes.replaced[kept[-1].id] = later
    assert [one.duplicate for one in kept] == [False, True, False, True, True, True, False, True]
    assert len({one.id for one in kept}) == 3
