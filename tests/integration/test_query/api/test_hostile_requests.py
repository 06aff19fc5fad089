"""Hostile input: every call ends with a status that names the reason, and the service keeps running."""

from typing import Any

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from helix_memory.recall.v1 import recall_pb2

pytestmark = pytest.mark.integration


def code_of(call: Any, *arguments: Any, **fields: Any) -> grpc.StatusCode:
    """The status of a call that fails."""
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments, **fields)
    code: grpc.StatusCode = caught.value.code()
    return code


def raw_call(service: Any, method: str, body: bytes) -> Any:
    """A call with bytes that no client sends."""
    channel = service.channel()
    return channel.unary_unary(f"/helix.recall.v1.RecallService/{method}")(body, timeout=10)


@pytest.mark.parametrize(
    "fields",
    [
        {"query": ""},
        {"query": " \t\n"},
        {"query": "x" * 100_000},
        {"query": "q", "top_k": 0},
        {"query": "q", "top_k": 10**9},
        {"query": "q", "token_budget": 0},
        {"query": "q", "tenant": ""},
        {"query": "q", "tenant": "a.b.>"},
        {"query": "q", "tenant": "acme' OR '1'='1"},
        {"query": "q", "ranking_profile": "../../etc/passwd"},
        {"query": "q", "filter": {"types": ["no such type"]}},
        {"query": "q", "now": {"seconds": 2**60}},
        {"query": "q", "mode": 99},
    ],
)
def test_a_broken_limit_is_an_invalid_argument(answering: Any, fields: dict[str, Any]) -> None:
    """Refused with the field, before any search."""
    service, _ = answering
    assert code_of(lambda: service.recall(**fields)) == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "query",
    [
        "(" * 3000,
        "[" * 3000 + "]" * 1000,
        "NOT " * 1000,
        "a" * 4096,
        "the " * 1000,
        "\x00",
        "key\x00garden",
        "\x01\x02\x1b[31m\x7f",
        "\u202egnidaer \u200b\ufeff",
        "\u200b",
        "\ud7ff\uffff\U0010ffff",
        "🍅" * 1000,
        "'; DROP TABLE memories; --",
        'text:"garden" AND tenant:globex OR (*:*)',
        "garden^1e9 ~99999999 [* TO *]",
        "..\\..//////",
        "%s%n{0}{{}}${jndi}",
        "1e309 -0 NaN inf",
    ],
)
def test_any_text_may_be_asked(answering: Any, query: str) -> None:
    """User text never reaches a query parser."""
    service, _ = answering
    reply = service.recall(query, never_skip=True)
    assert list(reply.degraded) == []
    assert all(found.memory.tenant_id == "acme" for found in reply.memories)


@pytest.mark.parametrize(
    "body", [b"\x12\x04\xff\xfe\xfd\xfc", b"\x12\x03\xed\xa0\x80", b"\xff" * 50, b"\x0a\xff"]
)
@pytest.mark.parametrize("method", ["Recall", "GetMemory"])
def test_bytes_that_are_no_message_are_an_invalid_argument(answering: Any, method: str, body: bytes) -> None:
    """Invalid UTF-8, a lone surrogate, garbage, a truncated field."""
    service, _ = answering
    assert code_of(raw_call, service, method, body) == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("memory_id", ["", "x", "' OR 1=1 --", "0" * 33, "\x00" * 32])
def test_a_malformed_memory_id_is_an_invalid_argument(answering: Any, memory_id: str) -> None:
    """It is not searched."""
    service, _ = answering
    request = recall_pb2.GetMemoryRequest(scope={"tenant_id": "acme"}, memory_id=memory_id)
    assert code_of(service.stub().GetMemory, request, timeout=5) == grpc.StatusCode.INVALID_ARGUMENT


def test_user_ids_with_quotes_are_values(answering: Any) -> None:
    """A value of a caller never becomes part of a filter expression."""
    service, ids = answering
    reply = service.recall("spare garage key", user="ann') OR ('1'='1", top_k=200)
    found = {memory.memory.memory_id for memory in reply.memories}
    assert found.isdisjoint({ids["ann private"], ids["bob private"]})


def test_an_oversized_message_is_refused(answering: Any) -> None:
    """Messages above 256 KiB do not reach a handler."""
    service, _ = answering
    body = recall_pb2.RecallRequest(query="x" * 300_000).SerializeToString()
    assert code_of(raw_call, service, "Recall", body) == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_oversized_metadata_is_refused(answering: Any) -> None:
    """Metadata above 8 KiB does not reach a handler; below, it is no reason to refuse."""
    service, _ = answering
    request = recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query="garden")
    large, small = ((("x-note", "x" * size),) for size in (16_000, 4_000))
    code = code_of(service.stub().Recall, request, timeout=10, metadata=large)
    assert code in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE)
    assert service.stub().Recall(request, timeout=10, metadata=small).memories


def test_the_callers_deadline_is_kept(answering: Any) -> None:
    """A call without time left ends in DEADLINE_EXCEEDED, and the next one is answered."""
    service, _ = answering
    request = recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query="garden")
    code = code_of(service.stub().Recall, request, timeout=0.0001)
    assert code == grpc.StatusCode.DEADLINE_EXCEEDED
    assert service.recall("garden").memories


def test_reflection_lists_the_services(answering: Any) -> None:
    """Tools can find the API without the proto file."""
    service, _ = answering
    stub = reflection_pb2_grpc.ServerReflectionStub(service.channel())
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    answer = next(iter(stub.ServerReflectionInfo(iter([request]), timeout=5)))
    names = {entry.name for entry in answer.list_services_response.service}
    assert {"helix.recall.v1.RecallService", "grpc.health.v1.Health"} <= names


def test_the_log_never_quotes_a_query(answering: Any) -> None:
    """It has only ids, sizes and error classes."""
    service, _ = answering
    service.recall("zebrafish-secret-word", never_skip=True)
    assert "zebrafish" not in service.log.read_text()
