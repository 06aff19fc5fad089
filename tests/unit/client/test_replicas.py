"""Calls over several replicas of a shard; the services are gRPC servers of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import ExitStack
from functools import partial
from typing import Any

import grpc
import pytest

from helix_memory.errors import InvalidInputError, OverloadedError, TemporaryError
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.sharding import SHARD_KEY
from helix_memory.transport import replicas
from helix_memory.transport.recall_client import RecallClient
from helix_memory.transport.shard_routing import addresses_of
from tests.unit.replica_calls import hedging, tenant_at


class Service(recall_pb2_grpc.RecallServiceServicer):
    """A replica that answers with its number, once it is let; the first `loading` calls find no shard."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.cancelled = threading.Event()
        self.pause = 0.0
        self.status: grpc.StatusCode | None = None
        self.loading = 0
        self.tenants: list[str] = []

    def Recall(self, request: Any, context: Any) -> Any:  # noqa: N802  as the stub names it
        """Refuse, or answer; a call that is given up ends."""
        self._answer(request.scope.tenant_id, context)
        return recall_pb2.RecallResponse(generation=self.number)

    def BatchRecall(self, request: Any, context: Any) -> Any:  # noqa: N802  as the stub names it
        """As a recall."""
        self._answer(request.scope.tenant_id, context)
        return recall_pb2.BatchRecallResponse(
            results=[recall_pb2.RecallResult(response=recall_pb2.RecallResponse(generation=self.number))]
        )

    def WhyNot(self, request: Any, context: Any) -> Any:  # noqa: N802  as the stub names it
        """As a recall."""
        self._answer(request.recall.scope.tenant_id, context)
        return recall_pb2.WhyNotResponse(verdict=str(self.number))

    def _answer(self, tenant: str, context: Any) -> None:
        self.tenants.append(tenant)
        if len(self.tenants) <= self.loading:
            context.set_trailing_metadata(((SHARD_KEY, "0"),))
            context.abort(grpc.StatusCode.UNAVAILABLE, "shard 0 is being loaded; ask again")
        if self.status:
            context.abort(self.status, "so the test wants it")
        while not self.may_answer.wait(0.01):
            if not context.is_active():
                self.cancelled.set()
                break
        time.sleep(self.pause)


@pytest.fixture
def hedge_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the seconds after which a second replica is asked."""
    return hedging(monkeypatch)


@pytest.fixture
def services(
    hedge_after: object,  # noqa: ARG001  every test begins with it
) -> Iterator[tuple[list[Service], list[Callable[[], None]], RecallClient]]:
    """Two replicas, what ends each, and a client of both."""
    two = [Service(0), Service(1)]
    with ExitStack() as running:
        servers = [grpc.server(futures.ThreadPoolExecutor(8)) for _ in two]
        ports = []
        for server, service in zip(servers, two, strict=True):
            recall_pb2_grpc.add_RecallServiceServicer_to_server(service, server)
            ports.append(server.add_insecure_port("127.0.0.1:0"))
            server.start()
            running.callback(_end, server)
        address = "|".join(f"127.0.0.1:{port}" for port in ports)
        client = running.enter_context(RecallClient(address, call_seconds=15.0))
        yield two, [partial(_end, server) for server in servers], client


def _end(server: grpc.Server) -> None:
    server.stop(None).wait()


def _request(tenant: str, **fields: Any) -> recall_pb2.RecallRequest:
    return recall_pb2.RecallRequest(scope=recall_pb2.Scope(tenant_id=tenant), query="key", **fields)


def test_a_tenant_is_asked_for_at_one_replica_and_tenants_are_spread(services: Any) -> None:
    """The pages of a tenant stay in the memory of one replica."""
    two, _, client = services
    found = {
        str(name): {client.recall(_request(str(name))).generation for _ in range(3)} for name in range(30)
    }
    assert all(len(replicas_of) == 1 for replicas_of in found.values())
    assert all(len(set(service.tenants)) > 5 for service in two)


@pytest.mark.parametrize("slow", [0, 1])
def test_the_other_replica_answers_for_a_slow_one_whose_call_is_cancelled(
    services: Any, hedge_after: Callable[[float], None], slow: int
) -> None:
    """One slow replica does not make its tenants slow."""
    two, _, client = services
    hedge_after(0.05)
    two[slow].may_answer.clear()
    assert client.recall(_request(tenant_at(slow))).generation == 1 - slow
    assert two[slow].cancelled.wait(10)


def test_a_replica_that_stands_still_is_asked_last(
    services: Any, hedge_after: Callable[[float], None]
) -> None:
    """Each call to it costs the wait for the other one."""
    two, _, client = services
    two[0].may_answer.clear()
    hedge_after(0.05)
    for _ in range(replicas.MOST_OVERTAKEN):
        assert client.recall(_request(tenant_at(0))).generation == 1
    hedge_after(3600.0)
    assert client.recall(_request(tenant_at(0))).generation == 1
    assert len(two[0].tenants) == replicas.MOST_OVERTAKEN


def test_the_other_replica_answers_where_one_is_away_and_is_asked_first_from_then_on(services: Any) -> None:
    """A call to a port that nobody listens on fails at once."""
    two, ends, client = services
    ends[0]()
    for _ in range(5):
        assert client.recall(_request(tenant_at(0))).generation == 1
    assert not two[0].tenants
    ends[1]()
    with pytest.raises(TemporaryError):
        client.recall(_request(tenant_at(0)))


@pytest.mark.parametrize("first", [0, 1])
def test_a_replica_that_loads_is_waited_for_where_the_other_one_is_away(services: Any, first: int) -> None:
    """Whichever is asked first: the one that is away says nothing of when to ask again."""
    two, ends, client = services
    two[0].loading = 5
    ends[1]()
    assert client.recall(_request(tenant_at(first))).generation == 0
    assert len(two[0].tenants) == 6


def test_a_full_replica_tells_more_than_one_that_is_away(services: Any) -> None:
    """The caller learns that the service is overloaded, not that it is not there."""
    two, ends, client = services
    two[1].status = grpc.StatusCode.RESOURCE_EXHAUSTED
    ends[0]()
    with pytest.raises(OverloadedError):
        client.recall(_request(tenant_at(0)))


def test_a_replica_that_let_a_call_run_out_is_asked_last(services: Any) -> None:
    """The next call of its tenant goes to the other one."""
    two, _, client = services
    two[0].may_answer.clear()
    with RecallClient(client.address, call_seconds=0.5) as hurried:
        with pytest.raises(TemporaryError):
            hurried.recall(_request(tenant_at(0)))
        assert hurried.recall(_request(tenant_at(0))).generation == 1


def test_another_replica_is_asked_where_one_is_full_and_all_again_where_all_are(services: Any) -> None:
    """With `attempts`, calls to full replicas are repeated by the client, and end with their reason."""
    two, _, client = services
    two[0].status = grpc.StatusCode.RESOURCE_EXHAUSTED
    assert client.recall(_request(tenant_at(0))).generation == 1
    two[1].status = grpc.StatusCode.RESOURCE_EXHAUSTED
    calls = sum(len(service.tenants) for service in two)
    with RecallClient(client.address, attempts=3) as patient, pytest.raises(OverloadedError):
        patient.recall(_request(tenant_at(0)))
    assert sum(len(service.tenants) for service in two) - calls == 6


def test_a_refused_request_is_not_sent_to_another_replica(services: Any) -> None:
    """What one replica refuses for its content, the other one does, too."""
    two, _, client = services
    two[0].status = grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(InvalidInputError):
        client.recall(_request(tenant_at(0)))
    assert not two[1].tenants


@pytest.mark.parametrize("call", ["recall", "recall_many", "why_not"])
def test_a_call_that_waits_for_an_event_is_sent_once(
    services: Any, hedge_after: Callable[[float], None], call: str
) -> None:
    """It is not slow: its generation is not there yet."""
    two, _, client = services
    two[0].may_answer.clear()
    hedge_after(0.05)
    threading.Timer(0.3, two[0].may_answer.set).start()
    request = _request(tenant_at(0), min_seq=7)
    if call == "recall":
        assert client.recall(request).generation == 0
    elif call == "recall_many":
        assert client.recall_many([request])[0].generation == 0
    else:
        assert client.why_not(recall_pb2.WhyNotRequest(recall=request, memory_id="0" * 32)).verdict == "0"
    assert not two[1].tenants


def test_where_all_replicas_are_slow_few_calls_are_sent_twice(
    services: Any, hedge_after: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Second calls would double the load of replicas that have too much of it."""
    two, _, client = services
    hedge_after(0.0)
    monkeypatch.setattr(replicas, "MOST_OVERTAKEN", 10_000)
    for service in two:
        service.pause = 0.005
    calls = 100
    for _ in range(calls):
        client.recall(_request("acme"))
    sent = sum(len(service.tenants) for service in two)
    assert calls < sent <= calls + replicas.MOST_CREDIT + replicas.HEDGE_SHARE * calls


def test_addresses_name_the_replicas_of_each_shard() -> None:
    """Commas are between shards, bars between replicas."""
    assert addresses_of("a:1|b:1, c:1") == (("a:1", "b:1"), ("c:1",))
    for wrong in ("", "a:1,", "a:1||b:1", "|", "|".join(["a:1"] * 17)):
        with pytest.raises(InvalidInputError, match="address"):
            addresses_of(wrong)
