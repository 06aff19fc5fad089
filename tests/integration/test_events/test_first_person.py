"""Relations of "I" through all processes: one entity for a user, and who sees it."""

from typing import Any

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.transport.polling import poll

from .running import PATIENCE_SECONDS, Helix

pytestmark = pytest.mark.integration

ANA, BEN = "User ana", "User ben"


@pytest.fixture(scope="module")
def said(helix: Helix) -> Any:
    """What Ana and Ben say of themselves, a stub of the query service, and the stack."""
    for user, text in (
        ("ana", "I work at Volkov Labs."),
        ("ana", "I moved to Ghent."),
        ("ben", "I work at Volkov Labs."),
    ):
        helix.publish("message", text=text, role="user", user_id=user, session_id=f"of-{user}")
    helix.publish(
        "message", text="I married Jo.", role="user", user_id="ana", session_id="of-ana", shared=True
    )
    ana = {"user_id": "ana", "session_id": "of-ana"}
    helix.settle(helix.publish("message", text="I work at Initech.", role="assistant", **ana))
    with grpc.insecure_channel(helix.stack.query_address) as channel:
        stub = recall_pb2_grpc.RecallServiceStub(channel)  # type: ignore[no-untyped-call] # generated
        # the links of an event are served in a generation after that of its memories
        for _ in poll(PATIENCE_SECONDS):
            if {ANA, "initech"} <= set(entities(stub, "ana")) and BEN in entities(stub, "ben"):
                break
        yield stub


def entities(stub: Any, user: str) -> dict[str, int]:
    """Names and numbers of memories that a user sees."""
    scope = {"tenant_id": "acme", "user_id": user}
    reply = stub.ListEntities(recall_pb2.ListEntitiesRequest(scope=scope, page_size=200), timeout=10)
    return {one.name: one.memories for one in reply.entities}


def around(stub: Any, user: str, entity: str) -> set[tuple[str, str]]:
    """Edges and texts of the memories around an entity."""
    scope = {"tenant_id": "acme", "user_id": user}
    reply = stub.Neighbours(recall_pb2.NeighboursRequest(scope=scope, entity=entity), timeout=10)
    return {(edge.kind, reply.nodes[edge.source].memory.text) for edge in reply.edges}


def test_what_a_user_says_of_themselves_is_related_to_one_entity(said: Any) -> None:
    """One for all turns of the user; the assistant's "I" is not the user."""
    assert around(said, "ana", ANA) == {
        ("WORKS_FOR_SUBJECT", "I work at Volkov Labs."),
        ("MOVED_TO_SUBJECT", "I moved to Ghent."),
        ("MARRIED_SUBJECT", "I married Jo."),
    }
    assert entities(said, "ana")[ANA] == 3


def test_nobody_sees_a_relation_of_another_user(said: Any) -> None:
    """Both work at one company, and each sees their own memory of it; what is shared, everybody sees."""
    assert around(said, "ben", BEN) == {("WORKS_FOR_SUBJECT", "I work at Volkov Labs.")}
    assert around(said, "ben", "volkov labs") == {("WORKS_FOR_OBJECT", "I work at Volkov Labs.")}
    for user in ("ben", "", "eve"):
        assert around(said, user, ANA) == {("MARRIED_SUBJECT", "I married Jo.")}
        assert "ghent" not in entities(said, user)
    assert BEN not in entities(said, "ana")
    for other in ("ana", ""):
        with pytest.raises(grpc.RpcError) as caught:
            around(said, other, BEN)
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
