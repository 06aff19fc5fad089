"""A deep service as a process, and a language model that answers as a test says."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from helix_memory.deep.v1 import deep_pb2, deep_pb2_grpc
from helix_memory.recall.v1 import recall_pb2
from helix_shared.broker.server import free_port

START_SECONDS: Final = 60.0

Lines = list[dict[str, Any]]


@dataclass(frozen=True)
class DeepService:
    """A deep service that runs as a process."""

    process: subprocess.Popen[bytes]
    address: str
    log: Path

    def events(self, query: str, *, user: str = "", **fields: Any) -> list[deep_pb2.DeepRecallEvent]:
        """All events of one deep recall of tenant acme; `fields` of both requests."""
        own = {name: fields.pop(name) for name in ("seconds", "tokens", "stages") if name in fields}
        scope = recall_pb2.Scope(tenant_id=fields.pop("tenant", "acme"), user_id=user)
        recall = recall_pb2.RecallRequest(scope=scope, query=query, **fields)
        with grpc.insecure_channel(self.address) as channel:
            stub: Any = deep_pb2_grpc.DeepRecallServiceStub(channel)  # type: ignore[no-untyped-call]
            return list(stub.DeepRecall(deep_pb2.DeepRecallRequest(recall=recall, **own), timeout=60))

    def recall(self, query: str, **fields: Any) -> deep_pb2.DeepRecallResult:
        """The result, which is the last event and the only one of its kind."""
        *progress, last = self.events(query, **fields)
        assert all(event.HasField("progress") for event in progress)
        return last.result

    def health(self) -> str:
        """Answer of the health service."""
        with grpc.insecure_channel(self.address) as channel:
            answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=5)
        return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)

    def stop(self) -> int:
        """End the process with SIGTERM; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=20)


def start_deep(query_address: str, log: Path, **settings: str) -> DeepService:
    """Start the service on a free port with `HELIX_DEEP_*` settings, and wait until it serves."""
    address = f"127.0.0.1:{free_port()}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HELIX_")}
    own = {"LISTEN": address, "QUERY_ADDRESS": query_address, "QUERY_SECONDS": "15", **settings}
    environment |= {f"HELIX_DEEP_{name}": value for name, value in own.items()}
    with log.open("wb") as stream:
        process = subprocess.Popen([sys.executable, "-m", "helix_deep"], env=environment, stderr=stream)
    service = DeepService(process, address, log)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            if service.health() == "SERVING":
                return service
        except grpc.RpcError:
            time.sleep(0.05)
    service.stop()
    pytest.fail(f"not serving after {START_SECONDS:g} seconds:\n{log.read_text()}")


def asked_list(request: dict[str, Any]) -> str:
    """Name of the list that a request asks for; it tells the stage."""
    found = re.search(r'\{"(\w+)": \[', request["messages"][0]["content"])
    assert found is not None
    return found[1]


def lines_of(request: dict[str, Any]) -> Lines:
    """The data of a request, line by line."""
    return [json.loads(line) for line in request["messages"][1]["content"].splitlines()]


def answering(
    texts: dict[str, Sequence[str]], order: Callable[[Lines], Sequence[object]]
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A model that gives these texts by the name of their list, and the order that `order` makes of notes."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        name = asked_list(request)
        if name == "kinds":
            return {"kinds": ["plain"], "complexity": "complex", "names": []}
        return {name: order(lines_of(request)[1:]) if name == "order" else texts[name]}

    return answer
