"""Metrics of the query service alone; those of every service are in `helix_shared.telemetry.metrics`."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

GENERATIONS_REJECTED = Counter(
    "helix_generations_rejected_total",
    "Generations that are not served, by reason: damaged, crash, model, machine",
    ["reason"],
)
for _reason in ("damaged", "crash", "model", "machine"):
    # Prometheus sees no increase in a series that begins with 1
    GENERATIONS_REJECTED.labels(_reason)
PROBE_SECONDS = Histogram(
    "helix_generation_probe_seconds",
    "Time in which another process opened and searched a generation before the query service did",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
SWAP_SECONDS = Histogram(
    "helix_generation_swap_seconds",
    "Time in which a generation was verified, probed, opened, warmed and put in the place of the last",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
SERVING_DELAY_SECONDS = Histogram(
    "helix_generation_serving_delay_seconds",
    "Time from the publication of a generation until it is served; not of the first after a start",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300),
)
REPLICA_LAG_SECONDS = Gauge(
    "helix_replica_lag_seconds",
    "Time for which the bucket has had a generation that this replica does not have; `shard` is empty in a "
    "process that serves one",
    ["shard"],
)
SHARD_LOADED = Gauge("helix_shard_loaded", "1 while a shard is loaded, of a process with several", ["shard"])
SHARD_BYTES = Gauge("helix_shard_memory_bytes", "Memory that is counted for a loaded shard", ["shard"])
SHARD_MEMORY = Gauge(
    "helix_shards_memory_bytes", "Memory that is counted for all shards, also evicted ones that are leased"
)
SHARD_APPLIED = Gauge(
    "helix_shard_applied_sequence",
    "The newest generation of a shard, loaded or not, holds every event of its tenants up to this sequence",
    ["shard"],
)
SHARD_PUBLISHED = Gauge(
    "helix_shard_published_timestamp_seconds", "When that generation was published", ["shard"]
)
SHARD_EVICTIONS = Counter(
    "helix_shard_evictions_total", "Shards that were evicted, by reason: budget, idle", ["shard", "reason"]
)
SHARD_LOAD_SECONDS = Histogram(
    "helix_shard_load_seconds",
    "Time from the first call for a shard that is not loaded until it answers",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
REPLICA_DOWNLOADED_BYTES = Counter(
    "helix_replica_downloaded_bytes_total", "Bytes of parts downloaded from the bucket"
)
REPLICA_FAILURES = Counter(
    "helix_replica_failures_total",
    "Attempts to pull that failed, by reason: missing, truncated, damaged (a part), manifest, store",
    ["reason"],
)
for _reason in ("missing", "truncated", "damaged", "manifest", "store"):
    REPLICA_FAILURES.labels(_reason)
RECALL_SECONDS = Histogram(
    "helix_recall_seconds",
    "Time of a recall on its thread, without its waits",
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2),
)
STAGE_SECONDS = Histogram(
    "helix_recall_stage_seconds",
    "Time of a stage of a recall; `queue` is the wait for a thread",
    ["stage"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2),
)
RECALL_DEGRADED = Counter(
    "helix_recall_degraded_total", "Recalls answered without one of their searches", ["channel"]
)
RECALL_REFUSED = Counter("helix_recall_refused_total", "Calls refused because too many calls were waiting")
TENANT_LIMITED = Counter(
    "helix_tenant_limited_total",
    "Calls refused because their tenant reached its own limit, by limit: in_flight, rate",
    ["limit"],
)
RECALL_CALLS = Gauge(
    "helix_recall_calls",
    "Calls that wait, run, or are late: already answered or cancelled while their threads still run",
    ["rpc", "state"],
)
RECALL_STUCK = Gauge(
    "helix_recall_stuck_threads", "Threads that still run long after the deadline of their call", ["rpc"]
)
