"""The query service under test: as a process of its own, or inside the test process."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_query.api.service import SERVICE_NAME, RecallHandlers
from helix_query.generations.current import CurrentGeneration
from helix_query.generations.shards.only import OnlyShard
from helix_query.profile.cross_encoders import load_cross_encoders
from helix_query.profile.files import load_profiles
from helix_query.settings import QuerySettings
from helix_shared.rpc.server import GrpcServer
from tests import preloaded

from .corpus import NOW

Process = subprocess.Popen[bytes] | preloaded.Started


@dataclass(frozen=True)
class Service:
    """A query service that runs as a process."""

    process: Process
    address: str
    log: Path

    def channel(self) -> grpc.Channel:
        """A new gRPC channel."""
        return grpc.insecure_channel(self.address)

    def stub(self) -> Any:
        """A new client."""
        return recall_pb2_grpc.RecallServiceStub(self.channel())  # type: ignore[no-untyped-call] # generated

    def recall(self, query: str, *, tenant: str = "acme", user: str = "", **fields: Any) -> Any:
        """Recall; by default at `NOW` and without a user."""
        scope = {"tenant_id": tenant, "user_id": user, "principals": fields.pop("principals", ())}
        fields.setdefault("now", NOW)
        return self.stub().Recall(recall_pb2.RecallRequest(scope=scope, query=query, **fields), timeout=30)

    def health(self) -> str:
        """Answer of the health service."""
        stub = health_pb2_grpc.HealthStub(self.channel())
        answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=30)
        return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)

    def status(self) -> Any:
        """Reply to GetStatus."""
        return self.stub().GetStatus(recall_pb2.GetStatusRequest(), timeout=30)

    def wait_for(self, condition: Callable[["Service"], bool], *, seconds: float = 60) -> None:
        """Return when `condition` holds; fail if the process ends or after `seconds`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log.read_text()
            try:
                if condition(self):
                    return
            except grpc.RpcError:
                pass
            time.sleep(0.05)
        pytest.fail(f"condition not met in {seconds} seconds:\n{self.log.read_text()[-4000:]}")

    def stop(self) -> int:
        """End the process with SIGTERM; return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


LISTENING_SECONDS: Final = 120
_LISTENING: Final = re.compile(r'^\{.*"port": (?P<port>\d+).*"event": "listening"', re.MULTILINE)


def is_serving(service: Service) -> bool:
    """Whether health is SERVING."""
    return service.health() == "SERVING"


def start_service(
    root: Path, models: Path, log: Path, *, wrapper: Sequence[str] = (), **settings: str
) -> Service:
    """Start the service on a port of its own choice; `wrapper` is a command put before that of the service.

    Returns once it listens, or has ended. Without a `wrapper` it is forked (`tests.preloaded`).
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HELIX_")}
    environment |= {
        "HELIX_QUERY_DATA_DIR": str(root),
        "HELIX_QUERY_CACHE_DIR": os.environ["HELIX_QUERY_CACHE_DIR"],
        "HELIX_QUERY_MODELS_DIR": str(models),
        "HELIX_QUERY_LISTEN": "127.0.0.1:0",
        "HELIX_QUERY_POLL_SECONDS": "0.05",
        # the first query on a busy machine is slow, not stuck
        "HELIX_QUERY_CHANNEL_DEADLINE_SECONDS": "5",
        "HELIX_QUERY_DEADLINE_SECONDS": "10",
    } | settings
    process: Process
    if wrapper:
        with log.open("wb") as stream:
            command = [*wrapper, sys.executable, "-m", "helix_query"]
            process = subprocess.Popen(command, env=environment, stderr=stream)
    else:
        process = preloaded.start("helix_query", environment, log)
    return Service(process, _address(process, log), log)


def _address(process: Process, log: Path) -> str:
    """Where the service listens, from its log; nothing listens there if it has ended."""
    deadline = time.monotonic() + LISTENING_SECONDS
    while time.monotonic() < deadline:
        has_ended = process.poll() is not None
        if found := _LISTENING.search(log.read_text(errors="replace")):
            return f"127.0.0.1:{found['port']}"
        if has_ended:
            return "127.0.0.1:1"
        time.sleep(0.02)
    pytest.fail(f"it does not listen after {LISTENING_SECONDS} s:\n{log.read_text(errors='replace')[-4000:]}")


class InProcess:
    """The service inside this process, so that a test can make a search fail or hang."""

    def __init__(self, root: Path, models: Path, scratch: Path, settings: QuerySettings) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        profiles = load_profiles(settings.profiles_dir)
        self.current = CurrentGeneration(
            root,
            models,
            scratch=scratch,
            profile=profiles["helix"],
            cross_encoders=load_cross_encoders(models, profiles, recalls=settings.threads),
        )
        assert self.current.refresh()
        self.handlers = RecallHandlers(OnlyShard(self.current), profiles, settings)
        self._server, port = asyncio.run_coroutine_threadsafe(self._listen(settings), self._loop).result(10)
        self.address = f"127.0.0.1:{port}"
        self._channel = grpc.insecure_channel(self.address)
        self.stub: Any = recall_pb2_grpc.RecallServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self.health_stub = health_pb2_grpc.HealthStub(self._channel)

    def recall(self, query: str, *, timeout: float = 10, **fields: Any) -> Any:
        """Recall; by default for tenant acme without a user."""
        fields.setdefault("scope", {"tenant_id": "acme"})
        return self.stub.Recall(recall_pb2.RecallRequest(query=query, **fields), timeout=timeout)

    def occupy(self, until: threading.Event) -> None:
        """Take one thread of the calls until an event is set."""
        running = threading.Event()

        def task(_lanes: Any) -> None:
            running.set()
            until.wait(60)

        executor = self.handlers._executor
        executor.submit("other", [task], until=time.monotonic() + 60)
        assert running.wait(60)

    def close(self) -> None:
        """Stop the server and its threads."""
        self._channel.close()
        asyncio.run_coroutine_threadsafe(self._server.stop(), self._loop).result(10)
        self.handlers.close()
        self.current.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self, settings: QuerySettings) -> tuple[GrpcServer, int]:
        server = GrpcServer(
            self.handlers.generic_handler(),
            service=SERVICE_NAME,
            listen=settings.listen,
            grace_seconds=settings.grace_seconds,
        )
        return server, await server.start()
