"""Pack: memories in an order of the caller's own, packed as a recall packs them."""

from typing import Any

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2

pytestmark = pytest.mark.integration

QUESTION = "where is the garden of the staging server in Gdansk"


def pack(service: Any, memory_ids: list[str], *, user: str = "", **fields: Any) -> Any:
    """Pack for tenant acme."""
    scope = recall_pb2.Scope(tenant_id="acme", user_id=user)
    recall = recall_pb2.RecallRequest(scope=scope, query=QUESTION, **fields)
    return service.stub().Pack(recall_pb2.PackRequest(recall=recall, memory_ids=memory_ids), timeout=10)


def test_the_order_of_a_recall_gives_its_context(answering: Any) -> None:
    """The same text, citations, tokens and neighbours."""
    service, _ = answering
    reply = service.recall(QUESTION, top_k=6, token_budget=200)
    assert reply.context.text
    packed = pack(service, [one.memory.memory_id for one in reply.memories], token_budget=200)
    assert packed.context == reply.context
    assert packed.generation == reply.generation


def test_another_order_puts_another_memory_first(answering: Any) -> None:
    """The last becomes the first; a memory named twice is packed once."""
    service, _ = answering
    ids = [one.memory.memory_id for one in service.recall(QUESTION, top_k=4).memories][::-1]
    packed = pack(service, [*ids, ids[0]], expand_context=recall_pb2.EXPAND_CONTEXT_NONE)
    assert list(packed.memory_ids) == ids
    assert packed.context.memory_ids[0] == ids[0]
    assert sorted(packed.context.memory_ids) == sorted(ids)


def test_memories_out_of_reach_are_not_packed(answering: Any) -> None:
    """Of another user, another tenant, a group, deleted, expired, out of the filter, and unknown ones."""
    service, ids = answering
    foreign = ["ann private", "globex secret", "board only", "deleted", "expired", "not yet valid"]
    named = [*(ids[name] for name in foreign), "0" * 32, ids["Gdansk lies on the Baltic coast."]]
    packed = pack(service, named)
    assert list(packed.memory_ids) == named[-1:]
    assert list(packed.context.memory_ids) == named[-1:]
    assert list(pack(service, named, user="ann").memory_ids) == [named[0], named[-1]]
    episodic = recall_pb2.Filter(types=["episodic"])
    assert list(pack(service, named[-1:], filter=episodic).memory_ids) == []


@pytest.mark.parametrize("memory_ids", [[], ["nonsense"], [f"{number:032x}" for number in range(201)]])
def test_a_list_of_ids_out_of_bounds_is_refused(answering: Any, memory_ids: list[str]) -> None:
    """With the name of the field."""
    service, _ = answering
    with pytest.raises(grpc.RpcError) as refused:
        pack(service, memory_ids)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert refused.value.details().startswith("memory_ids: ")


def test_an_intermediate_result_does_not_count_as_served(corpus: Any, start: Any, free_address: str) -> None:
    """A recall that is not read counts nothing; what is packed from it counts once."""
    corpus.add([{"text": "The kiln in the cellar is Odile's."}, {"text": "Odile fires on Fridays."}])
    corpus.publish()
    service = start(corpus.root, HELIX_QUERY_ACCESS_LISTEN=free_address)
    service.wait_for(lambda one: one.health() == "SERVING")
    scope = recall_pb2.Scope(tenant_id="acme")
    request = recall_pb2.RecallRequest(scope=scope, query="Odile's kiln", never_skip=True, not_served=True)
    reply = service.stub().Recall(request, timeout=10)
    batch = recall_pb2.BatchRecallRequest(scope=scope, requests=[recall_pb2.RecallRequest()])
    batch.requests[0].CopyFrom(request)
    batch.requests[0].ClearField("scope")
    service.stub().BatchRecall(batch, timeout=10)
    assert (len(reply.memories), service.status().accesses.waiting) == (2, 0)
    ids = [one.memory.memory_id for one in reply.memories]
    service.stub().Pack(recall_pb2.PackRequest(recall=request, memory_ids=ids), timeout=10)
    assert service.status().accesses.waiting == 1
