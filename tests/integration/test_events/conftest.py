"""One stack for the files of this folder; its services export their spans to a receiver."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc

from helix_cli.stack.stack import Stack
from helix_memory.transport.recall_client import RecallClient

from .running import Helix, Receiver


@pytest.fixture(scope="package")
def helix(tmp_path_factory: pytest.TempPathFactory, models_dir: Any) -> Iterator[Helix]:
    """The stack."""
    receiver = Receiver()
    server = grpc.server(ThreadPoolExecutor(4))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(receiver, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELIX_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
        patch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        patch.setenv("HELIX_FORWARDER_PUBLISH_INTERVAL_SECONDS", "0.2")
        home = tmp_path_factory.mktemp("home")
        with Stack(home, nats_port=0, query_port=0, models=models_dir) as stack:
            stack.wait_ready()
            with RecallClient(stack.query_address) as client:
                yield Helix(stack, client, receiver)
    server.stop(0).wait()
