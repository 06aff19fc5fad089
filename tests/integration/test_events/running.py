"""A stack with its client and the events published so far, and an OTLP receiver of its spans."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as otlp
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.stack.stack import Stack
from helix_memory import events, subjects
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_memory.transport.recall_client import RecallClient

PATIENCE_SECONDS: Final = 60


@dataclass(frozen=True)
class SpanSeen:
    """One span as the receiver got it."""

    service: str
    name: str
    kind: int
    span_id: str
    parent: str
    trace: str
    attributes: dict[str, Any]


@dataclass
class Receiver(trace_service_pb2_grpc.TraceServiceServicer):
    """Keeps what services export to it."""

    seen: list[SpanSeen] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)

    def Export(self, request: Any, _context: Any) -> Any:  # noqa: N802  the name in the contract
        """Take a batch of spans."""
        self.raw.append(request.SerializeToString())
        for resource in request.resource_spans:
            service = _values(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.seen += [
                    SpanSeen(
                        service,
                        one.name,
                        one.kind,
                        one.span_id.hex(),
                        one.parent_span_id.hex(),
                        one.trace_id.hex(),
                        _values(one.attributes),
                    )
                    for one in scope.spans
                ]
        return otlp.ExportTraceServiceResponse()

    def of(self, traceparent: str) -> list[SpanSeen]:
        """The spans of one trace."""
        trace = traceparent.split("-")[1]
        return [one for one in list(self.seen) if one.trace == trace]

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait until the condition holds of what arrived."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not until():
            assert time.monotonic() < deadline, f"never arrived; there are {self.seen[-40:]}"
            time.sleep(0.05)


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@dataclass
class Helix:
    """A running stack, its client, and the events published so far."""

    stack: Stack
    client: RecallClient
    receiver: Receiver
    published: int = 0

    def publish(self, kind: str, **fields: Any) -> int:
        """Publish one valid event of tenant acme; returns its sequence."""
        body = self._body(kind, fields)
        events.parse_event(body)
        return self._send(kind, body)

    def publish_unchecked(self, kind: str, **fields: Any) -> int:
        """Publish `fields` without checking them; returns the sequence."""
        return self._send(kind, self._body(kind, fields))

    def _body(self, kind: str, fields: dict[str, Any]) -> bytes:
        self.published += 1
        named = {"kind": kind, "event_id": f"p{self.published}", "tenant_id": "acme"}
        return json.dumps(named | fields).encode()

    def _send(self, kind: str, body: bytes) -> int:
        session = json.loads(body).get("session_id", "")
        subject = subjects.event_subject("acme", session, kind)

        async def send() -> int:
            client = await connect(self.stack.nats_url, name="test")
            try:
                publisher = Publisher(client.jetstream())
                return (await publisher.publish(subject, body, message_id=f"p{self.published}")).sequence
            finally:
                await client.close()

        return asyncio.run(send())

    def settle(self, sequence: int) -> None:
        """Wait until an event with its expansions and links is served."""
        self.client.wait_until_applied(sequence, wait_seconds=PATIENCE_SECONDS)
        runner = CliRunner(env={"HELIX_HOME": str(self.stack.home.root)})
        deadline = time.monotonic() + PATIENCE_SECONDS
        while json.loads(runner.invoke(app, ["status", "--json"]).stdout)["lag"]:
            assert time.monotonic() < deadline, "it did not settle"
            time.sleep(0.1)

    def dead_letters(self) -> list[tuple[str, str, str]]:
        """Service, subject and reason of each, oldest first."""
        runner = CliRunner(env={"HELIX_HOME": str(self.stack.home.root)})
        letters = json.loads(runner.invoke(app, ["dlq", "ls", "--json"]).stdout)
        return [(letter["service"], letter["subject"], letter["reason"]) for letter in letters[::-1]]

    def recall(self, query: str, *, user: str, principals: Sequence[str] = (), **fields: Any) -> Any:
        """One recall with all optional parts of the reply."""
        request = recall_pb2.RecallRequest(
            scope=recall_pb2.Scope(tenant_id="acme", user_id=user, principals=principals),
            query=query,
            never_skip=True,
            explain=True,
            top_k=50,
            expand_context=recall_pb2.EXPAND_CONTEXT_SESSION,
            **fields,
        )
        return self.client.recall(request)
