"""`helix recall --deep` against a deep service whose events the test sets."""

import json
from collections.abc import Callable, Iterator
from concurrent import futures

import grpc
import pytest

from helix_memory.deep.v1 import deep_pb2, deep_pb2_grpc

from .fake_service import FakeService, a_reply

Recall = Callable[..., tuple[int, str, str]]


class FakeDeep(deep_pb2_grpc.DeepRecallServiceServicer):
    """Records the last request, and streams `events` or refuses."""

    def __init__(self) -> None:
        self.address = ""
        self.request = deep_pb2.DeepRecallRequest()
        self.events: list[deep_pb2.DeepRecallEvent] = []
        self.refuse: tuple[grpc.StatusCode, str] | None = None

    def DeepRecall(  # noqa: N802  gRPC's name
        self, request: deep_pb2.DeepRecallRequest, context: grpc.ServicerContext
    ) -> Iterator[deep_pb2.DeepRecallEvent]:
        """Record the request and stream."""
        self.request = request
        if self.refuse:
            context.abort(*self.refuse)
        yield from self.events


@pytest.fixture
def deep() -> Iterator[FakeDeep]:
    """A running deep service."""
    fake = FakeDeep()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    deep_pb2_grpc.add_DeepRecallServiceServicer_to_server(fake, server)
    fake.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    done = deep_pb2.StageProgress(
        stage="hyde",
        state=deep_pb2.STAGE_STATE_DONE,
        asked=["We chose\nPostgres."],
        tokens=500,
        milliseconds=1_200,
    )
    lost = deep_pb2.StageProgress(
        stage="rerank", state=deep_pb2.STAGE_STATE_LEFT_OUT, reason="no time is left", milliseconds=30
    )
    begun = deep_pb2.StageProgress(stage="hyde", state=deep_pb2.STAGE_STATE_STARTED)
    result = deep_pb2.DeepRecallResult(
        recall=a_reply(), stages=[done, lost], left_out=["rerank"], is_deep=True, model="small",
        prompt_tokens=400, completion_tokens=100, total_milliseconds=1_500,
    )  # fmt: skip
    fake.events = [deep_pb2.DeepRecallEvent(progress=one) for one in (begun, done, lost)]
    fake.events.append(deep_pb2.DeepRecallEvent(result=result))
    server.start()
    yield fake
    server.stop(None)


def test_the_table_is_followed_by_what_the_model_did(recall: Recall, deep: FakeDeep) -> None:
    """Progress is on standard error; the question goes to the deep service alone."""
    code, out, err = recall("--deep", "--deep-address", deep.address, "--deep-seconds", "7", "--top-k", "3")
    assert code == 0
    assert "[red]Postgres[/red]" in out
    assert "small, 1.5 s, 500 tokens" in out
    assert "left out    rerank: no time is left" in out
    assert "hyde done, 1.2 s, 500 tokens, We chose Postgres." in err
    assert "rerank left out, 0.0 s, no time is left" in err
    assert (deep.request.seconds, deep.request.recall.query, deep.request.recall.top_k) == (7, "which?", 3)


def test_packed_and_json_print_nothing_else(recall: Recall, deep: FakeDeep) -> None:
    """The context for a prompt; the whole result for programs."""
    options = ("--deep", "--deep-address", deep.address)
    assert recall(*options, "--packed")[1] == "[1] We chose Postgres.\n"
    result = json.loads(recall(*options, "--json")[1])
    assert (result["left_out"], result["recall"]["generation"]) == (["rerank"], "7")


def test_a_plain_result_is_said(recall: Recall, deep: FakeDeep) -> None:
    """Without a model."""
    deep.events = deep.events[-1:]
    deep.events[0].result.is_deep, deep.events[0].result.model = False, ""
    out = recall("--deep", "--deep-address", deep.address)[1]
    assert "no language model" in out
    assert "this is the plain recall" in out


@pytest.mark.parametrize(
    ("status", "details", "code", "message"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, "top_k: must be 1 to 200", 2, "top_k: must be 1 to 200"),
        (grpc.StatusCode.UNAVAILABLE, "down", 3, "no answer from the deep service at"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "8 deep recalls run", 1, "8 deep recalls run"),
    ],
)
def test_errors_have_the_exit_code_of_their_kind(
    recall: Recall, deep: FakeDeep, status: grpc.StatusCode, details: str, code: int, message: str
) -> None:
    """As those of the query service."""
    deep.refuse = (status, details)
    found, _, err = recall("--deep", "--deep-address", deep.address)
    assert (found, message in err) == (code, True), err


def test_one_question_and_a_service_are_needed(
    recall: Recall, deep: FakeDeep, service: FakeService, tmp_path: object
) -> None:
    """Several questions are refused; without a `helix up` of the home there is no address."""
    assert service.address
    code, _, err = recall("and this?", "--deep", "--deep-address", deep.address)
    assert (code, "--deep: takes one question" in err) == (2, True), err
    code, _, err = recall("--deep", "--home", str(tmp_path))
    assert (code, "nothing runs in this home" in err) == (3, True), err
