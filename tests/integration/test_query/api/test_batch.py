"""BatchRecall: the answers of single calls, errors at their positions, one generation."""

import time
from typing import Any

import grpc
import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from helix_shared.errors import InvalidInputError

NOW = {"seconds": 1_772_625_600}
QUERIES = (
    "What did Caroline plant?",
    "which port does the staging server listen on",
    "why did we choose Postgres",
    "Who is the mother of the director of film Polish Summer?",
)
SCOPE = recall_pb2.Scope(tenant_id="acme")


def requests_of(*queries: str, **fields: Any) -> list[recall_pb2.RecallRequest]:
    """Requests without a scope."""
    return [recall_pb2.RecallRequest(query=query, now=NOW, **fields) for query in queries]


def ask(service: Any, requests: Any, *, timeout: float = 10) -> recall_pb2.BatchRecallResponse:
    """Send a batch of tenant acme."""
    batch = recall_pb2.BatchRecallRequest(scope=SCOPE, requests=requests)
    reply: recall_pb2.BatchRecallResponse = service.stub().BatchRecall(batch, timeout=timeout)
    return reply


def timeless(reply: recall_pb2.RecallResponse) -> bytes:
    """The reply without its durations."""
    bare = recall_pb2.RecallResponse()
    bare.CopyFrom(reply)
    bare.ClearField("stages")
    bare.ClearField("total_milliseconds")
    return bare.SerializeToString(deterministic=True)


def test_a_batch_gives_the_answers_of_single_calls(answering: Any) -> None:
    """Byte for byte except durations, with different options, and one query twice."""
    service, _ = answering
    requests = [
        *requests_of(*QUERIES),
        *requests_of(*QUERIES[:2], top_k=2, explain=True),
        *requests_of(QUERIES[0], mode=recall_pb2.MODE_DENSE, expand_context=2),
        *requests_of("thanks!", QUERIES[0]),
    ]
    reply = ask(service, requests)
    for request in requests:
        request.scope.CopyFrom(SCOPE)
    single = [service.stub().Recall(request, timeout=10) for request in requests]
    assert [timeless(one.response) for one in reply.results] == [timeless(one) for one in single]
    assert {one.response.generation for one in reply.results} == {reply.generation}


def test_an_invalid_request_is_an_error_result(answering: Any) -> None:
    """The others are answered at their positions; the error is that of a single call."""
    service, ids = answering
    own = recall_pb2.RecallRequest(query="q", scope=SCOPE)
    good = requests_of("What did Caroline plant?")
    reply = ask(service, [*requests_of(" "), *good, *requests_of("q", top_k=999), own, *good])
    kinds = [one.WhichOneof("outcome") for one in reply.results]
    assert kinds == ["error", "response", "error", "error", "response"]
    assert [(one.error.code, one.error.message) for one in reply.results if one.HasField("error")] == [
        (3, "query: must hold more than white space"),
        (3, "top_k: must be 1 to 200"),
        (3, "scope: must be left out: the scope of the batch applies"),
    ]
    found = reply.results[4].response.memories[0].memory.memory_id
    assert found == ids["Caroline planted tomatoes in the garden."]


@pytest.mark.parametrize("count", [0, 17])
def test_the_bounds_of_a_batch_are_named(answering: Any, count: int) -> None:
    """1 to 16 requests; nothing runs otherwise."""
    service, _ = answering
    with pytest.raises(grpc.RpcError) as caught:
        ask(service, requests_of(*["q"] * count))
    message = f"requests: must have 1 to 16 entries, not {count}"
    assert (caught.value.code().name, caught.value.details()) == ("INVALID_ARGUMENT", message)


def test_all_of_a_batch_wait_for_the_latest_event(answering: Any) -> None:
    """An event that comes too late does not fail the batch; only its request is stale."""
    service, _ = answering
    late, now = requests_of("garden", min_seq=2**40), requests_of("garden", min_seq=10)
    began = time.monotonic()
    replies = [one.response for one in ask(service, [*late, *now], timeout=6).results]
    assert 0.5 < time.monotonic() - began < 6
    assert [one.stale for one in replies] == [True, False]
    assert all(one.memories and one.stages[0].stage == "wait" for one in replies)


def test_a_batch_needs_a_place_for_each_request(corpus: Any, start: Any) -> None:
    """Five requests never fit into four places, so waiting does not help; four do; no place is lost."""
    corpus.add([{"text": "The release marker."}])
    corpus.publish()
    service = start(corpus.root, HELIX_QUERY_IN_FLIGHT="4")
    service.wait_for(lambda at: at.status().generation == 1)
    for _ in range(3):
        with pytest.raises(grpc.RpcError) as caught:
            ask(service, requests_of(*["release marker"] * 5))
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert caught.value.details().startswith("requests: must have 1 to 4 entries here (HELIX_QUERY_IN_FL")
        reply = ask(service, requests_of(*["release marker"] * 4))
        assert all(one.response.memories for one in reply.results)


def test_cancelled_batches_free_their_places(corpus: Any, start: Any) -> None:
    """Waiting requests at once, running ones when they end."""
    corpus.add([{"text": f"The release marker of step {number}."} for number in range(40)])
    corpus.publish()
    service = start(corpus.root, HELIX_QUERY_IN_FLIGHT="16", HELIX_QUERY_THREADS="1")
    service.wait_for(lambda at: at.status().generation == 1)
    batch = recall_pb2.BatchRecallRequest(scope=SCOPE, requests=requests_of(*["release marker"] * 16))
    for _ in range(5):
        call = service.stub().BatchRecall.future(batch, timeout=10)
        time.sleep(0.03)
        call.cancel()
        time.sleep(0.2)
    assert len(ask(service, batch.requests).results) == 16


def test_the_client_gives_replies_and_errors_in_order(answering: Any) -> None:
    """Errors are returned, not raised; different scopes are refused before any call."""
    service, _ = answering
    mine = [recall_pb2.RecallRequest(scope=SCOPE, query=query) for query in ("garden", " ")]
    with RecallClient(service.address) as client:
        reply, error = client.recall_many(mine)
        with pytest.raises(InvalidInputError, match="must be of one scope"):
            client.recall_many([*mine, recall_pb2.RecallRequest(query="q")])
    assert isinstance(reply, recall_pb2.RecallResponse)
    assert isinstance(error, InvalidInputError)
    assert error.field == "query"


def test_the_command_prints_answers_and_the_error_of_a_refused_query(answering: Any) -> None:
    """The exit code is that of the error."""
    service, _ = answering
    asked = ["What did Caroline plant?", "x" * 4_097, "why did we choose Postgres"]
    environment = {"HELIX_RECALL_ADDRESS": service.address, "HELIX_TENANT": "acme"}
    ended = CliRunner().invoke(app, ["recall", *asked, "--packed"], env=environment)
    assert ended.exit_code == 2
    assert "query: must have at most 4096 characters" in ended.stderr
    assert "Caroline planted tomatoes" in ended.stdout
    assert "We chose Postgres" in ended.stdout
