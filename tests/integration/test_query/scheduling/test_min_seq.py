"""`min_seq`: a recall waits for its own write."""

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from prometheus_client import REGISTRY

from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.polling import poll
from helix_memory.transport.recall_client import RecallClient

pytestmark = pytest.mark.integration

NEVER = 2**64 - 1


def marker(number: int) -> dict[str, Any]:
    """A memory that names the generation it was written for."""
    return {"name": "marker", "text": f"The release marker is number {number}."}


def ids_of(reply: Any) -> list[str]:
    """Ids of a reply, best first."""
    return [found.memory.memory_id for found in reply.memories]


def test_a_recall_waits_for_its_own_write(corpus: Any, start: Any) -> None:
    """Answered by the first generation with the event; the reply shows the wait."""
    corpus.add([marker(1)])
    corpus.publish()
    service = start(corpus.root)
    service.wait_for(lambda at: at.status().generation == 1)
    replies: list[Any] = []
    asking = threading.Thread(target=lambda: replies.append(service.recall("release marker", min_seq=20)))
    asking.start()
    time.sleep(0.5)
    assert not replies
    corpus.add([marker(2)])
    corpus.publish()
    asking.join(timeout=60)
    reply = replies[0]
    assert (reply.generation, reply.applied_sequence, reply.wanted_sequence, reply.stale) == (
        2,
        20,
        20,
        False,
    )
    assert reply.memories[0].memory.text == "The release marker is number 2."
    assert reply.stages[0].stage == "wait"
    assert reply.stages[0].milliseconds >= 400
    assert reply.total_milliseconds >= reply.stages[0].milliseconds


def test_a_sequence_that_is_there_is_not_waited_for(answering: Any) -> None:
    """The generation has sequence 10, so there is no wait and nothing is stale."""
    service, _ = answering
    reply = service.recall("garden", min_seq=10)
    assert (reply.stale, reply.wanted_sequence, reply.applied_sequence) == (False, 10, 10)
    assert "wait" not in [stage.stage for stage in reply.stages]


def test_why_not_waits_and_says_that_it_is_stale(answering: Any) -> None:
    """As a recall does; before, it answered at once from what was there."""
    service, ids = answering
    for sequence, is_stale in ((10, False), (NEVER, True)):
        request = recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query="garden", min_seq=sequence)
        asked = recall_pb2.WhyNotRequest(recall=request, memory_id=next(iter(ids.values())))
        for _ in poll(60):
            with contextlib.suppress(grpc.RpcError):  # a busy machine may need longer than the deadline
                assert service.stub().WhyNot(asked, timeout=10).stale == is_stale
                break
        else:
            pytest.fail("no reply")


def test_packing_waits_and_says_that_it_is_stale(answering: Any) -> None:
    """As a recall does."""
    service, ids = answering
    for sequence, is_stale in ((10, False), (NEVER, True)):
        request = recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query="garden", min_seq=sequence)
        asked = recall_pb2.PackRequest(
            recall=request, memory_ids=[ids["Caroline planted tomatoes in the garden."]]
        )
        reply = service.stub().Pack(asked, timeout=2)
        assert (reply.stale, len(reply.context.memory_ids)) == (is_stale, 1)


def test_a_sequence_that_never_comes_is_answered_stale_before_the_deadline(answering: Any) -> None:
    """From the current generation, with both sequences; the earlier of both deadlines counts."""
    service, ids = answering
    began = time.monotonic()
    request = recall_pb2.RecallRequest(
        scope={"tenant_id": "acme"}, query="What did Caroline plant?", min_seq=NEVER
    )
    reply = service.stub().Recall(request, timeout=4)
    assert 0.5 < time.monotonic() - began < 4
    assert (reply.stale, reply.wanted_sequence, reply.applied_sequence) == (True, NEVER, 10)
    assert ids_of(reply)[0] == ids["Caroline planted tomatoes in the garden."]


def test_waiting_recalls_do_not_delay_others(corpus: Any, start: Any) -> None:
    """With one worker and both places reserved by waiting recalls, others are answered at once."""
    corpus.add([marker(1)])
    corpus.publish()
    service = start(
        corpus.root,
        HELIX_QUERY_IN_FLIGHT="2",
        HELIX_QUERY_THREADS="1",
        HELIX_QUERY_DEADLINE_SECONDS="8",
        HELIX_QUERY_CHANNEL_DEADLINE_SECONDS="1.5",
    )
    service.wait_for(lambda at: at.status().generation == 1)
    service.recall("release marker")
    outcomes: list[str] = []

    def wait() -> None:
        try:
            outcomes.append("stale" if service.recall("release marker", min_seq=NEVER).stale else "fresh")
        except grpc.RpcError as error:
            outcomes.append(error.code().name)

    waiting = [threading.Thread(target=wait) for _ in range(3)]
    for thread in waiting:
        thread.start()
    # the third found no reserved place and was refused at once
    until(lambda: bool(outcomes))
    assert not service.recall("release marker").stale
    assert outcomes == ["RESOURCE_EXHAUSTED"], "the others still wait"
    for thread in waiting:
        thread.join()
    assert sorted(outcomes) == ["RESOURCE_EXHAUSTED", "stale", "stale"]


def test_a_cancelled_waiting_call_frees_its_place(corpus: Any, start: Any) -> None:
    """Cancelled calls free their reserved places."""
    corpus.add([marker(1)])
    corpus.publish()
    service = start(corpus.root, HELIX_QUERY_IN_FLIGHT="1")
    service.wait_for(lambda at: at.status().generation == 1)
    request = recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query="marker", min_seq=NEVER)
    for _ in range(3):
        call = service.stub().Recall.future(request, timeout=5)
        time.sleep(0.3)
        call.cancel()
        time.sleep(0.2)
    assert service.stub().Recall(request, timeout=4).stale


def test_the_first_generation_is_waited_for_too(corpus: Any, start: Any) -> None:
    """A recall with `min_seq` may wait before any generation exists."""
    service = start(corpus.root, HELIX_QUERY_DEADLINE_SECONDS="60")
    service.wait_for(lambda at: at.status().generation == 0)
    replies: list[Any] = []
    request = recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query="release marker", min_seq=1)
    stub = service.stub()
    asking = threading.Thread(target=lambda: replies.append(stub.Recall(request, timeout=60)))
    asking.start()
    corpus.add([marker(1)])
    corpus.publish()
    asking.join(timeout=60)
    assert (replies[0].generation, replies[0].stale) == (1, False)


def late_lists() -> float:
    """How many lists of memories of this process passed the deadline of the service."""
    labels = {"rpc": "ListMemories", "code": "DEADLINE_EXCEEDED"}
    return REGISTRY.get_sample_value("helix_rpc_seconds_count", labels) or 0.0


def test_a_write_is_waited_for_past_the_deadline_of_a_busy_service(
    corpus: Any, in_process: Any, release: threading.Event
) -> None:
    """The only thread is taken, so the service answers late; the client asks again while it has time."""
    corpus.add([marker(1)])
    corpus.publish()
    service = in_process(corpus.root, threads=1, deadline_seconds=0.5, stuck_seconds=60)
    request = recall_pb2.ListMemoriesRequest(scope={"tenant_id": "acme"}, min_seq=20)
    before = late_lists()
    service.occupy(release)
    with RecallClient(service.address, call_seconds=60) as client, ThreadPoolExecutor(1) as thread:
        asked = thread.submit(client.memories, request)
        until(lambda: late_lists() > before)
        corpus.add([marker(2)])
        corpus.publish()
        assert service.current.refresh()
        release.set()
        reply = asked.result(60)
    assert [one.text for one in reply.memories] == ["The release marker is number 2."]
    assert not reply.stale


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    for _ in poll(60):
        if condition():
            return
    pytest.fail("it did not happen in time")
