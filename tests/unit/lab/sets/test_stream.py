from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest

from helix_lab.sets.stream import CRASHED, crash_after
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_shared.errors import TemporaryError


class Served(recall_pb2_grpc.RecallServiceServicer):
    """A query service at some point of the log; two statements of three were the same."""

    def __init__(self) -> None:
        self.applied = 0

    def GetStatus(self, _request: object, _context: object) -> recall_pb2.GetStatusResponse:  # noqa: N802
        """One event more at each call."""
        self.applied += 1
        return recall_pb2.GetStatusResponse(
            generation=1, applied_sequence=self.applied, memories=self.applied // 3
        )


class Killed:
    """What `crash_after` needs of a stack: the address of its query service, and whom it kills."""

    def __init__(self, query_address: str) -> None:
        self.query_address, self.services = query_address, list[str]()

    def kill(self, service: str) -> None:
        """Note it."""
        self.services.append(service)


@pytest.fixture
def stack() -> Iterator[Any]:
    """Over a `Served`."""
    server = grpc.server(futures.ThreadPoolExecutor(1))
    recall_pb2_grpc.add_RecallServiceServicer_to_server(Served(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield Killed(f"127.0.0.1:{port}")
    server.stop(None)


def test_workers_are_killed_half_way_through_the_log(stack: Any) -> None:
    """However many memories its events make."""
    crash_after(stack, 3, wait_seconds=30.0)
    assert stack.services == list(CRASHED)


def test_a_crash_that_does_not_come_is_told(stack: Any) -> None:
    """A report must not say that processes were killed where none was."""
    with pytest.raises(TemporaryError, match=r"9000 events are not recallable after 0\.1 s"):
        crash_after(stack, 9_000, wait_seconds=0.1)
    assert stack.services == []
