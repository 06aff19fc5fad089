"""Prometheus metrics of all services, served on their own port.

Metrics of one service stand in that service. Names end with their unit (`_seconds`, `_bytes`), of counters
with `_total`; labels have few values, and a tenant is none. `ops/metrics_table.py` makes the table of the
runbook. The logs have a module of their own: a command of the CLI writes logs, but has no metrics, and the
client of Prometheus takes 0.1 s to import.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

from helix_shared.telemetry.health import Health

if TYPE_CHECKING:
    from datetime import datetime
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

disable_created_metrics()  # type: ignore[no-untyped-call]  # they double the page, and no rule reads them

READY = Gauge("helix_ready", "1 while the process does its work, as /readyz tells")
MESSAGES = Counter(
    "helix_messages_total",
    "Messages settled by a worker, by outcome: done, postponed, held, dead, unanswered",
    ["service", "outcome"],
)
WORK_SECONDS = Histogram(
    "helix_work_seconds",
    "Time a worker spent on one message, and consolidation on one batch",
    ["service"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
STUCK_THREADS = Gauge(
    "helix_worker_stuck_threads", "Threads that still run after the deadline of their handler", ["service"]
)
CONSUMER_PENDING = Gauge(
    "helix_consumer_pending_messages", "Messages that a durable consumer has not delivered yet", ["consumer"]
)
CONSUMER_UNACKNOWLEDGED = Gauge(
    "helix_consumer_unacknowledged_messages",
    "Messages that a durable consumer has delivered and that are not settled",
    ["consumer"],
)
EMBEDDINGS = Counter(
    "helix_embeddings_total", "Vectors returned, from the model or from the cache", ["source"]
)
STREAM_SETTINGS = Gauge(
    "helix_stream_settings_differ",
    "1 for each setting of a stream or consumer that is not as provisioning wants it",
    ["stream", "field"],
)
GENERATION = Gauge(
    "helix_generation_number", "Generation that consolidation published, or query serves", ["service"]
)
GENERATION_PUBLISHED = Gauge(
    "helix_generation_published_timestamp_seconds", "When that generation was published", ["service"]
)
GENERATION_APPLIED = Gauge(
    "helix_generation_applied_sequence",
    "That generation holds every event up to this sequence of HELIX_EVENTS",
    ["service"],
)
GENERATION_MEMORIES = Gauge(
    "helix_generation_memories", "Memories that can be recalled from that generation", ["service"]
)
RPC_SECONDS = Histogram(
    "helix_rpc_seconds",
    "Time of a gRPC call by method and status code; for a stream, until its end",
    ["rpc", "code"],
    buckets=(0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30),
)
ACCESSES = Counter(
    "helix_accesses_total",
    "Accesses by what became of them: recorded, dropped because the ring was full, forwarded; "
    "and messages with them of the forwarder: published, lost",
    ["outcome"],
)
AUDIT_RECORDS = Counter(
    "helix_audit_records_total",
    "Audit records by what became of them: recorded, dropped because there was no room, limited because "
    "refused callers were too many, failed, forwarded; "
    "and messages with them of the forwarder: published, lost",
    ["outcome"],
)
CREDENTIALS_REFUSED = Counter(
    "helix_credentials_refused_total", "Calls without a valid credential, by reason", ["reason"]
)
CALLS_DENIED = Counter(
    "helix_calls_denied_total", "Calls whose credential lacks the role or the scope", ["reason"]
)


class PublishedGeneration(Protocol):
    """What is told of a generation: its manifest, which this module does not import."""

    @property
    def generation(self) -> int:
        """Its number."""

    @property
    def published_at(self) -> datetime:
        """When it was published."""

    @property
    def applied_sequence(self) -> int:
        """Every event up to this one is in it."""


def report_generation(service: str, published: PublishedGeneration, *, memories: int) -> None:
    """Set the metrics of the generation that a service published, or serves."""
    GENERATION.labels(service).set(published.generation)
    GENERATION_PUBLISHED.labels(service).set(published.published_at.timestamp())
    GENERATION_APPLIED.labels(service).set(published.applied_sequence)
    GENERATION_MEMORIES.labels(service).set(memories)


_HEALTH: Final = {"/healthz": Health.not_alive, "/readyz": Health.not_ready}


def serve_metrics(port: int, health: Health, *, host: str = "127.0.0.1") -> None:
    """Serve metrics and health on `host:port` from threads of their own; port 0 serves nothing."""
    READY.set_function(lambda: not health.not_ready())
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
