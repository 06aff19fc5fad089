"""The tools of MCP, over a client that notes its calls."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from helix_gateway.callers import Caller
from helix_gateway.mcp.tools import (
    CorrectArguments,
    ForgetArguments,
    RecallArguments,
    RememberArguments,
    correct,
    forget,
    recall,
    remember,
)
from helix_gateway.operations.requests import parsed
from helix_memory.client import AsyncHelix, MemoryStates, Recalled, Written
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError, TemporaryError
from helix_shared.rpc.access.credential import WRITE, Credential
from tests.unit.gateway.gateways import StubHelix

KNOWN = "1" * 32


class Notes:
    """Stands for the client; keeps the ids of events that are written."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.waited: list[bool] = []
        self.asked: list[str] = []
        self.named: dict[Written, set[str]] = {}
        self.replaced: dict[str, str] = {}
        self.erased: set[str] = set()
        self.sequences: dict[str, int] = {}
        """Of the events of memories that replaced others; absent: before all that are written here."""
        self.applied_sequence = 0
        """Of the replica that is asked; 0: it does not tell."""
        self.is_away = False
        """Whether the query service does not answer."""

    async def remember(self, *, event_id: str, wait: bool = False, **_: Any) -> Written:
        """Note it."""
        self.ids.append(event_id)
        self.waited.append(wait)
        return Written(event_id, event_id, len(self.ids), duplicate=event_id in self.ids[:-1])

    async def correct(self, memory: str, *, event_id: str, wait: bool = False, **_: Any) -> Written:
        """Note it; with `wait` an unknown memory is refused, as by the services."""
        written = await self.remember(event_id=event_id, wait=wait)
        self.named[written] = {memory}
        if wait:
            await self.wait(written)
        return written

    async def history(self, memory: str) -> recall_pb2.GetHistoryResponse:
        """The memory with the position of its event."""
        source = recall_pb2.Source(stream_sequence=self.sequences.get(memory, 0))
        return recall_pb2.GetHistoryResponse(memories=[recall_pb2.Memory(memory_id=memory, source=source)])

    async def forget(self, *memories: str, wait: bool = False) -> Written:
        """Nothing, where none of them exists."""
        written = Written("f", "", 9, duplicate=False)
        self.named[written] = set(memories)
        if wait:
            await self.wait(written)
        self.waited.append(wait)
        return written

    async def restore(self, written: Written, **_: Any) -> Written:
        """Nothing was forgotten."""
        return written

    async def wait(self, written: Written) -> None:
        """Everything is processed; refused is what names nothing that exists."""
        if self.is_away:
            raise TemporaryError("the query service is away")
        if (named := self.named.get(written)) and named <= self.erased:
            raise InvalidInputError("memory_ids", "names nothing")

    async def state(self, memory: Written | str) -> recall_pb2.MemoryState | None:
        """What replaced it; None where it was erased, or never was."""
        name = memory if isinstance(memory, str) else memory.memory_id
        self.asked += [memory] if isinstance(memory, str) else []
        if self.is_away:
            raise TemporaryError("the query service is away")
        if name in self.erased:
            return None
        later = self.replaced.get(name, "")
        loss = recall_pb2.LOSS_REPLACED if later else recall_pb2.LOSS_NONE
        return recall_pb2.MemoryState(loss=loss, replaced_by=later)

    async def states(self, memories: Iterable[Written | str]) -> MemoryStates:
        """As `state`, of several."""
        named = {one if isinstance(one, str) else one.memory_id: one for one in memories}
        by_id = {name: await self.state(one) for name, one in named.items()}
        return MemoryStates(by_id, self.applied_sequence)


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


@pytest.mark.parametrize(("applied", "writes"), [(4, 1), (5, 2)])
async def test_a_replica_that_is_behind_tells_nothing_of_an_erasure(applied: int, writes: int) -> None:
    """The one that was waited for had applied the event; the other one has no memory of it yet."""
    notes = Notes()
    caller = Caller(notes, "acme", "ana")  # type: ignore[arg-type]  # a stub
    for text in ("a", "b", "c", "d"):
        await remember(caller, RememberArguments(text=text))
    await others_end()
    notes.applied_sequence = applied
    sent = RememberArguments(text="We deploy on Tuesdays.")
    notes.erased.add((await remember(caller, sent)).id)
    await others_end()
    assert len(notes.ids) == 4 + writes


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_correction_of_what_does_not_exist_is_refused(*, is_known: bool) -> None:
    """Also without `wait`: only a memory that is there is corrected without waiting for it."""
    notes = Notes()
    caller = Caller(notes, "acme", "ana")  # type: ignore[arg-type]  # a stub
    if not is_known:
        notes.erased.add(KNOWN)
    for call, sent in (
        (remember, RememberArguments(text="We deploy on Fridays.", replaces=KNOWN)),
        (correct, CorrectArguments(id=KNOWN, text="We deploy on Fridays.", wait=False)),
    ):
        if is_known:
            assert not (await call(caller, sent)).visible
        else:
            with pytest.raises(InvalidInputError, match="names nothing"):
                await call(caller, sent)
    await others_end()
    assert notes.waited == [False, False]


async def test_the_same_correction_is_kept_once() -> None:
    """Whichever tool made it; another text, title or memory is another correction, and one may come back."""
    notes = Notes()
    caller = Caller(notes, "acme", "ana")  # type: ignore[arg-type]  # a stub
    sent = {"text": "We deploy on Fridays.", "replaces": KNOWN}
    first = await remember(caller, RememberArguments.model_validate(sent))
    again = await remember(caller, RememberArguments.model_validate(sent))
    same = await correct(caller, CorrectArguments(id=KNOWN, text="We deploy on Fridays."))
    assert first.id == again.id == same.id
    assert (first.duplicate, again.duplicate, same.duplicate) == (False, True, True)
    others = [{"text": "We deploy on Mondays."}, {"title": "Deploying"}, {"replaces": "2" * 32}]
    ids = {(await remember(caller, RememberArguments.model_validate(sent | one))).id for one in others}
    assert len(ids | {first.id}) == 4
    notes.replaced[first.id] = "mondays"
    assert (await remember(caller, RememberArguments.model_validate(sent))).id not in ids | {first.id}


@pytest.mark.parametrize("tool", ["remember", "correct"])
async def test_what_is_corrected_at_once_does_not_come_back(tool: str) -> None:
    """The check that follows a call sees a correction that was written after it."""
    notes = Notes()
    caller = Caller(notes, "acme", "ana")  # type: ignore[arg-type]  # a stub
    if tool == "remember":
        kept = await remember(caller, RememberArguments(text="We deploy on Tuesdays."))
    else:
        kept = await correct(caller, CorrectArguments(id=KNOWN, text="We deploy on Tuesdays.", wait=False))
    notes.replaced[kept.id], notes.sequences["later"] = "later", kept.sequence + 1
    await others_end()
    assert notes.ids == [kept.id]


async def test_forget_names_what_does_not_exist() -> None:
    """An id that is not known is waited for; where none exists the call is refused."""
    notes = Notes()
    notes.erased.add("0" * 32)
    caller = Caller(notes, "acme", "ana")  # type: ignore[arg-type]  # a stub
    both = await forget(caller, ForgetArguments(ids=[KNOWN, "0" * 32], wait=False))
    known = await forget(caller, ForgetArguments(ids=[KNOWN], wait=False))
    assert (both.missing, both.visible, known.missing, known.visible) == (["0" * 32], True, [], False)
    with pytest.raises(InvalidInputError, match="names nothing"):
        await forget(caller, ForgetArguments(ids=["0" * 32], wait=False))


async def test_a_caller_who_may_only_write_waits_for_the_refusal() -> None:
    """Asking for a memory takes the role recall; what exists is not told either."""
    notes = Notes()
    writer = Credential("w", frozenset({"acme"}), "ana", None, frozenset({WRITE}))
    caller = Caller(notes, "acme", "ana", writer)  # type: ignore[arg-type]  # a stub
    sent = CorrectArguments(id=KNOWN, text="We deploy on Fridays.", wait=False)
    assert (await correct(caller, sent)).visible
    both = await forget(caller, ForgetArguments(ids=[KNOWN, "0" * 32], wait=False))
    assert (both.visible, both.missing, notes.waited) == (True, None, [True, True])
    assert not notes.asked


async def test_a_change_that_does_not_wait_does_not_need_the_query_service() -> None:
    """It is written; what is missing is not known."""
    notes = Notes()
    notes.is_away = True
    caller = Caller(notes, "acme", "ana")  # type: ignore[arg-type]  # a stub
    told = await forget(caller, ForgetArguments(ids=[KNOWN, "0" * 32], wait=False))
    assert (told.missing, told.visible, notes.waited) == (None, False, [False])
    later = await correct(caller, CorrectArguments(id=KNOWN, text="We deploy on Fridays.", wait=False))
    assert (later.visible, len(notes.ids)) == (False, 1)
    await others_end()


async def test_a_recall_tells_what_it_did_not_do() -> None:
    """A budget of a context that is not returned is refused, a search that failed is named."""

    async def answer(*_: Any, **__: Any) -> Recalled:
        route = recall_pb2.Route(skipped=True)
        return Recalled.of(recall_pb2.RecallResponse(degraded=["dense"], route=route))

    caller = Caller(StubHelix(answer), "acme", "ana")  # type: ignore[arg-type]  # a stub
    with pytest.raises(InvalidInputError, match="detail=context") as refused:
        await recall(caller, RecallArguments(query="x", max_tokens=500))
    assert refused.value.field == "max_tokens"
    found = await recall(caller, RecallArguments(query="x", max_tokens=500, detail="context"))
    assert (found.degraded, found.skipped) == (["dense"], True)


@pytest.mark.parametrize(
    ("arguments", "field", "reason"),
    [
        (
            {"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"},
            "since",
            "must be earlier than until",
        ),
        ({"session": "a\n"}, "session", "must not hold control characters"),
        ({"query": " "}, "query", "must hold more than white space"),
    ],
)
async def test_a_refused_recall_names_the_arguments_of_the_tool(
    arguments: dict[str, Any], field: str, reason: str
) -> None:
    """Not those of the client behind it, which the tool does not have."""
    async with AsyncHelix(nats_port=1, query_port=1, deadline_seconds=0.1) as helix:
        with pytest.raises(InvalidInputError) as refused:
            await recall(Caller(helix, "acme", "ana"), parsed(RecallArguments, {"query": "x", **arguments}))
    assert (refused.value.field, refused.value.reason) == (field, reason)


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
