"""The names of the reference server `memory`, over a client that holds a few memories."""

from typing import Any

import pytest

from helix_gateway.callers import Caller
from helix_gateway.operations.requests import parsed
from helix_memory import limits
from helix_memory.identity import digest, memory_id
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError, NotFoundError
from helix_shared.rpc.access.credential import RECALL, WRITE, Credential
from tests.unit.gateway.mcp_server.memory_store import TOOLS, Store, called


async def observed(store: Store, tool: str, **arguments: Any) -> dict[str, list[str]]:
    """The observations of each entity that a tool shows."""
    found = (await called(store, tool, **arguments))["entities"]
    assert len({one["name"] for one in found}) == len(found)
    return {one["name"]: one["observations"] for one in found}


@pytest.fixture
async def store() -> Store:
    """Two entities, a relation of one to the other, one that is bare, and what other doors wrote."""
    store = Store()
    entities = [
        {"name": "Acme Corp", "entityType": "company", "observations": ["has 40 employees"]},
        {"name": "Ada", "observations": ["likes figs"]},
        {"name": "my_project"},
    ]
    await called(store, "create_entities", entities=entities)
    relation = {"from": "Ada", "relationType": "works at", "to": "Acme Corp"}
    await called(store, "create_relations", relations=[relation])
    await store.remember(event_id="1", text="Ada moved to Acme Corp's new office.")
    await store.remember(event_id="2", text="Bread is baked at six.", title="Bakery")
    await store.remember(event_id="3", text="The kiln is hot.")
    return store


async def test_an_entity_has_its_own_observations_whatever_the_case_of_its_name(store: Store) -> None:
    """Not those of others that mention it; what other doors wrote belongs to each that it mentions."""
    moved = "Ada moved to Acme Corp's new office."
    own = {"Acme Corp": ["has 40 employees", "is a company", moved]}
    for name in ("Acme Corp", "acme corp", "ACME CORP"):
        assert await observed(store, "open_nodes", names=[name]) == own
    assert await observed(store, "open_nodes", names=["acme corp", "Acme Corp"]) == own
    assert await observed(store, "open_nodes", names=["Ada", "Nobody"]) == {
        "Ada": ["likes figs", "works at Acme Corp", moved]
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("open_nodes", {"names": ["Ada", ""]}, "names.1"),
        ("create_entities", {"entities": [{"name": " ", "observations": ["likes figs"]}]}, "entities.0.name"),
        (
            "create_relations",
            {"relations": [{"from": "Ada", "relationType": "owns", "to": "\t"}]},
            "relations.0.to",
        ),
    ],
)
async def test_a_name_of_nothing_is_refused(
    store: Store, tool: str, arguments: dict[str, Any], field: str
) -> None:
    """Under the name of its argument."""
    with pytest.raises(InvalidInputError) as refused:
        await called(store, tool, **arguments)
    assert refused.value.field == field


async def test_an_entity_without_observations_is_found(store: Store) -> None:
    """By its name and in the whole graph, until it has some."""
    assert await observed(store, "open_nodes", names=["My_Project"]) == {"my_project": []}
    assert (await observed(store, "read_graph"))["my_project"] == []
    addition = {"entityName": "my_project", "contents": ["began in May"]}
    await called(store, "add_observations", observations=[addition])
    assert await observed(store, "open_nodes", names=["my_project"]) == {"my_project": ["began in May"]}


async def test_a_search_that_abstains_shows_nothing(store: Store) -> None:
    """Nothing relevant is known."""
    assert await observed(store, "search_nodes", query="who likes figs") == {"Ada": ["likes figs"]}
    store.abstains = True
    assert await observed(store, "search_nodes", query="who likes figs") == {}


@pytest.mark.parametrize("tool", ["open_nodes", "read_graph"])
async def test_whatever_is_shown_can_be_deleted_by_what_is_shown(store: Store, tool: str) -> None:
    """Also in another case of the name, and what other doors wrote."""
    asked = {"names": ["ACME CORP", "ada", "Bakery"]} if tool == "open_nodes" else {}
    for _ in range(10):
        shown = await observed(store, tool, **asked)
        left = [(name, text) for name, texts in shown.items() for text in texts]
        if not left:
            break
        name, text = left[0]
        told = await called(
            store, "delete_observations", deletions=[{"entityName": name, "observations": [text]}]
        )
        assert told["missing"] == []
        assert text not in (await observed(store, tool, **asked)).get(name, [])
    assert not left
    assert len(store.forgotten) >= 5


async def test_deleting_what_is_not_there_is_said(store: Store) -> None:
    """Beside what is there; alone it is an error."""
    deletion = {"entityName": "Ada", "observations": ["likes figs", "likes plums"]}
    assert (await called(store, "delete_observations", deletions=[deletion]))["missing"] == [
        "Ada: likes plums"
    ]
    relation = {"from": "Ada", "relationType": "owns", "to": "Acme Corp"}
    with pytest.raises(InvalidInputError, match="names nothing"):
        await called(store, "delete_relations", relations=[relation])


async def test_a_text_that_was_corrected_is_not_deleted_by_its_old_version(store: Store) -> None:
    """That would hide the new one."""
    own = next(name for name, one in store.memories.items() if one.text == "Ada: likes figs")
    store.memories[own].text = "Ada: likes plums"

    async def replaced(_: object) -> recall_pb2.MemoryState:
        return recall_pb2.MemoryState(loss=recall_pb2.LOSS_REPLACED)

    store.state = replaced  # type: ignore[method-assign,assignment]
    deletion = {"entityName": "Ada", "observations": ["likes figs"]}
    with pytest.raises(NotFoundError, match="likes figs"):
        await called(store, "delete_observations", deletions=[deletion])
    assert not store.forgotten


async def test_an_entity_is_read_once_however_many_observations_are_deleted(store: Store) -> None:
    """Whatever the case of its name; the memories to delete are looked up together, before and afterwards."""
    for number in range(3):
        await store.remember(event_id=f"own-{number}", text=f"Ada: has {number} cats", title="Ada")
    store.asked.clear()
    deletions = [
        {"entityName": "Ada", "observations": ["has 0 cats", "has 1 cats", "likes plums", "likes plums"]},
        {"entityName": "ADA", "observations": ["has 2 cats"]},
    ]
    told = await called(store, "delete_observations", deletions=deletions)
    plums = memory_id("acme", "graph-" + digest("ana", "Ada", "likes plums"), 0)
    assert (store.asked[:2], told["missing"]) == (["ADA", plums], ["Ada: likes plums"])
    # of what is shown nowhere, then of all
    assert (store.looked_up, store.hidden_at_once) == ([1, 4], [4])


@pytest.mark.parametrize("roles", [(RECALL, WRITE), (WRITE,)])
async def test_no_event_hides_more_memories_than_it_may_name(
    store: Store, monkeypatch: pytest.MonkeyPatch, roles: tuple[str, ...]
) -> None:
    """Also where nothing of one of the events is there."""
    monkeypatch.setattr(limits, "SELECTED_IDS", 2)
    texts = ["likes plums", "likes pears", "likes figs", "works at Acme Corp", "likes nuts"]
    caller = Caller(store, "acme", "ana", Credential("a", frozenset({"acme"}), "ana", None, frozenset(roles)))  # type: ignore[arg-type]  # a stub
    deletion = {"entityName": "Ada", "observations": texts}
    tool = TOOLS["delete_observations"]
    told: Any = await tool.run(caller, parsed(tool.arguments, {"deletions": [deletion]}))
    assert store.hidden_at_once == [2, 2, 1]
    assert sorted(store.memories[one].text for one in store.forgotten) == [
        "Ada: likes figs",
        "Ada: works at Acme Corp",
    ]
    named = ["Ada: likes plums", "Ada: likes pears", "Ada: likes nuts"]
    assert told.missing == (named if RECALL in roles else None)


async def test_no_id_tells_of_a_private_passage() -> None:
    """A short one could be found by trying ids; a deletion names the same memory."""
    store = Store()
    for code in (4711, 4712):
        contents = [f"The code is <private>{code}</private>, as ever."]
        await called(store, "add_observations", observations=[{"entityName": "Ada", "contents": contents}])
    assert len(store.memories) == 1
    await called(store, "delete_observations", deletions=[{"entityName": "Ada", "observations": contents}])
    assert store.forgotten == set(store.memories)
