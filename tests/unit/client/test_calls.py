"""What the client does with a query service that is busy, slow or not there."""

import asyncio
import inspect
import time
from collections.abc import Iterator
from concurrent import futures
from functools import partial

import grpc
import pytest

from helix_memory.client import (
    AsyncHelix,
    AsyncSession,
    Helix,
    OverdueError,
    Session,
    TemporaryError,
    Written,
)
from helix_memory.errors import OverloadedError
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.sharding import SHARD_KEY
from helix_memory.transport.recall_client import RecallClient


class BusyService(recall_pb2_grpc.RecallServiceServicer):
    """Refuses the first `refusals` recalls; each takes `seconds`.

    The first `missing` recalls find no generation; with a `min_seq`, the `behind` after them are stale. Those
    in `late` pass the deadline of the service. From recall `slow_from` on each takes 3 s, and from recall
    `full_from` on there is no place. The first `loading` recalls find their shard being loaded.
    """

    def __init__(self) -> None:
        self.port = 0
        self.refusals = 0
        self.missing = 0
        self.loading = 0
        self.late = range(0)
        self.behind = 0
        self.slow_from = 1000
        self.full_from = 1000
        self.seconds = 0.0
        self.calls = 0

    def Recall(  # noqa: N802  gRPC's name
        self, request: recall_pb2.RecallRequest, context: grpc.ServicerContext
    ) -> recall_pb2.RecallResponse:
        """Refuse or reply."""
        self.calls += 1
        time.sleep(3.0 if self.calls >= self.slow_from else self.seconds)
        if self.calls <= self.refusals or self.calls >= self.full_from:
            context.set_trailing_metadata((("grpc-retry-pushback-ms", "1"),))
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no place")
        if self.calls <= self.missing:
            context.abort(grpc.StatusCode.UNAVAILABLE, "no generation yet")
        if self.calls <= self.loading:
            context.set_trailing_metadata(((SHARD_KEY, "1"),))
            context.abort(grpc.StatusCode.UNAVAILABLE, "shard 1 is being loaded; ask again")
        if self.calls in self.late:
            context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "deadline passed before the answer was ready")
        is_stale = bool(request.min_seq) and self.calls <= self.missing + self.behind
        reply = recall_pb2.RecallResponse(stale=is_stale)
        reply.context.text = request.query
        return reply

    def WhyNot(  # noqa: N802  gRPC's name
        self, request: recall_pb2.WhyNotRequest, context: grpc.ServicerContext
    ) -> recall_pb2.WhyNotResponse:
        """As a recall."""
        return recall_pb2.WhyNotResponse(stale=self.Recall(request.recall, context).stale)


@pytest.fixture
def service() -> Iterator[BusyService]:
    """A service that runs."""
    busy, server = BusyService(), grpc.server(futures.ThreadPoolExecutor(40))
    recall_pb2_grpc.add_RecallServiceServicer_to_server(busy, server)
    busy.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield busy
    server.stop(None)


def test_a_recall_is_tried_again_while_the_service_is_full(service: BusyService) -> None:
    """The service says after how long."""
    service.refusals = 2
    with Helix(query_port=service.port) as helix:
        assert helix.recall("which?").context == "which?"
    assert service.calls == 3


def test_a_service_that_stays_full_is_an_error(service: BusyService) -> None:
    """Five attempts."""
    service.refusals = 100
    with Helix(query_port=service.port) as helix, pytest.raises(OverloadedError, match="no place"):
        helix.recall("which?")
    assert service.calls == 5


def test_a_shard_that_is_being_loaded_is_waited_for(service: BusyService) -> None:
    """By a connection that repeats no call, as those of commands; another failure ends it at once."""
    service.loading = 3
    request = recall_pb2.RecallRequest(query="which?")
    with RecallClient(f"127.0.0.1:{service.port}") as client:
        assert client.recall(request).context.text == "which?"
        assert service.calls == 4
        service.calls, service.loading, service.missing = 0, 0, 1
        with pytest.raises(TemporaryError, match="no generation yet"):
            client.recall(request)
        assert service.calls == 1


def test_a_shard_that_loads_for_longer_than_the_call_is_an_error(service: BusyService) -> None:
    """It says what the caller would have waited for."""
    service.loading = 1000
    with (
        RecallClient(f"127.0.0.1:{service.port}") as client,
        pytest.raises(TemporaryError, match="shard 1 is being loaded"),
    ):
        client.recall(recall_pb2.RecallRequest(query="which?"), seconds=1.0)
    assert service.calls > 1


def test_a_recall_ends_at_its_deadline(service: BusyService) -> None:
    """The deadline of the call comes before that of the client."""
    service.seconds = 1.0
    with Helix(query_port=service.port) as helix, pytest.raises(OverdueError) as late:
        helix.recall("which?", deadline_seconds=0.1)
    assert "helix up" not in str(late.value)


WRITTEN = Written("e", "m", sequence=7, duplicate=False)


def test_a_recall_waits_for_a_write_longer_than_the_service_does(service: BusyService) -> None:
    """Through the first seconds of a new Helix, and through answers without the write."""
    for ask in (lambda h: h.recall, lambda h: partial(h.why_not, "0" * 32)):
        service.missing, service.behind, service.calls = 7, 3, 0
        with Helix(query_port=service.port) as helix:
            assert not ask(helix)("which?", after=WRITTEN).stale
        assert service.calls == 11


def test_a_recall_waits_for_a_write_past_the_deadline_of_the_service(service: BusyService) -> None:
    """A busy service may not answer in what its own wait left of its deadline; the caller has more time."""
    service.late = range(1, 4)
    with Helix(query_port=service.port, deadline_seconds=60.0) as helix:
        assert not helix.recall("which?", after=WRITTEN).stale
        assert service.calls == 4
        service.calls = 0
        with pytest.raises(OverdueError, match="before the answer was ready"):
            helix.recall("which?")
    assert service.calls == 1, "a recall that waits for nothing is not asked again"


def test_a_late_answer_after_a_stale_one_is_asked_for_again(service: BusyService) -> None:
    """While the caller has time, an answer without the write does not end its wait."""
    service.behind, service.late = 1, range(2, 4)
    with Helix(query_port=service.port, deadline_seconds=60.0) as helix:
        assert not helix.recall("which?", after=WRITTEN).stale
    assert service.calls == 4


def test_a_recall_without_a_write_does_not_wait(service: BusyService) -> None:
    """There are the five attempts of gRPC."""
    service.missing = 100
    with Helix(query_port=service.port) as helix, pytest.raises(TemporaryError, match="no generation yet"):
        helix.recall("which?")
    assert service.calls == 5


def test_a_write_that_does_not_come_ends_at_the_deadline(service: BusyService) -> None:
    """With the last answer, which is marked; also if the service stops answering meanwhile."""
    service.seconds, service.behind = 0.1, 1000
    with Helix(query_port=service.port, deadline_seconds=2.0) as helix:
        assert helix.recall("which?", after=WRITTEN).stale
        # each takes at least .1 s, on a slow machine much longer
        assert 2 <= service.calls <= 20
        service.calls, service.slow_from = 0, 2
        assert helix.recall("which?", after=WRITTEN).stale
        service.calls, service.slow_from, service.full_from = 0, 1000, 2
        assert helix.recall("which?", after=WRITTEN).stale, "the service has no more places"


def test_an_address_where_nothing_listens_is_an_error() -> None:
    """Reads and writes name it."""
    with Helix(nats_port=1, query_port=1, deadline_seconds=2.0) as helix:
        with pytest.raises(TemporaryError, match=r"127\.0\.0\.1:1"):
            helix.recall("which?")
        with pytest.raises(TemporaryError, match=r"nats://127\.0\.0\.1:1"):
            helix.remember("x")


async def test_an_asyncio_program_recalls_many_at_once(service: BusyService) -> None:
    """The event loop is free meanwhile."""
    service.seconds = 1.0
    async with AsyncHelix(query_port=service.port) as helix:
        started = time.monotonic()
        found = await asyncio.gather(*(helix.recall(f"which {n}?") for n in range(20)))
        assert time.monotonic() - started < 10.0
    assert [one.context for one in found] == [f"which {n}?" for n in range(20)]


async def test_a_cancelled_recall_returns_at_once(service: BusyService) -> None:
    """Its thread ends by itself."""
    service.seconds = 3.0
    async with AsyncHelix(query_port=service.port) as helix:
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(helix.recall("which?"), 0.05)
        assert time.monotonic() - started < service.seconds - 0.5


@pytest.mark.parametrize(("plain", "awaited"), [(Helix, AsyncHelix), (Session, AsyncSession)])
def test_both_clients_have_the_same_methods(plain: type, awaited: type) -> None:
    """With the same arguments and words of help."""
    names = {name for name, _ in inspect.getmembers(plain, inspect.isfunction) if not name.startswith("_")}
    for name in names - {"session", "close", "acting_as"}:
        method = getattr(awaited, name)
        assert inspect.iscoroutinefunction(method), name
        assert inspect.signature(method) == inspect.signature(getattr(plain, name))
        assert method.__doc__ == getattr(plain, name).__doc__
