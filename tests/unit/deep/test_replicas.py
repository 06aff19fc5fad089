"""Deep's calls over several replicas of a shard; the services are gRPC servers of this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any, Final

import grpc
import pytest

from helix_deep.fast.query_service import QueryService
from helix_memory.errors import InvalidInputError, TemporaryError
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.sharding import rendezvous_order
from helix_shared.rpc.guard import PUSHBACK
from tests.unit.replica_calls import hedging, tenant_at

SECONDS: Final = 15.0

Replicas = tuple[list["Replica"], QueryService]


class Replica(recall_pb2_grpc.RecallServiceServicer):
    """A replica that answers with its number, once it is let; the first `full` calls find no place."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.server = grpc.aio.server()
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.was_cancelled = asyncio.Event()
        self.status: grpc.StatusCode | None = None
        self.full = 0
        self.tenants: list[str] = []

    async def BatchRecall(self, request: Any, context: Any) -> Any:  # noqa: N802  as the stub names it
        """Refuse, or answer; a call that is given up ends."""
        self.tenants.append(request.scope.tenant_id)
        if len(self.tenants) <= self.full:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "full; back off", ((PUSHBACK, "20"),))
        if self.status:
            await context.abort(self.status, "so the test wants it")
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.was_cancelled.set()
            raise
        answer = recall_pb2.RecallResponse(generation=self.number)
        return recall_pb2.BatchRecallResponse(
            results=[recall_pb2.RecallResult(response=answer) for _ in request.requests]
        )


@pytest.fixture
def hedge_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the seconds after which a second replica is asked."""
    return hedging(monkeypatch)


@pytest.fixture
async def services(
    hedge_after: object,  # noqa: ARG001  every test begins with it
) -> AsyncIterator[Replicas]:
    """Two replicas, and the client of both."""
    two = [Replica(0), Replica(1)]
    async with AsyncExitStack() as running:
        ports = []
        for one in two:
            recall_pb2_grpc.add_RecallServiceServicer_to_server(one, one.server)
            ports.append(one.server.add_insecure_port("127.0.0.1:0"))
            await one.server.start()
            running.push_async_callback(one.server.stop, None)
        query = QueryService("|".join(f"127.0.0.1:{port}" for port in ports), seconds=SECONDS)
        running.push_async_callback(query.close)
        yield two, query


async def answered(query: QueryService, tenant: str, *, seconds: float = SECONDS, **fields: Any) -> int:
    """Number of the replica that answered a batch of one request."""
    scope = recall_pb2.Scope(tenant_id=tenant)
    until = time.monotonic() + seconds
    [found] = await query.recalls(scope, [recall_pb2.RecallRequest(query="key", **fields)], (), until=until)
    assert isinstance(found, recall_pb2.RecallResponse)
    return found.generation


async def test_tenants_are_spread_and_each_stays_at_one_replica(services: Replicas) -> None:
    """As for every client: the pages of a tenant are in the memory of one replica."""
    two, query = services
    names = [str(number) for number in range(20)]
    found = {name: {await answered(query, name) for _ in range(2)} for name in names}
    assert found == {name: {rendezvous_order(name, 2)[0]} for name in names}
    assert all(one.tenants for one in two)


@pytest.mark.parametrize("away", [0, 1])
async def test_the_other_replica_answers_where_one_is_away(services: Replicas, away: int) -> None:
    """Where both are, the call fails."""
    two, query = services
    await two[away].server.stop(None)
    assert [await answered(query, tenant_at(away)) for _ in range(3)] == [1 - away] * 3
    assert not two[away].tenants
    await two[1 - away].server.stop(None)
    with pytest.raises(TemporaryError):
        await answered(query, tenant_at(away))


async def test_the_other_replica_answers_for_a_slow_one_whose_call_is_cancelled(
    services: Replicas, hedge_after: Callable[[float], None]
) -> None:
    """One slow replica does not make its tenants slow."""
    two, query = services
    hedge_after(0.05)
    two[0].may_answer.clear()
    assert await answered(query, tenant_at(0)) == 1
    await asyncio.wait_for(two[0].was_cancelled.wait(), 10)


async def test_a_caller_that_goes_away_ends_the_call(services: Replicas) -> None:
    """No replica works for it any more."""
    two, query = services
    two[0].may_answer.clear()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(answered(query, tenant_at(0)), 0.5)
    await asyncio.wait_for(two[0].was_cancelled.wait(), 10)


async def test_another_replica_is_asked_where_one_is_full_and_all_again_where_all_are(
    services: Replicas,
) -> None:
    """After the time that they say."""
    two, query = services
    two[0].full = 1
    assert await answered(query, tenant_at(0)) == 1
    two[0].full, two[1].full = 3, 4
    assert await answered(query, tenant_at(0)) == 0
    assert [len(one.tenants) for one in two] == [4, 3]


async def test_a_refused_request_is_not_sent_to_another_replica(services: Replicas) -> None:
    """What one replica refuses for its content, the other one does, too."""
    two, query = services
    two[0].status = grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(InvalidInputError):
        await answered(query, tenant_at(0))
    assert not two[1].tenants


async def test_a_batch_that_waits_for_an_event_is_sent_once(
    services: Replicas, hedge_after: Callable[[float], None]
) -> None:
    """It is not slow: its generation is not there yet."""
    two, query = services
    hedge_after(0.05)
    two[0].may_answer.clear()
    asyncio.get_running_loop().call_later(0.3, two[0].may_answer.set)
    assert await answered(query, tenant_at(0), min_seq=7) == 0
    assert not two[1].tenants
