"""Tracing that is on, with the spans that it made."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from helix_shared.telemetry.tracing import spans


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    """Tracing is on; the spans that ended."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans.use(provider.get_tracer("test"))
    yield exporter
    spans.use(None)
