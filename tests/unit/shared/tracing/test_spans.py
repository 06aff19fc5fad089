"""Spans: what they may say, which trace they belong to, and when tracing is on."""

from typing import Any

import pytest

from helix_memory import trace_context
from helix_memory.events import parse_event
from helix_memory.transport.credentials import CallCredentials
from helix_memory.transport.publisher import event_message
from helix_shared.errors import InvalidInputError
from helix_shared.telemetry.tracing import spans
from helix_shared.telemetry.tracing.setup import endpoint_of

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
EVENT = parse_event(b'{"kind": "memory", "event_id": "e1", "tenant_id": "acme", "text": "a"}')


@pytest.mark.parametrize("name", ["gen_ai.memory.query.text", "helix.text", "db.query.text"])
def test_an_attribute_that_is_not_listed_is_refused(exported: Any, name: str) -> None:
    """No text can be put into a span by mistake; a listed attribute can."""
    with spans.span("a", spans.INTERNAL) as span:
        with pytest.raises(ValueError, match=name):
            span.set({name: "zanzipurple"})
        span.set({"helix.memories": 3})
    [ended] = exported.get_finished_spans()
    assert dict(ended.attributes) == {"helix.memories": 3}


def test_an_error_leaves_its_class_and_not_its_message(exported: Any) -> None:
    """The message of an error may quote a text."""
    with pytest.raises(InvalidInputError), spans.span("a", spans.INTERNAL):
        raise InvalidInputError("text", "zanzipurple")
    [ended] = exported.get_finished_spans()
    assert "zanzipurple" not in ended.to_json()
    assert ended.attributes["error.type"] == "InvalidInputError"
    assert not ended.status.is_ok


def test_a_message_and_a_call_carry_the_trace_of_their_caller() -> None:
    """Without an SDK by a `traceparent`; outside of a trace nothing is added."""
    assert event_message(EVENT).headers == {}
    with trace_context.within(TRACE):
        assert event_message(EVENT).headers == {"traceparent": TRACE}
        assert CallCredentials().metadata() == (("traceparent", TRACE),)
    assert CallCredentials().metadata() == ()


def test_a_program_with_opentelemetry_needs_to_do_nothing(exported: Any) -> None:
    """Its current span is the parent, also inside of a named trace."""
    with trace_context.within(TRACE), spans.span("a", spans.INTERNAL, parent=spans.of_traceparent(TRACE)):
        carried = event_message(EVENT).headers["traceparent"]
    [ended] = exported.get_finished_spans()
    assert carried.split("-")[1:3] == [TRACE.split("-")[1], f"{ended.context.span_id:016x}"]


@pytest.mark.parametrize(
    "broken",
    ["", "zanzipurple", TRACE.upper(), TRACE + "\n", "ff" + TRACE[2:], "00-" + "0" * 32 + TRACE[35:]],
)
def test_a_malformed_traceparent_is_no_trace(broken: str) -> None:
    """Anybody may send one; it is not carried on."""
    with trace_context.within(broken):
        assert trace_context.carried() == {}


@pytest.mark.parametrize(
    ("environment", "endpoint"),
    [
        ({}, ""),
        ({"HELIX_OTLP_ENDPOINT": "http://127.0.0.1:4317"}, "http://127.0.0.1:4317"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector:4317"}, "https://collector:4317"),
        ({"HELIX_OTLP_ENDPOINT": "http://a:1", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://b:1"}, "http://a:1"),
        ({"HELIX_OTLP_ENDPOINT": "http://a:1", "OTEL_SDK_DISABLED": "true"}, ""),
        ({"HELIX_OTLP_ENDPOINT": "http://a:1", "OTEL_TRACES_EXPORTER": "none"}, ""),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, ""),
    ],
)
def test_tracing_is_on_where_an_endpoint_is_named(environment: dict[str, str], endpoint: str) -> None:
    """By the variable of Helix or those of OpenTelemetry, which may also turn it off."""
    assert endpoint_of(environment) == endpoint


@pytest.mark.parametrize("address", ["127.0.0.1:4317", "ftp://a:1", "http://", "http://a:notaport"])
def test_an_address_that_cannot_be_is_refused_by_name(address: str) -> None:
    """The process does not start without the traces that were asked for."""
    with pytest.raises(InvalidInputError, match="HELIX_OTLP_ENDPOINT"):
        endpoint_of({"HELIX_OTLP_ENDPOINT": address})
