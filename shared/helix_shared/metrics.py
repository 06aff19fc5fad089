"""Prometheus metrics of all services, served on their own port.

`telemetry` has the logs: a command of the CLI logs, but has no metrics, and the client takes 0.1 s to import.
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram, start_http_server

MESSAGES = Counter("helix_messages_total", "Messages settled by a worker", ["service", "outcome"])
WORK_SECONDS = Histogram(
    "helix_work_seconds",
    "Time a worker spent on one message, and consolidation on one batch",
    ["service"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
STUCK_LANES = Gauge(
    "helix_stuck_lanes", "Threads that still run after the deadline of their handler", ["service"]
)
EMBEDDINGS = Counter(
    "helix_embeddings_total", "Vectors returned, from the model or from the cache", ["source"]
)
BLOCKED = Gauge("helix_blocked", "1 while the writer holds messages of another release or model", ["service"])
GENERATION = Gauge("helix_generation_current", "Generation published or served", ["service"])
GENERATIONS_REJECTED = Counter("helix_generation_rejected_total", "Generations that failed verification")
RECALL_SECONDS = Histogram(
    "helix_recall_seconds",
    "Time of a recall by stage",
    ["stage"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2),
)
ACCESSES = Counter(
    "helix_accesses_total",
    "Accesses by what became of them: recorded, dropped because the ring was full, forwarded; "
    "and by the forwarder: published, lost",
    ["outcome"],
)
RECALL_DEGRADED = Counter("helix_recall_degraded_total", "Recalls answered without a channel", ["channel"])
RECALL_REFUSED = Counter("helix_recall_refused_total", "Calls refused because too many calls were waiting")
CREDENTIALS_REFUSED = Counter(
    "helix_credentials_refused_total", "Calls without a valid credential, by reason", ["reason"]
)
CALLS_DENIED = Counter(
    "helix_calls_denied_total", "Calls whose credential lacks the role or the scope", ["reason"]
)
TENANT_LIMITED = Counter(
    "helix_tenant_limited_total", "Calls refused because their tenant reached its own limit", ["limit"]
)
RECALL_CALLS = Gauge(
    "helix_recall_calls",
    "Calls that wait, run, or are late: already answered or cancelled while their threads still run",
    ["rpc", "state"],
)
RECALL_STUCK = Gauge(
    "helix_recall_stuck_threads", "Threads that still run long after the deadline of their call", ["rpc"]
)


def serve_metrics(port: int, *, host: str = "127.0.0.1") -> None:
    """Serve Prometheus metrics on `host:port`; port 0 serves nothing."""
    if port:
        start_http_server(port, addr=host)
