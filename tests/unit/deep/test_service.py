"""What the deep service passes on to the query service, without a language model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest

from helix_deep.api.service import DeepHandlers
from helix_deep.fast.query_service import QueryService
from helix_deep.questions.kinds import MODEL_STAGES
from helix_deep.questions.model import NOT_SENT
from helix_deep.settings import DeepSettings
from helix_memory.deep.v1 import deep_pb2, deep_pb2_grpc
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.sharding import SHARD_KEY, hashed_shard
from helix_shared.endpoint.client import Endpoint
from helix_shared.errors import InvalidInputError, TemporaryError
from helix_shared.rpc.access.static_tokens import token_digest


class Recalls(recall_pb2_grpc.RecallServiceServicer):
    """Answers batches and packs, and records the metadata of each call."""

    def __init__(self) -> None:
        self.address = ""
        self.metadata: list[dict[str, Any]] = []
        self.requests: list[Any] = []
        self.result = recall_pb2.RecallResult()

    def BatchRecall(self, request: Any, context: grpc.ServicerContext) -> recall_pb2.BatchRecallResponse:  # noqa: N802
        """The same result to each."""
        self._record(request, context)
        return recall_pb2.BatchRecallResponse(results=[self.result for _ in request.requests])

    def Pack(self, request: Any, context: grpc.ServicerContext) -> recall_pb2.PackResponse:  # noqa: N802
        """All of them, packed."""
        self._record(request, context)
        return recall_pb2.PackResponse(memory_ids=request.memory_ids)

    def _record(self, request: Any, context: grpc.ServicerContext) -> None:
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))


class OtherShard(Recalls):
    """A query service that serves another shard than `shard`, and says so."""

    shard = 0

    def _record(self, request: Any, context: grpc.ServicerContext) -> None:
        super()._record(request, context)
        context.set_trailing_metadata(((SHARD_KEY, str(self.shard)),))
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "the tenant lies elsewhere")


def listening(made: Recalls) -> Iterator[Recalls]:
    """`made` behind a socket."""
    made.result.response.memories.add().memory.memory_id = "a" * 32
    server = grpc.server(futures.ThreadPoolExecutor(2))
    recall_pb2_grpc.add_RecallServiceServicer_to_server(made, server)
    made.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield made
    server.stop(None)


@pytest.fixture
def recalls() -> Iterator[Recalls]:
    """A listening query service."""
    yield from listening(Recalls())


@pytest.fixture
def other_shard() -> Iterator[Recalls]:
    """One that does not have the tenant."""
    yield from listening(OtherShard())


class Context:
    """The part of a call's context that the handler reads."""

    def time_remaining(self) -> float | None:
        """No deadline."""
        return None

    def invocation_metadata(self) -> list[tuple[str, str]]:
        """A credential, and what is nobody else's business."""
        return [("authorization", "Bearer ann"), ("x-other", "1")]


async def ask(
    address: str, question: str = "which?", endpoint: Endpoint | None = None
) -> list[deep_pb2.DeepRecallEvent]:
    """The events of one call."""
    query = QueryService(address, seconds=5)
    handlers = DeepHandlers(DeepSettings(tenants="acme"), query, endpoint)
    scope = recall_pb2.Scope(tenant_id="acme", user_id="ann", principals=["board"])
    request = deep_pb2.DeepRecallRequest(recall=recall_pb2.RecallRequest(scope=scope, query=question))
    try:
        return [event async for event in handlers.deep_recall(request, Context())]
    finally:
        await query.close()


async def test_credential_and_scope_of_the_caller_go_to_the_query_service(recalls: Recalls) -> None:
    """In every call; other metadata does not."""
    events = await ask(recalls.address)
    assert events[-1].result.recall.memories[0].memory.memory_id == "a" * 32
    assert [type(request).__name__ for request in recalls.requests] == ["BatchRecallRequest", "PackRequest"]
    assert [one.get("authorization") for one in recalls.metadata] == ["Bearer ann"] * 2
    assert not any("x-other" in one for one in recalls.metadata)
    batch, pack = recalls.requests
    assert batch.scope == pack.recall.scope
    assert (batch.scope.user_id, list(batch.scope.principals)) == ("ann", ["board"])
    assert all(one.not_served and not one.HasField("scope") for one in batch.requests)


async def test_a_question_with_a_credential_is_not_sent_to_the_model(recalls: Recalls) -> None:
    """As memories with one are not; the plain recall answers, and says why."""
    nowhere = DeepSettings(base_url="http://127.0.0.1:9/v1", model="small")
    async with Endpoint.of(nowhere, "") as endpoint:
        *_, last = await ask(recalls.address, "where did I use the password: kiln-4711?", endpoint)
    assert last.result.recall.memories
    assert {one.reason for one in last.result.stages if one.stage in MODEL_STAGES} == {NOT_SENT}


async def test_the_query_service_of_the_shard_of_the_tenant_is_called(
    recalls: Recalls, other_shard: OtherShard
) -> None:
    """Where the tenant was moved, the one that has not got it any more says where it is; once."""
    guessed = hashed_shard("acme", 2)
    other_shard.shard = 1 - guessed
    addresses = [recalls.address, recalls.address]
    addresses[guessed] = other_shard.address
    events = await ask(",".join(addresses))
    assert events[-1].result.recall.memories[0].memory.memory_id == "a" * 32
    assert (len(other_shard.requests), len(recalls.requests)) == (1, 2)


async def test_a_refusal_of_the_query_service_is_that_of_the_call(recalls: Recalls) -> None:
    """With its field and its message."""
    recalls.result.error.code, recalls.result.error.message = 3, "top_k: must be 1 to 200"
    with pytest.raises(InvalidInputError) as refused:
        await ask(recalls.address)
    assert (refused.value.field, refused.value.reason) == ("top_k", "must be 1 to 200")


async def test_a_query_service_that_is_away_fails_the_call() -> None:
    """Nothing else does."""
    with pytest.raises(TemporaryError, match="no answer from the query service"):
        await ask("127.0.0.1:9")


async def served(address: str, tokens: Path, metadata: tuple[tuple[str, str], ...]) -> grpc.StatusCode:
    """The status of one call, without a scope, of a service that checks its callers."""
    query = QueryService(address, seconds=5)
    handlers = DeepHandlers(DeepSettings(auth="tokens", tokens_file=tokens), query, None)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((handlers.generic_handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub: Any = deep_pb2_grpc.DeepRecallServiceStub(channel)  # type: ignore[no-untyped-call] # generated
            request = deep_pb2.DeepRecallRequest(recall=recall_pb2.RecallRequest(query="which?"))
            try:
                async for _ in stub.DeepRecall(request, metadata=metadata, timeout=20):
                    pass
            except grpc.aio.AioRpcError as error:
                return error.code()
            return grpc.StatusCode.OK
    finally:
        await server.stop(None)
        await query.close()


async def test_callers_are_checked_and_their_scope_and_token_passed_on(
    recalls: Recalls, tmp_path: Path
) -> None:
    """The query service gets the scope of the credential, and checks the same token itself."""
    entry = {"id": "t", "sha256": token_digest("ann"), "tenant": "acme", "user": "ann", "roles": ["recall"]}
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps({"tokens": [entry]}))
    for metadata in ((), (("authorization", "Bearer bob"),)):
        assert await served(recalls.address, tokens, metadata) == grpc.StatusCode.UNAUTHENTICATED
    assert recalls.requests == []
    code = await served(recalls.address, tokens, (("authorization", "Bearer ann"),))
    assert code == grpc.StatusCode.OK
    scope = recalls.requests[0].scope
    assert (scope.tenant_id, scope.user_id) == ("acme", "ann")
    assert recalls.metadata[0]["authorization"] == "Bearer ann"
