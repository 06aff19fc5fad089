"""A search that hangs takes places of its own tenant for a while, and does not delay other tenants.

Stores and server are real; the search hangs in place of its call of the engine.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client import REGISTRY

from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_query.generations import warmup
from helix_query.recall.channels.dense import DenseChannel
from helix_query.recall.channels.lexical import LexicalChannel
from helix_query.recall.visibility import Visibility

pytestmark = pytest.mark.integration

QUESTION = "Which database did we choose?"
TEXT = "We chose the database Postgres."
OTHER, HANGING = {"tenant_id": "acme"}, {"tenant_id": "globex"}
CHANNEL_SECONDS = 1.0
SLACK_SECONDS = 3.0
"""Added to the tested limits for a busy machine; what hangs does so for longer."""

Hang = Callable[[Any, str], None]


@pytest.fixture
def hang(monkeypatch: pytest.MonkeyPatch, release: threading.Event) -> Hang:
    """Makes a function hang for tenant globex until `release`; its arguments must have the selection."""

    def patch(module: Any, name: str) -> None:
        real = getattr(module, name)

        def search(*args: Any, **kwargs: Any) -> Any:
            views = [getattr(one, "visibility", one) for one in args]
            selections = [getattr(one, "selection", one) for one in views]
            if "globex" in [getattr(one, "tenant_id", "") for one in selections]:
                release.wait(60)
            return real(*args, **kwargs)

        monkeypatch.setattr(module, name, search)

    return patch


@pytest.fixture
def begin(corpus: Any, in_process: Any) -> Callable[..., Any]:
    """A service of one worker with one memory for each of two tenants; both have recalled once."""

    def start(**settings: Any) -> Any:
        corpus.add([{"text": TEXT}, {"text": TEXT, "tenant_id": "globex"}])
        corpus.publish()
        given = {
            "threads": 1,
            "channel_deadline_seconds": CHANNEL_SECONDS,
            "deadline_seconds": 10,
            "stuck_seconds": 5,
        }
        service = in_process(corpus.root, **given | settings)
        for scope in (OTHER, HANGING):
            service.recall(QUESTION, scope=scope)
        return service

    return start


def calls(state: str, rpc: str = "Recall") -> float:
    """The gauge of calls in a state."""
    return REGISTRY.get_sample_value("helix_recall_calls", {"rpc": rpc, "state": state}) or 0.0


def stuck(rpc: str = "Recall") -> float:
    """The gauge of stuck threads."""
    return REGISTRY.get_sample_value("helix_recall_stuck_threads", {"rpc": rpc}) or 0.0


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Fail if the condition does not hold in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def answered(service: Any, scope: dict[str, str] = OTHER, *, within: float = SLACK_SECONDS) -> Any:
    """The reply to a recall, in time and from all channels."""
    began = time.monotonic()
    reply = service.recall(QUESTION, scope=scope)
    assert time.monotonic() - began < within
    assert [found.memory.text for found in reply.memories] == [TEXT]
    assert list(reply.degraded) == []
    return reply


def test_calls_of_other_tenants_run_between_the_replays_of_why_not(
    begin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many WhyNot calls delay another tenant by about one replay, not by whole calls."""
    service = begin(channel_deadline_seconds=10, deadline_seconds=30)
    real, asked = LexicalChannel.search, list[str]()

    def slow(*args: Any, **kwargs: Any) -> Any:
        asked.append("search")
        time.sleep(0.03)
        return real(*args, **kwargs)

    memory = service.recall(QUESTION).memories[0].memory.memory_id
    monkeypatch.setattr(LexicalChannel, "search", slow)
    found = service.recall(QUESTION, scope=HANGING).memories[0].memory.memory_id
    # nothing brings it in: no session, no such type
    request = recall_pb2.RecallRequest(scope=HANGING, query=QUESTION, token_budget=1)
    flood = [
        service.stub.WhyNot.future(recall_pb2.WhyNotRequest(recall=request, memory_id=found), timeout=60)
        for _ in range(6)
    ]
    wait_until(lambda: calls("waiting", "WhyNot") >= 4)
    before = len(asked)
    answered(service)
    # its own search, the replay that ran, and one between: behind all waiting calls there would be ten
    assert len(asked) - before <= 4
    request.scope.CopyFrom(recall_pb2.Scope(**OTHER))
    own = recall_pb2.WhyNotRequest(recall=request, memory_id=memory)
    assert service.stub.WhyNot(own, timeout=60).replays > 0
    for call in flood:
        assert call.result().replays >= 0
    assert calls("waiting", "WhyNot") == calls("running", "WhyNot") == 0


def test_a_place_is_kept_until_the_threads_have_ended(
    begin: Any, hang: Hang, release: threading.Event
) -> None:
    """The tenant of an abandoned recall waits until its search ends; other tenants do not."""
    service = begin()
    hang(DenseChannel, "search")
    for leave in ("cancel", "time out", "disconnect"):
        with grpc.insecure_channel(service.address) as channel:
            ask = recall_pb2_grpc.RecallServiceStub(channel).Recall  # type: ignore[no-untyped-call] # generated
            request = recall_pb2.RecallRequest(query=QUESTION, scope=HANGING)
            call = ask.future(request, timeout=1.0 if leave == "time out" else 10)
            wait_until(lambda: calls("running") + calls("late") == 1)
            if leave == "cancel":
                call.cancel()
            elif leave == "time out":
                assert call.exception().code() == grpc.StatusCode.DEADLINE_EXCEEDED
        wait_until(lambda: calls("late") == 1)
        with pytest.raises(grpc.RpcError) as caught:
            service.recall(QUESTION, scope=HANGING, timeout=0.1)
        assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        answered(service)
        assert calls("late") == 1
        release.set()
        wait_until(lambda: calls("late") == 0)
        answered(service, HANGING)
        release.clear()


def test_a_late_search_keeps_the_only_place(begin: Any, hang: Hang, release: threading.Event) -> None:
    """The recall was answered, but its search still runs."""
    service = begin(in_flight=1)
    hang(DenseChannel, "search")
    assert list(service.recall(QUESTION, scope=HANGING).degraded) == ["dense"]
    with pytest.raises(grpc.RpcError) as caught:
        service.recall(QUESTION, scope=HANGING)
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    release.set()
    wait_until(lambda: calls("late") == 0)
    answered(service, HANGING)


def test_a_hung_channel_is_replaced_at_once(begin: Any, hang: Hang) -> None:
    """Only its own answer lacks it; it counts as stuck after the deadline."""
    service = begin(deadline_seconds=4, stuck_seconds=0.1)
    hang(DenseChannel, "search")
    began = time.monotonic()
    assert list(service.recall(QUESTION, scope=HANGING).degraded) == ["dense"]
    assert time.monotonic() - began < CHANNEL_SECONDS + SLACK_SECONDS
    answered(service)
    assert (calls("late"), stuck()) == (1, 0)
    wait_until(lambda: stuck() == 1)
    assert calls("late") == 0
    answered(service)


def test_a_hung_call_ends_at_its_deadline_and_its_thread_is_replaced(
    begin: Any, hang: Hang, release: threading.Event
) -> None:
    """With one worker: its caller gets an error in time, others are answered after it is written off."""
    service = begin(deadline_seconds=0.5, stuck_seconds=0.1)
    memory = service.recall(QUESTION, scope=HANGING).memories[0].memory.memory_id
    question = recall_pb2.RecallRequest(query=QUESTION, scope=HANGING)
    of_batch = recall_pb2.RecallRequest(query=QUESTION)
    requests = {
        "Recall": question,
        "BatchRecall": recall_pb2.BatchRecallRequest(scope=HANGING, requests=[of_batch]),
        "GetMemory": recall_pb2.GetMemoryRequest(scope=HANGING, memory_id=memory),
        "WhyNot": recall_pb2.WhyNotRequest(recall=question, memory_id=memory),
    }
    # every call makes its own `Visibility`
    hang(Visibility, "of")
    for rpc, request in requests.items():
        began = time.monotonic()
        try:
            reply = getattr(service.stub, rpc)(request, timeout=30)
            code, message = reply.results[0].error.code, reply.results[0].error.message
        except grpc.RpcError as error:
            code, message = error.code().value[0], error.details()
        assert time.monotonic() - began < 0.5 + SLACK_SECONDS
        assert (rpc, code, message) == (rpc, 4, "deadline passed before the answer was ready")
        wait_until(lambda rpc=rpc: stuck(rpc) == 1)
        answered(service)
        release.set()
        wait_until(lambda rpc=rpc: stuck(rpc) == 0)
        release.clear()


def test_a_hung_canary_refuses_only_its_generation(
    corpus: Any, begin: Any, monkeypatch: pytest.MonkeyPatch, release: threading.Event
) -> None:
    """The generation before keeps answering, and the one after is swapped in."""
    service = begin()
    real = DenseChannel.search
    monkeypatch.setattr(warmup, "CANARY_SECONDS", 0.1)
    monkeypatch.setattr(DenseChannel, "search", lambda *_, **__: release.wait(60))
    corpus.publish()
    began = time.monotonic()
    assert not service.current.refresh()
    assert time.monotonic() - began < 20
    monkeypatch.setattr(warmup, "CANARY_SECONDS", 30)
    monkeypatch.setattr(DenseChannel, "search", real)
    assert answered(service).generation == 1
    corpus.publish()
    assert service.current.refresh()
    assert answered(service).generation == 3


HANGS = """
import threading
from helix_query import __main__
from helix_query.recall import recall
real = recall.embed
def embed(context):
    if "hang" in context.query.text:
        threading.Event().wait()
    return real(context)
recall.embed = embed
__main__.main()
"""


@pytest.mark.long
def test_more_than_eight_stuck_threads_end_the_process(corpus: Any, start: Any) -> None:
    """With nine stuck threads health is NOT_SERVING and the process exits with 1."""
    corpus.add([{"text": TEXT}])
    corpus.publish()
    service = start(
        corpus.root,
        wrapper=(sys.executable, "-c", HANGS),
        HELIX_QUERY_THREADS="8",
        HELIX_QUERY_DEADLINE_SECONDS="0.6",
        HELIX_QUERY_STUCK_SECONDS="0.1",
        HELIX_QUERY_GRACE_SECONDS="0.5",
    )
    service.wait_for(lambda at: at.health() == "SERVING")
    request = recall_pb2.RecallRequest(query="hang here", scope=OTHER)
    said: list[int] = []
    watch = health_pb2_grpc.HealthStub(service.channel()).Watch(health_pb2.HealthCheckRequest())

    def listen() -> None:
        with contextlib.suppress(grpc.RpcError):
            said.extend(answer.status for answer in watch)

    listening = threading.Thread(target=listen)
    listening.start()

    def hang_one(_: int) -> str:
        with pytest.raises(grpc.RpcError) as caught:
            service.stub().Recall(request, timeout=2)
        return str(caught.value.code().name)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(hang_one, range(8))) == {"DEADLINE_EXCEEDED"}
    service.wait_for(lambda at: at.log.read_text().count("thread_stuck") == 8)
    assert service.recall(QUESTION).memories
    hang_one(0)
    assert service.process.wait(5) == 1
    listening.join(5)
    assert said == [health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING]
    assert "too_many_stuck_threads" in service.log.read_text()
