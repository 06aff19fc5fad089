"""Spans of messages: what a service does with one, and what it publishes because of it.

Conventions: OpenTelemetry messaging spans. A stream is the destination; its subjects, which name tenants and
sessions, are given as a template.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from helix_memory import subjects, trace_context
from helix_memory.trace_context import TRACEPARENT
from helix_shared.broker.worker.rederive import header_sequence
from helix_shared.telemetry.tracing import attributes, spans

if TYPE_CHECKING:
    from nats.aio.msg import Msg

    from helix_shared.edges import Origin
    from helix_shared.telemetry.tracing.attributes import Value
    from helix_shared.telemetry.tracing.spans import Span

_TEMPLATES: Final = {
    subjects.EVENTS_STREAM: subjects.events_of_kind("{kind}", tenant_id="{tenant}", session_id="{session}"),
    subjects.DERIVED_STREAM: subjects.derived_subject("{edge}", "{tenant}"),
    subjects.PAIRS_STREAM: subjects.pairs_subject("{tenant}", "{sequence}"),
}
_DELETING: Final = ("forget", "erase")


@contextmanager
def carrying(message: Msg) -> Iterator[None]:
    """Inside, what is published belongs to the trace of `message`, also where this process makes no spans."""
    with trace_context.within(traceparent_of(message)):
        yield


@contextmanager
def processing(message: Msg, durable: str) -> Iterator[Span]:
    """The span in which a consumer works on a message."""
    if not spans.is_on():
        yield spans.Span()
        return
    stream = message.metadata.stream
    parent = spans.of_traceparent(traceparent_of(message))
    values = _described(message) | {attributes.MESSAGING_CONSUMER: durable}
    with spans.span(f"process {stream}", spans.CONSUMER, values, parent=parent) as made:
        yield made


@contextmanager
def sending(origin: Origin, message_id: str, size_bytes: int) -> Iterator[dict[str, str]]:
    """The span in which a derived message is published; gives the header that carries the trace on."""
    values: dict[str, Value] = {
        **_operation("send", subjects.DERIVED_STREAM),
        attributes.MESSAGING_ID: message_id,
        attributes.MESSAGING_BODY: size_bytes,
        attributes.STORE: origin.tenant_id,
        attributes.SEQUENCE: origin.event_sequence,
    }
    with spans.span(f"send {subjects.DERIVED_STREAM}", spans.PRODUCER, values):
        yield trace_context.carried()


def made_recallable(messages: Iterable[Msg], generation: int, durable: str) -> None:
    """One span for each traced message that a published generation holds, from its storage until now."""
    if not spans.is_on():
        return
    now = time.time_ns()
    for message in messages:
        if not (traceparent := traceparent_of(message)):
            continue
        values = _described(message) | {
            attributes.MESSAGING_CONSUMER: durable,
            attributes.OPERATION: _memory_operation(message.subject),
            attributes.GENERATION: generation,
        }
        stream, stored = message.metadata.stream, message.metadata.timestamp
        began = min(now, int(stored.timestamp() * 1e9))
        parent = spans.of_traceparent(traceparent)
        spans.record(f"process {stream}", spans.CONSUMER, began, now, values, parent=parent)


def traceparent_of(message: Msg) -> str:
    """The trace that a message belongs to; empty: none."""
    value = (message.headers or {}).get(TRACEPARENT, "")
    return value if trace_context.is_traceparent(value) else ""


def _described(message: Msg) -> dict[str, Value]:
    position = message.metadata
    is_event = position.stream == subjects.EVENTS_STREAM
    event = position.sequence.stream if is_event else header_sequence(message)
    return {
        **_operation("process", position.stream),
        attributes.MESSAGING_ID: (message.headers or {}).get(subjects.MSG_ID_HEADER, ""),
        attributes.STORE: subjects.tenant_of(message.subject),
        attributes.STREAM_SEQUENCE: position.sequence.stream,
        attributes.DELIVERIES: position.num_delivered,
    } | ({attributes.SEQUENCE: event} if event else {})


def _operation(name: str, stream: str) -> dict[str, Value]:
    return {
        attributes.MESSAGING_SYSTEM: "nats",
        attributes.MESSAGING_OPERATION: name,
        attributes.MESSAGING_OPERATION_NAME: name,
        attributes.MESSAGING_DESTINATION: stream,
        attributes.MESSAGING_TEMPLATE: _TEMPLATES.get(stream, ""),
    }


def _memory_operation(subject: str) -> str:
    """The operation on the store of memories that a message is; empty: it only adds to memories."""
    if subjects.kind_of(subject) in _DELETING:
        return "delete_memory"
    return "upsert_memory" if subjects.edge_of(subject) == "memories" else ""
