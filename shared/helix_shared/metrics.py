"""Prometheus metrics of all services, served on their own port.

`telemetry` has the logs: a command of the CLI logs, but has no metrics, and the client takes 0.1 s to import.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import Counter, Gauge, Histogram, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

from helix_shared.health import Health

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

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
STREAM_SETTINGS = Gauge(
    "helix_stream_settings_differ",
    "1 for each setting of a stream or consumer that is not as provisioning wants it",
    ["stream", "field"],
)
RECONCILE_DIFFERENCES = Gauge(
    "helix_reconcile_differences",
    "Memories that some store lacks, found by the last reconciliation",
    ["kind"],
)
BLOCKED = Gauge("helix_blocked", "1 while the writer holds messages of another release or model", ["service"])
GENERATION = Gauge("helix_generation_current", "Generation published or served", ["service"])
GENERATIONS_REJECTED = Counter(
    "helix_generation_rejected_total", "Generations that were not served, by why", ["reason"]
)
PROBE_SECONDS = Histogram(
    "helix_generation_probe_seconds",
    "Time in which another process opened and searched a generation before the query service did",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
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
AUDIT_RECORDS = Counter(
    "helix_audit_records_total",
    "Audit records by what became of them: recorded, dropped because there was no room, failed, forwarded; "
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


_HEALTH: Final = {"/healthz": Health.not_alive, "/readyz": Health.not_ready}


def serve_metrics(port: int, health: Health, *, host: str = "127.0.0.1") -> None:
    """Serve metrics and health on `host:port` from threads of their own; port 0 serves nothing."""
    if port:
        server = make_server(
            host, port, _application(health), server_class=ThreadingWSGIServer, handler_class=_Silent
        )
        threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()


class _Silent(WSGIRequestHandler):
    """Logs no requests."""

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002  the name of the base class
        """Log nothing."""


def _application(health: Health) -> WSGIApplication:
    metrics = make_wsgi_app()

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        ask = _HEALTH.get(environ.get("PATH_INFO", ""))
        if ask is None:
            return metrics(environ, start)  # type: ignore[no-any-return]
        problem = ask(health)
        status = "503 Service Unavailable" if problem else "200 OK"
        start(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{problem or 'ok'}\n".encode()]

    return answer
