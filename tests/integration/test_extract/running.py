"""A running stack with a language model on a socket, and what tests do with it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from nats.aio.client import Client
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.stack.stack import Stack
from helix_memory import subjects
from helix_memory.events import MessageEvent
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_memory.transport.recall_client import RecallClient
from helix_shared.broker import streams

from .endpoint_server import EndpointServer

PATIENCE_SECONDS: Final = 60.0
WINDOW_SECONDS: Final = 1.0
T = TypeVar("T")


@dataclass
class Helix:
    """A running stack with a language model."""

    stack: Stack
    client: RecallClient
    server: EndpointServer
    published: int = 0

    def say(self, text: str, **fields: Any) -> int:
        """Publish one turn; returns its sequence."""
        self.published += 1
        given = {"role": "user", "speaker": "Mara", "session_id": "pottery", **fields}
        event = MessageEvent(event_id=f"t{self.published}", tenant_id="acme", text=text, **given)

        async def publish(client: Client) -> int:
            return (await Publisher(client.jetstream()).publish_event(event)).sequence

        return self.on_nats(publish)

    def on_nats(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """The result of `work` with a connected client."""

        async def connected() -> T:
            client = await connect(self.stack.nats_url, name="test")
            try:
                return await work(client)
            finally:
                await client.close()

        return asyncio.run(connected())

    def recall(self, query: str) -> list[Any]:
        """What a recall finds, best first; of a turn and a statement drawn from it the statement."""
        scope = recall_pb2.Scope(tenant_id="acme")
        request = recall_pb2.RecallRequest(scope=scope, query=query, never_skip=True, top_k=20)
        return list(self.client.recall(request).memories)

    def texts(self, query: str) -> list[str]:
        """Texts of a recall, best first."""
        return [found.memory.text for found in self.recall(query)]

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until `holds`."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            log = self.stack.home.logs / "extract-1.log"
            assert time.monotonic() < deadline, f"{what}\n{log.read_text()[-3000:]}"
            time.sleep(0.2)

    def until_idle(self) -> None:
        """Wait until the worker has settled every turn and every pair."""

        async def left(client: Client) -> int:
            found = [
                await client.jetstream().consumer_info(consumer.stream, consumer.name)
                for consumer in streams.ENDPOINT_CONSUMERS
            ]
            return sum((one.num_pending or 0) + (one.num_ack_pending or 0) for one in found)

        self.until(lambda: not self.on_nats(left), "turns are left")

    def run(self, *command: str, code: int = 0) -> str:
        """What a command prints, in wide columns, when it ends with `code`."""
        runner = CliRunner(env={"HELIX_HOME": str(self.stack.home.root), "COLUMNS": "250"})
        result = runner.invoke(app, list(command))
        assert result.exit_code == code, result.output
        return result.stdout

    def recorded(self) -> int:
        """Number of recorded answers."""

        async def count(client: Client) -> int:
            return (await client.jetstream().stream_info(subjects.ANSWERS_STREAM)).state.messages

        return self.on_nats(count)

    def endpoint_status(self) -> dict[str, Any]:
        """The ledger as `helix status` shows it."""
        runner = CliRunner(env={"HELIX_HOME": str(self.stack.home.root)})
        found: dict[str, Any] = json.loads(runner.invoke(app, ["status", "--json"]).stdout)["nats"][
            "endpoint"
        ]
        return found


@contextlib.contextmanager
def running(home: Path, server: EndpointServer, models: Path) -> Iterator[Helix]:
    """A stack in `home` whose language model is `server`."""
    environment = {
        "HELIX_EXTRACT_BASE_URL": server.url,
        "HELIX_EXTRACT_MODEL": "small",
        "HELIX_EXTRACT_TENANTS": "acme",
        "HELIX_EXTRACT_API_KEY": "sesame-4711",
        "HELIX_EXTRACT_WINDOW_SECONDS": str(WINDOW_SECONDS),
        "HELIX_EXTRACT_PAIRS_SECONDS": "0.5",
        "HELIX_EXTRACT_TIMEOUT_SECONDS": "5",
        "HELIX_EXTRACT_BREAKER_SECONDS": "0.5",
        "HELIX_EXTRACT_ACK_WAIT_SECONDS": "2",
    }
    with Stack(home, nats_port=0, query_port=0, models=models, environment=environment) as stack:
        stack.wait_ready()
        with RecallClient(stack.query_address) as client:
            made = Helix(stack, client, server)
            made.on_nats(_deliver_soon_again)
            yield made


async def _deliver_soon_again(client: Client) -> None:
    """Let NATS wait two seconds instead of a minute for a worker that was killed."""
    jetstream = client.jetstream()
    config = (await jetstream.consumer_info(subjects.EVENTS_STREAM, streams.EXTRACT)).config
    await jetstream.add_consumer(subjects.EVENTS_STREAM, replace(config, ack_wait=2.0))
