from collections.abc import Callable, Iterator
from concurrent import futures

import grpc
import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_memory.recall.v1 import recall_pb2_grpc

from .fake_service import FakeService


@pytest.fixture
def fake() -> FakeService:
    """What the query service answers."""
    return FakeService()


@pytest.fixture
def service(fake: FakeService) -> Iterator[FakeService]:
    """A running query service."""
    server = grpc.server(futures.ThreadPoolExecutor(2))
    recall_pb2_grpc.add_RecallServiceServicer_to_server(fake, server)
    fake.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield fake
    server.stop(None)


@pytest.fixture
def recall(service: FakeService) -> Callable[..., tuple[int, str, str]]:
    """Runs `helix recall` against the service; returns the exit code and both outputs."""

    def run(*arguments: str) -> tuple[int, str, str]:
        options = ["--tenant", "acme", "--query", service.address]
        result = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["recall", "which?", *options, *arguments])
        return result.exit_code, result.stdout, result.stderr

    return run
