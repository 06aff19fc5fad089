"""Logs and metrics: structured lines on standard error, Prometheus metrics on their own port.

Ids, sequences and sizes are logged; event bodies, texts and queries never are.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog
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
RECALL_DEGRADED = Counter("helix_recall_degraded_total", "Recalls answered without a channel", ["channel"])
RECALL_REFUSED = Counter("helix_recall_refused_total", "Calls refused because too many calls were waiting")
RECALL_CALLS = Gauge(
    "helix_recall_calls",
    "Calls that wait, run, or are late: already answered or cancelled while their threads still run",
    ["rpc", "state"],
)
RECALL_STUCK = Gauge(
    "helix_recall_stuck_threads", "Threads that still run long after the deadline of their call", ["rpc"]
)


def configure_logging(*, log_format: str, level: str, service: str) -> None:
    """Send every log line of the process through structlog; call it once per process."""
    renderer: Any = (
        structlog.processors.JSONRenderer() if log_format == "json" else structlog.dev.ConsoleRenderer()
    )
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    structlog.contextvars.bind_contextvars(service=service)


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """The logger of a module."""
    bound: structlog.stdlib.BoundLogger = structlog.get_logger(name)
    return bound


def serve_metrics(port: int, *, host: str = "127.0.0.1") -> None:
    """Serve Prometheus metrics on `host:port`; port 0 serves nothing."""
    if port:
        start_http_server(port, addr=host)
