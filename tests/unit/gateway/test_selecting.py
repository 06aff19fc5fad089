"""Which ids of a request name nothing, over a client that holds a few memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import pytest

from helix_memory.client import MemoryStates, Written
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError, TemporaryError
from tests.unit.gateway.gateways import client_of

if TYPE_CHECKING:
    from collections.abc import Iterable

THERE, OTHER, GONE, COMING = ("1" * 32, "2" * 32, "e" * 32, "c" * 32)
ERASED = recall_pb2.MemoryState(loss=recall_pb2.LOSS_ERASED)


class Store:
    """Stands for the client: one memory of it is processed only when it is waited for."""

    def __init__(self) -> None:
        self.found = {
            THERE: recall_pb2.MemoryState(),
            OTHER: recall_pb2.MemoryState(loss=recall_pb2.LOSS_FORGOTTEN),
            GONE: ERASED,
        }
        self.named: tuple[str, tuple[str, ...]] = ("", ())
        """Field and ids of the last write."""
        self.asked: list[list[str]] = []
        self.judged: dict[str, bool] = {}
        self.is_down = False
        self.answers = 1_000
        """Look-ups that the query service still answers."""
        self.steps: list[str] = []
        self.applied = 6
        """Sequence up to which the answers have every event; that of each write is 7."""

    def acting_as(self, **_: Any) -> Self:
        """As the client."""
        return self

    async def forget(self, *memories: str, **options: Any) -> Written:
        """A write about several memories."""
        return await self._written("memory_ids", memories, options)

    restore = erase = forget

    async def feedback(
        self, *, helpful: Iterable[str] = (), unhelpful: Iterable[str] = (), **options: Any
    ) -> Written:
        """A judgement, which is never refused."""
        written = await self._written("", (*helpful, *unhelpful), options)
        self.judged = dict.fromkeys(helpful, True) | dict.fromkeys(unhelpful, False)
        return written

    async def correct(self, memory: str, _: str, **options: Any) -> Written:
        """A write about one."""
        return await self._written("memory_id", (memory,), options)

    async def undo(self, memory: str, **options: Any) -> Written:
        """Another one."""
        return await self._written("memory_id", (memory,), options)

    async def _written(self, field: str, memories: tuple[str, ...], options: dict[str, Any]) -> Written:
        self.named = field, memories
        self.steps.append("write")
        written = Written("e", "", 7, duplicate=False)
        if options.get("wait"):
            await self.wait(written)
        return written

    async def states(self, memories: Iterable[str]) -> MemoryStates:
        """None where there is none."""
        self.asked.append(list(memories))
        self.steps.append("look up")
        if len(self.asked) > self.answers:
            raise TemporaryError("the query service is away")
        return MemoryStates({one: self.found.get(one) for one in memories}, self.applied)

    async def wait(self, _: Written) -> None:
        """Process what is on its way, and then the write: refused where none of its memories is there."""
        if self.is_down:
            raise TemporaryError("it takes longer")
        self.steps.append("wait")
        self.found[COMING] = recall_pb2.MemoryState()
        field, memories = self.named
        if field and memories and not self.found.keys() & set(memories):
            raise InvalidInputError(field, "names nothing")


async def sent(store: Store, path: str, body: dict[str, Any], **settings: Any) -> tuple[int, dict[str, Any]]:
    """Status and JSON of a request to a gateway over this client."""
    headers = settings.pop("headers", {})
    async with client_of(store, **settings) as client:  # type: ignore[arg-type]  # a stub
        answer = await client.post(f"/v1/{path}", json=body, headers=headers)
    return answer.status_code, answer.json()


@pytest.mark.parametrize("path", ["forget", "restore"])
@pytest.mark.parametrize("wait", [True, False])
async def test_ids_of_no_memory_are_named(path: str, *, wait: bool) -> None:
    """Beside those that are there, also where a memory is forgotten; what is on its way is waited for."""
    store = Store()
    ids = [THERE, "f" * 32, COMING, GONE, OTHER]
    status, told = await sent(store, path, {"memories": ids, "wait": wait})
    assert (status, told["missing"], told["sequence"]) == (200, ["f" * 32, GONE], 7)
    assert store.asked == ([ids] if wait else [ids, ["f" * 32, COMING, GONE]])


async def test_nothing_is_waited_for_where_every_id_is_known() -> None:
    """Unless the request asks for it."""
    store = Store()
    store.is_down = True
    status, told = await sent(store, "forget", {"memories": [THERE, OTHER]})
    assert (status, told["missing"]) == (200, [])
    status, _ = await sent(store, "forget", {"memories": [THERE], "wait": True})
    assert status == 503


async def test_what_is_missing_is_not_known_where_events_take_too_long() -> None:
    """A request that does not ask to wait does not fail for it: its event is stored, and may reach the id."""
    store = Store()
    store.is_down = True
    status, told = await sent(store, "forget", {"memories": [THERE, COMING]})
    assert (status, told["missing"], store.named) == (200, None, ("memory_ids", (THERE, COMING)))


@pytest.mark.parametrize("path", ["forget", "restore"])
@pytest.mark.parametrize("answers", [0, 1])
async def test_a_write_does_not_need_the_query_service(path: str, answers: int) -> None:
    """Nor does it fail after it is stored: what is missing is not known then."""
    store = Store()
    store.answers = answers
    status, told = await sent(store, path, {"memories": [THERE, COMING, GONE]})
    assert (status, told["missing"], told["sequence"]) == (200, None, 7)
    assert store.named == ("memory_ids", (THERE, COMING, GONE))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("forget", {"memories": [THERE]}),
        ("restore", {"memories": [THERE, COMING]}),
        (f"memories/{THERE}/correct", {"text": "x"}),
        (f"memories/{COMING}/undo", {}),
    ],
)
async def test_no_write_waits_for_a_look_up(path: str, body: dict[str, Any]) -> None:
    """One takes seconds while the query service is away, and only says which ids name nothing."""
    store = Store()
    store.answers = 0
    status, _ = await sent(store, path, body)
    assert (status, store.steps) == (200, ["write", "look up"])


@pytest.mark.parametrize(("act", "body"), [("correct", {"text": "x"}), ("undo", {})])
async def test_a_change_of_one_memory_does_not_need_the_query_service(act: str, body: dict[str, Any]) -> None:
    """It is written without a look-up, and not waited for."""
    store = Store()
    store.answers, store.is_down = 0, True
    status, told = await sent(store, f"memories/{COMING}/{act}", body)
    assert (status, told["sequence"], store.named) == (200, 7, ("memory_id", (COMING,)))


@pytest.mark.parametrize(("act", "body"), [("correct", {"text": "x"}), ("undo", {})])
@pytest.mark.parametrize("wait", [True, False])
async def test_a_change_of_a_memory_that_is_not_there_finds_nothing(
    act: str, body: dict[str, Any], *, wait: bool
) -> None:
    """As a read does; one that was written a moment ago is there, and what is there is not waited for."""
    store = Store()
    body |= {"wait": wait}
    status, told = await sent(store, f"memories/{'f' * 32}/{act}", body)
    assert (status, told["error"]["type"], told["error"]["message"]) == (404, "not_found", "names nothing")
    assert (await sent(store, f"memories/{COMING}/{act}", body))[0] == 200
    store.is_down = True
    assert (await sent(store, f"memories/{THERE}/{act}", body))[0] == (503 if wait else 200)


@pytest.mark.parametrize("wait", [True, False])
async def test_ids_of_no_memory_are_named_by_an_erasure_which_is_written_for_them_too(*, wait: bool) -> None:
    """One that is on its way is removed when it arrives; it is looked up before the erasure is applied."""
    store = Store()
    store.found[OTHER] = recall_pb2.MemoryState(loss=recall_pb2.LOSS_ERASED, event_sequence=7)
    ids = [THERE, "f" * 32, COMING, GONE, OTHER]
    status, told = await sent(store, "erase", {"memories": ids, "wait": wait})
    assert (status, told["missing"], told["sequence"]) == (200, ["f" * 32, COMING, GONE], 7)
    assert (store.named, store.asked) == (("memory_ids", tuple(ids)), [ids])
    assert store.steps == ["write", "look up", *(["wait"] if wait else [])]


@pytest.mark.parametrize("applied", [0, 7, 8])
async def test_what_an_applied_erasure_has_not_found_is_not_known(applied: int) -> None:
    """What it removed is not there either; 0: the service does not tell which events count."""
    store = Store()
    store.applied = applied
    assert (await sent(store, "erase", {"memories": [THERE, "f" * 32]}))[1]["missing"] is None
    assert (await sent(store, "erase", {"memories": [THERE, OTHER]}))[1]["missing"] == []
    assert (await sent(store, "erase", {"of_session": "s1"}))[1]["missing"] == []


async def test_an_erasure_does_not_need_the_query_service() -> None:
    """It is written without a look-up."""
    store = Store()
    store.answers = 0
    status, told = await sent(store, "erase", {"memories": [THERE, COMING]})
    assert (status, told["missing"], store.steps) == (200, None, ["write", "look up"])


@pytest.mark.parametrize("wait", [True, False])
async def test_feedback_names_ids_of_no_memory(*, wait: bool) -> None:
    """Of both kinds; one that is on its way is waited for, and the judgement of the others counts."""
    store = Store()
    body = {"helpful": [THERE, "f" * 32, COMING], "unhelpful": ["f" * 32, GONE, OTHER], "wait": wait}
    status, told = await sent(store, "feedback", body)
    assert (status, told["missing"], told["sequence"]) == (200, ["f" * 32, GONE], 7)
    assert store.judged == {THERE: True, "f" * 32: False, COMING: True, GONE: False, OTHER: False}
    status, told = await sent(Store(), "feedback", {"helpful": "e" * 32})
    assert (status, told["missing"]) == (200, ["e" * 32])


@pytest.mark.parametrize("path", ["forget", "erase"])
async def test_a_request_that_names_nothing_is_refused_under_its_own_name(path: str) -> None:
    """The field of the request, not that of the event."""
    status, told = await sent(Store(), path, {"memories": ["f" * 32], "wait": True})
    assert (status, told["error"]["field"], told["error"]["reason"]) == (400, "memories", "names nothing")


async def test_what_is_not_looked_up_is_not_told(tokens: Any) -> None:
    """Where the caller may not recall."""
    store, both = Store(), {"memories": [THERE, "f" * 32]}
    judged = {"helpful": [THERE, "f" * 32]}
    for path, body, token in (
        ("forget", both, "writer"),
        ("feedback", judged, "writer"),
        ("erase", both, "eraser"),
    ):
        status, told = await sent(store, path, body, headers={"authorization": f"Bearer {token}"}, **tokens)
        assert (status, told["missing"]) == (200, None)
    assert store.asked == []
    assert (await sent(store, "forget", {"of_session": "s1"}))[1]["missing"] == []
