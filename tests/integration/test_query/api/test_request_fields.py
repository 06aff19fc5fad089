"""Fields of a request: limits, moments and modes."""

import itertools
from typing import Any

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2

pytestmark = pytest.mark.integration

NEVER = 2**64 - 1


def ids_of(reply: Any) -> list[str]:
    """Ids of a reply, best first."""
    return [found.memory.memory_id for found in reply.memories]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"already_served": ["0" * 32] * 1_001}, "already_served: must have at most 1000 entries"),
        ({"already_served": ["x"]}, "already_served: must be 32 hexadecimal digits in lower case"),
        ({"as_of": {"seconds": 2**60}}, "as_of: must be a time of the years 1 to 9999"),
        ({"as_of": {"seconds": -(2**40)}}, "as_of: must be a time of the years 1 to 9999"),
        ({"expand_context": 9}, "expand_context: is unknown; known: 0 to 3"),
    ],
)
def test_a_broken_limit_is_named_with_its_field(answering: Any, fields: dict[str, Any], message: str) -> None:
    """Refused before any search."""
    service, _ = answering
    with pytest.raises(grpc.RpcError) as caught:
        service.recall("q", **fields)
    assert (caught.value.code().name, caught.value.details()) == ("INVALID_ARGUMENT", message)


@pytest.mark.parametrize(
    ("seconds", "found"), [(-62_135_596_800, False), (253_402_300_799, True)], ids=["year 1", "year 9999"]
)
def test_any_moment_of_the_calendar_may_be_asked_for(answering: Any, seconds: int, found: bool) -> None:
    """Without `now` it is also the moment of time phrases."""
    service, _ = answering
    request = recall_pb2.RecallRequest(
        scope={"tenant_id": "acme"}, query="what did we discuss last week", as_of={"seconds": seconds}
    )
    reply = service.stub().Recall(request, timeout=10)
    assert bool(reply.memories) == found
    assert list(reply.degraded) == []


def test_hybrid_off_asks_the_dense_channel_alone(answering: Any) -> None:
    """Mode dense: no lexical hits, no graph candidates, and the order of the cosine."""
    service, _ = answering
    query = "Who is the mother of the director of film Polish Summer?"
    reply = service.recall(query, mode=recall_pb2.MODE_DENSE, top_k=30)
    assert {channel for found in reply.memories for channel in found.channels} == {"dense"}
    cosines = [found.cosine for found in reply.memories]
    assert len(cosines) > 10
    # quality changes scores by a few percent at most
    assert all(later <= earlier + 0.05 for earlier, later in itertools.pairwise(cosines))
    hybrid = service.recall(query, top_k=30)
    assert {"lexical", "dense"} <= {channel for found in hybrid.memories for channel in found.channels}
