"""Spans of messages, also of those that a handler will refuse."""

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from helix_memory import subjects
from helix_shared.broker.traced import made_recallable, processing

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("subject", "sequence", "tenant", "event"),
    [
        ("helix.v1.derived.memories.acme", "7", "acme", 7),
        ("helix.v1.derived", "7", None, 7),
        ("helix.v1.derived.memories.acme", "9" * 5_000, "acme", None),
        ("helix.v1.derived.memories.acme", "seven", "acme", None),
    ],
)
def test_a_malformed_message_gets_a_span_and_no_error(
    exported: InMemorySpanExporter, subject: str, sequence: str, tenant: str | None, event: int | None
) -> None:
    """Its handler says what is wrong; a span must not, neither in a worker nor in the writer."""
    reply = f"$JS.ACK.{subjects.DERIVED_STREAM}.kg.1.3.3.1700000000000000000.0"
    headers = {"traceparent": TRACE, subjects.EVENT_SEQUENCE_HEADER: sequence}
    message = Msg(_client=Client(), subject=subject, reply=reply, data=b"", headers=headers)
    with processing(message, "kg"):
        pass
    made_recallable([message], 4, "consolidation")
    for ended in exported.get_finished_spans():
        found = ended.attributes or {}
        assert (found.get("gen_ai.memory.store.id"), found.get("helix.event.sequence")) == (tenant, event)
        assert found["helix.stream.sequence"] == 3
    assert len(exported.get_finished_spans()) == 2
