"""A client finds a tenant that is moved while it asks; the services are gRPC servers of this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from helix_memory.errors import PermanentError, TemporaryError
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.sharding import SHARD_KEY
from helix_memory.transport import shard_routing
from helix_memory.transport.recall_client import RecallClient


class Service(recall_pb2_grpc.RecallServiceServicer):
    """The query service of one shard, which says that another one has the tenant until it has it itself."""

    def __init__(self, other: int) -> None:
        self.other = other
        self.has_it = threading.Event()
        self.calls = 0

    def Recall(self, _request: Any, context: Any) -> Any:  # noqa: N802  as the stub names it
        """Refuse, or answer."""
        self._refuse(context)
        return recall_pb2.RecallResponse(generation=1 - self.other)

    def GetStatus(self, _request: Any, context: Any) -> Any:  # noqa: N802  as the stub names it
        """Refuse, or answer."""
        self._refuse(context)
        return recall_pb2.GetStatusResponse(applied_sequence=7)

    def _refuse(self, context: Any) -> None:
        self.calls += 1
        if not self.has_it.is_set():
            context.set_trailing_metadata(((SHARD_KEY, str(self.other)),))
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "acme lies in another shard")


@contextmanager
def _serving(service: Service) -> Iterator[str]:
    server = grpc.server(futures.ThreadPoolExecutor(2))
    recall_pb2_grpc.add_RecallServiceServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


@pytest.fixture
def services() -> Iterator[tuple[Service, Service, RecallClient]]:
    """Two services that name each other, and a client of both."""
    first, second = Service(1), Service(0)
    with (
        _serving(first) as one,
        _serving(second) as two,
        RecallClient(f"{one},{two}", call_seconds=3.0) as client,
    ):
        yield first, second, client


REQUEST = recall_pb2.RecallRequest(scope=recall_pb2.Scope(tenant_id="acme"), query="key")


@pytest.mark.parametrize("shard", [0, 1])
def test_a_recall_waits_while_both_shards_name_the_other(
    services: tuple[Service, Service, RecallClient], shard: int
) -> None:
    """The new shard serves the generation of after the move a moment later than the old one."""
    *both, client = services
    timer = threading.Timer(0.4, both[shard].has_it.set)
    timer.start()
    began = time.monotonic()
    assert client.recall(REQUEST).generation == shard
    assert time.monotonic() - began >= 0.3
    # it waits between calls, and remembers where the tenant is
    assert sum(one.calls for one in both) < 20
    calls = both[1 - shard].calls
    assert client.recall(REQUEST).generation == shard
    assert both[1 - shard].calls == calls


def test_a_recall_ends_with_its_time(services: tuple[Service, Service, RecallClient]) -> None:
    """Two services that disagree for ever do not keep a caller for ever."""
    *_, client = services
    began = time.monotonic()
    with pytest.raises(PermanentError, match="lies in another shard"):
        client.recall(REQUEST)
    assert 1.0 < time.monotonic() - began < 6.0


def test_a_wait_for_an_event_outlasts_the_time_of_a_call(
    services: tuple[Service, Service, RecallClient],
) -> None:
    """On a busy machine the new shard serves later than one call may take; the caller gave more time."""
    *both, client = services
    timer = threading.Timer(4.5, both[1].has_it.set)
    timer.start()
    assert client.wait_until_applied(7, wait_seconds=60.0, tenant_id="acme").applied_sequence == 7
    both[1].has_it.clear()
    with pytest.raises(TemporaryError, match="lies in another shard"):
        client.wait_until_applied(7, wait_seconds=0.5, tenant_id="acme")


def test_without_the_wait_a_moved_tenant_is_not_found(
    services: tuple[Service, Service, RecallClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: a client that gives up at the second refusal fails."""
    *both, client = services
    monkeypatch.setattr(shard_routing, "FIRST_WAIT_SECONDS", 60.0)
    threading.Timer(0.4, both[1].has_it.set).start()
    with pytest.raises(PermanentError, match="lies in another shard"):
        client.recall(REQUEST)


def test_the_status_of_a_tenant_that_no_shard_has_now_is_a_refusal(
    services: tuple[Service, Service, RecallClient],
) -> None:
    """A credential of one tenant asks for the status of all shards, and each names the other."""
    *_, client = services
    with pytest.raises(PermanentError, match="lies in another shard"):
        client.status()
