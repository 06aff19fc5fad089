"""The tools of MCP, over a client that notes its calls."""

import asyncio
from typing import Any

import pytest

from helix_gateway.callers import Caller
from helix_gateway.mcp.tools import RecallArguments, RememberArguments, remember
from helix_gateway.operations.requests import parsed
from helix_memory.client import Written
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError


class Notes:
    """Stands for the client; keeps the ids of events that are written."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.replaced: dict[str, str] = {}
        self.erased: set[str] = set()

    async def remember(self, *, event_id: str, **_: Any) -> Written:
        """Note it."""
        self.ids.append(event_id)
        return Written(event_id, event_id, len(self.ids), duplicate=event_id in self.ids[:-1])

    async def restore(self, written: Written, **_: Any) -> Written:
        """Nothing was forgotten."""
        return written

    async def wait(self, _: Written) -> None:
        """Everything is processed."""

    async def state(self, written: Written) -> recall_pb2.MemoryState | None:
        """What replaced it; None where it was erased."""
        if written.memory_id in self.erased:
            return None
        later = self.replaced.get(written.memory_id, "")
        loss = recall_pb2.LOSS_REPLACED if later else recall_pb2.LOSS_NONE
        return recall_pb2.MemoryState(loss=loss, replaced_by=later)


async def others_end() -> None:
    """Wait for what goes on after a call."""
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))


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


async def test_a_text_that_was_erased_is_kept_under_another_id() -> None:
    """It was published a moment ago, so the stream drops its event again."""
    notes, sent = Notes(), RememberArguments(text="We deploy on Tuesdays.")
    caller = Caller(notes, "acme", "ana")  # type: ignore[arg-type]  # a stub
    first = await remember(caller, sent)
    notes.erased.add(first.id)
    second = await remember(caller, sent)
    assert (second.duplicate, second.id != first.id) == (False, True)
    assert (await remember(caller, sent)).id == second.id


async def test_what_was_erased_long_ago_is_kept_after_the_call_returned() -> None:
    """The stream takes the event, whose memory stays erased; a call that waits returns the other id."""
    for wait in (False, True):
        notes, sent = Notes(), RememberArguments(text="We deploy on Tuesdays.", wait=wait)
        caller = Caller(notes, "acme", "ana")  # type: ignore[arg-type]  # a stub
        first = await remember(caller, sent)
        await others_end()
        notes.erased.add(first.id)
        notes.ids.clear()
        again = await remember(caller, sent)
        await others_end()
        assert len(notes.ids) == 2
        assert (again.id == first.id) == (not wait)
        assert notes.ids[1] != first.id


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"question": "x"}, "question: is not a field here; did you mean query?"),
        ({"query": "x", "topk": 3}, "topk: is not a field here; did you mean top_k?"),
        ({"query": "x", "limit": 5}, "limit: is not a field here; there are query, top_k, max_tokens,"),
    ],
)
def test_an_unknown_argument_is_refused_with_the_one_that_may_be_meant(
    sent: dict[str, Any], said: str
) -> None:
    """Where none is similar, an agent reads all of them: what another tool calls limit is top_k here."""
    with pytest.raises(InvalidInputError) as refused:
        parsed(RecallArguments, sent)
    assert str(refused.value).startswith(said)
