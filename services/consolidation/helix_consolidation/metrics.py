"""Metrics of consolidation alone; those of every service are in `helix_shared.telemetry.metrics`."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

BLOCKED = Gauge("helix_writer_blocked", "1 while the writer holds messages of another release or model")
DECIDED_EARLY = Counter(
    "helix_statements_decided_early_total",
    "Statements of which the relations were decided while an earlier event was missing: too many waited",
)
RECONCILE_DIFFERENCES = Gauge(
    "helix_reconcile_differences",
    "Memories that some store lacks, found by the last reconciliation",
    ["kind"],
)
RECONCILED = Gauge(
    "helix_reconciled_timestamp_seconds", "When stores and log were last compared; 0: not since the start"
)
PUBLICATION_DELAY_SECONDS = Histogram(
    "helix_event_publication_seconds",
    "Time from the storing of the oldest new event of a generation until that generation was published",
    buckets=(0.25, 0.5, 1, 2, 3, 5, 10, 30, 60, 300, 3600),
)
STREAM_BYTES = Gauge("helix_stream_bytes", "Bytes of a stream", ["stream"])
STREAM_MESSAGES = Gauge("helix_stream_messages", "Messages in a stream", ["stream"])
STREAM_LAST = Gauge("helix_stream_last_sequence", "Sequence of the last message of a stream", ["stream"])
DEAD_LETTERS = Gauge(
    "helix_dead_letters", "Dead letters that wait, by the service that refused the message", ["service"]
)
ERASURES_PENDING = Gauge("helix_erasures_pending", "Erasures of which some place may still hold something")
ARCHIVE_BYTES = Gauge("helix_archive_bytes", "Bytes of the archive of events; 0: there is none")
BUCKET_LAG_SECONDS = Gauge(
    "helix_bucket_lag_seconds",
    "Age of the newest published generation while the bucket does not have it; 0: it has, or there is none",
)
BUCKET_GENERATION = Gauge("helix_bucket_generation", "Newest generation that the bucket has; 0: none")
BUCKET_UPLOADED_BYTES = Counter("helix_bucket_uploaded_bytes_total", "Bytes of parts uploaded to the bucket")
BUCKET_PARTS = Counter(
    "helix_bucket_parts_total",
    "Parts by what became of them: uploaded, skipped because the bucket has them, collected, "
    "restored because the bucket had lost them",
    ["outcome"],
)
BUCKET_FAILURES = Counter(
    "helix_bucket_failures_total",
    "Uploads and collections that failed, by reason: fenced, refused, store; they are tried again",
    ["reason"],
)
for _reason in ("fenced", "refused", "store"):
    # Prometheus sees no increase in a series that begins with 1
    BUCKET_FAILURES.labels(_reason)
DISK_FREE_BYTES = Gauge("helix_disk_free_bytes", "Free bytes of the disk with the data folder")
DISK_SIZE_BYTES = Gauge("helix_disk_size_bytes", "Size of the disk with the data folder in bytes")
