"""Entities and the graph around a memory: only what memories say that the caller could recall."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2

pytestmark = pytest.mark.integration

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
ADA = {"tenant_id": "acme", "user_id": "ada"}


def rows() -> list[dict[str, Any]]:
    """A hub that sixty memories mention, and names that only others mention."""
    shared = [
        {"text": f"Postgres step {n} was done by Person{n % 3}.", "entities": ["Postgres", f"Person{n % 3}"],
         "occurred_at": NOW - timedelta(hours=n)}
        for n in range(200)
    ]  # fmt: skip
    return [
        *shared,
        {"text": "Bob's doctor is Zed.", "owner": "bob", "user_id": "bob", "entities": ["Zed", "Postgres"]},
        {"text": "Only ops know Vault.", "audience": ["ops"], "entities": ["Vault", "Person1"]},
        {"text": "Forgotten: Quill.", "hidden": True, "entities": ["Quill", "Person2"]},
        {"text": "Another tenant has Yara.", "tenant_id": "other", "entities": ["Yara", "Postgres"]},
        {"text": "Ada met Xavi.", "owner": "ada", "user_id": "ada", "entities": ["Xavi", "Person0"]},
    ]


@pytest.fixture(scope="module")
def listed(told: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service with the rows."""
    with told(tmp_path_factory.mktemp("graph"), rows()) as stub:
        yield stub


def entities(listed: Any, scope: dict[str, Any], size: int) -> dict[str, int]:
    """Names and counts of all pages."""
    found: list[Any] = []
    request = recall_pb2.ListEntitiesRequest(scope=scope, page_size=size)
    while True:
        reply = listed.ListEntities(request, timeout=10)
        found += reply.entities
        if not reply.next_page_token:
            break
        request.page_token = reply.next_page_token
    assert len(found) == len({one.name for one in found})
    return {one.name: one.memories for one in found}


COMMON = {"postgres": 200, "person0": 67, "person1": 67, "person2": 66}


@pytest.mark.parametrize("size", [1, 2, 200])
def test_entities_are_those_of_visible_memories(listed: Any, size: int) -> None:
    """Each once, with the number of memories that the caller sees."""
    assert entities(listed, ADA, size) == COMMON | {"xavi": 1, "person0": 68}
    assert entities(listed, {"tenant_id": "acme"}, size) == COMMON
    assert entities(listed, {"tenant_id": "acme", "user_id": "bob"}, size) == COMMON | {
        "zed": 1,
        "postgres": 201,
    }
    ops = {"tenant_id": "acme", "principals": ["ops"]}
    assert entities(listed, ops, size) == COMMON | {"vault": 1, "person1": 68}
    assert entities(listed, {"tenant_id": "other"}, size) == {"yara": 1, "postgres": 1}


def test_the_graph_around_an_entity_holds_visible_memories_only(listed: Any) -> None:
    """At most 150 nodes, nearest first, with the edges between them."""
    reply = listed.Neighbours(recall_pb2.NeighboursRequest(scope=ADA, entity="postgres", hops=2))
    assert len(reply.nodes) == 150
    assert reply.truncated
    assert reply.nodes[0].entity == "postgres"
    assert [one.hops for one in reply.nodes] == sorted(one.hops for one in reply.nodes)
    texts = [one.memory.text for one in reply.nodes if one.memory.memory_id]
    assert all(text.startswith("Postgres step") for text in texts)
    assert all(0 in {one.source, one.target} for one in reply.edges)


@pytest.mark.parametrize("name", ["Postgres", "the POSTGRES"])
def test_an_entity_is_found_as_people_write_it(listed: Any, name: str) -> None:
    """Its name in the graph is the canonical form of that."""
    reply = listed.Neighbours(recall_pb2.NeighboursRequest(scope=ADA, entity=name))
    assert reply.nodes[0].entity == "postgres"


def test_the_graph_around_a_memory(listed: Any) -> None:
    """Its entities, then their memories."""
    page = listed.ListMemories(recall_pb2.ListMemoriesRequest(scope=ADA, page_size=200))
    [met] = [one for one in page.memories if one.text == "Ada met Xavi."] or [None]
    if met is None:
        page = listed.ListMemories(
            recall_pb2.ListMemoriesRequest(scope=ADA, page_size=200, page_token=page.next_page_token)
        )
        [met] = [one for one in page.memories if one.text == "Ada met Xavi."]
    near = listed.Neighbours(recall_pb2.NeighboursRequest(scope=ADA, memory_id=met.memory_id))
    assert {one.entity for one in near.nodes[1:]} == {"xavi", "person0"}
    assert {(one.source, one.kind) for one in near.edges} == {(0, "MENTIONS")}
    far = listed.Neighbours(recall_pb2.NeighboursRequest(scope=ADA, memory_id=met.memory_id, hops=2, nodes=9))
    assert len(far.nodes) == 9
    assert {one.hops for one in far.nodes} == {0, 1, 2}


@pytest.mark.parametrize("name", ["zed", "Zed", "vault", "quill", "yara", "nobody", "' OR 1=1 --", "%"])
def test_an_entity_of_others_does_not_exist(listed: Any, name: str) -> None:
    """Private to another user, restricted, forgotten, of another tenant, or no entity."""
    with pytest.raises(grpc.RpcError) as refused:
        listed.Neighbours(recall_pb2.NeighboursRequest(scope=ADA, entity=name))
    assert refused.value.code() == grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "memory_id"),
        ({"memory_id": "0" * 32, "entity": "postgres"}, "memory_id"),
        ({"memory_id": "xyz"}, "memory_id"),
        ({"entity": "a\n"}, "entity"),
        ({"entity": "postgres", "hops": 3}, "hops"),
        ({"entity": "postgres", "nodes": 151}, "nodes"),
        ({"entity": "postgres", "nodes": 0}, "nodes"),
    ],
)
def test_a_bad_request_is_refused_with_its_field(listed: Any, fields: Any, field: str) -> None:
    """Exactly one middle, within the limits."""
    with pytest.raises(grpc.RpcError) as refused:
        listed.Neighbours(recall_pb2.NeighboursRequest(scope=ADA, **fields))
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert str(refused.value.details()).startswith(f"{field}: ")
