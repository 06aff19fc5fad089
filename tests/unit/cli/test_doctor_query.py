"""What the doctor says of the generation that the query service has."""

from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from helix_cli.doctor import server_checks
from helix_cli.doctor.generation_checks import Generations
from helix_cli.doctor.server_checks import log_checks, query_checks
from helix_cli.home.addresses import Server
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc


class Status(recall_pb2_grpc.RecallServiceServicer):
    """Serves generation 7, and from call `opened` on generation 8."""

    def __init__(self) -> None:
        self.calls, self.opened, self.address = 0, 0, ""
        self.shards: dict[int, int] = {}

    def GetStatus(  # noqa: N802  gRPC's name
        self, _request: recall_pb2.GetStatusRequest, _context: grpc.ServicerContext
    ) -> recall_pb2.GetStatusResponse:
        """Reply."""
        self.calls += 1
        shards = [recall_pb2.ShardStatus(shard=one, generation=at) for one, at in self.shards.items()]
        return recall_pb2.GetStatusResponse(generation=8 if self.calls >= self.opened else 7, shards=shards)


@pytest.fixture
def status() -> Iterator[Status]:
    """A service that runs."""
    served, server = Status(), grpc.server(futures.ThreadPoolExecutor(4))
    recall_pb2_grpc.add_RecallServiceServicer_to_server(served, server)
    served.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield served
    server.stop(None)


def test_a_generation_that_is_being_opened_is_waited_for(status: Status) -> None:
    """A new one is published every second or two."""
    status.opened = 3
    found = query_checks(Server(status.address), Generations(current=8), 0)
    assert (found.level, found.found) == ("ok", "serves generation 8")


def test_one_that_is_not_opened_is_a_warning(status: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    """With both numbers."""
    monkeypatch.setattr(server_checks, "OPENING_SECONDS", 0.3)
    status.opened = 1_000_000
    found = query_checks(Server(status.address), Generations(current=8), 0)
    assert (found.level, found.found) == ("warning", "serves generation 7, CURRENT names 8")


def test_one_of_several_shards_is_compared_with_its_own_generation(
    status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process serves both: its status is that of the shard that is behind in the log, here the first."""
    monkeypatch.setattr(server_checks, "OPENING_SECONDS", 0.3)
    status.shards = {0: 8, 1: 3}
    server = Server(status.address)
    assert query_checks(server, Generations(current=3), 1).level == "ok"
    found = query_checks(server, Generations(current=4), 1)
    assert (found.level, found.found) == ("warning", "serves generation 3, CURRENT names 4")


async def test_a_log_that_cannot_be_compared_hides_no_other_finding(tmp_path: Path) -> None:
    """The writer may retire the generation meanwhile, and NATS may be away for a moment."""
    stores: Any = SimpleNamespace(manifest=SimpleNamespace(generation=3))
    client: Any = None
    [found] = [one async for one in log_checks(client, tmp_path, Generations(stores=stores))]
    assert (found.level, "generation 3 was retired" in found.found) == ("warning", True)
