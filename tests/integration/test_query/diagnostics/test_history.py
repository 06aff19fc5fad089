"""Whose history is shown: of what a caller may read by id, and of what was replaced."""

from datetime import timedelta
from typing import Any

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2
from tests.integration.test_query.corpus import NOW

pytestmark = pytest.mark.integration

DAY = timedelta(days=1)
WEAK, LATER, FORGOTTEN = "The kiln was booked.", "The kiln is booked for Friday.", "The kiln was sold."
SCOPE = recall_pb2.Scope(tenant_id="acme")


@pytest.fixture
def kiln(corpus: Any, in_process: Any) -> tuple[Any, dict[str, str]]:
    """A memory that decay hides, one that replaced it, and a forgotten one; the service and their ids."""
    rows: list[dict[str, Any]] = [
        {"text": WEAK, "hidden": True, "decayed_at": NOW - DAY},
        {"text": LATER, "occurred_at": NOW - DAY},
        {"text": FORGOTTEN, "hidden": True, "deleted_at": NOW},
    ]
    ids = corpus.add([dict(row) for row in rows])
    weak, later = (corpus.ordinals[f"acme/{text}"] for text in (WEAK, LATER))
    corpus.live.graph.relate(later, weak, "EXTENDS", 0.9)
    corpus.publish()
    return in_process(corpus.root), dict(zip([row["text"] for row in rows], ids, strict=True))


def history(service: Any, memory_id: str) -> Any:
    """The reply to GetHistory."""
    return service.stub.GetHistory(recall_pb2.GetHistoryRequest(scope=SCOPE, memory_id=memory_id), timeout=10)


@pytest.mark.parametrize("asked", [WEAK, LATER])
def test_what_decay_hides_has_a_history_as_it_can_be_read_by_id(kiln: Any, asked: str) -> None:
    """GetMemory returns it; to GetHistory there was no such memory, and other histories left it out."""
    service, ids = kiln
    request = recall_pb2.GetMemoryRequest(scope=SCOPE, memory_id=ids[WEAK])
    assert service.stub.GetMemory(request, timeout=10).memory.text == WEAK
    found = history(service, ids[asked])
    assert [one.text for one in found.memories] == [WEAK, LATER]
    assert [(one.newer_id, one.older_id) for one in found.relations] == [(ids[LATER], ids[WEAK])]


def test_a_forgotten_memory_has_no_history(kiln: Any) -> None:
    """It cannot be read by id either."""
    service, ids = kiln
    with pytest.raises(grpc.RpcError) as refused:
        history(service, ids[FORGOTTEN])
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
