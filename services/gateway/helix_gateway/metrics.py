"""Metrics of the gateway alone; those of every service are in `helix_shared.telemetry.metrics`."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

REQUEST_SECONDS = Histogram(
    "helix_gateway_request_seconds",
    "Time of an HTTP request by what it asked for and HTTP status; of a tool call, its operation is the tool",
    ["operation", "status"],
    buckets=(0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30),
)
REQUESTS = Gauge("helix_gateway_requests", "HTTP requests that run")
REFUSED_SOURCES = Counter(
    "helix_gateway_refused_sources_total",
    "Requests with a foreign Host or Origin (DNS rebinding)",
    ["header"],
)
