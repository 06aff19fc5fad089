"""Metrics of the deep service alone; those of every service are in `helix_shared.telemetry.metrics`."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

STAGE_SECONDS = Histogram(
    "helix_deep_stage_seconds",
    "Time of a deep recall by stage",
    ["stage"],
    buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
LEFT_OUT = Counter("helix_deep_left_out_total", "Stages that a deep recall was made without", ["stage"])
CALLS = Gauge("helix_deep_calls", "Deep recalls that run")
