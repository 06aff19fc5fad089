"""How calls to the query service are repeated: as the service config of gRPC, and the waits between calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from helix_memory.recall.v1 import recall_pb2

FIRST_BACKOFF_SECONDS: Final = 0.1
MOST_BACKOFF_SECONDS: Final = 1.0
MULTIPLIER: Final = 3


def retry_policy(attempts: int) -> dict[str, Any]:
    """A config that repeats calls, which only read: five attempts take about 2 s.

    That is longer than a fresh Helix needs from its first event to its first generation.
    """
    policy = {
        "maxAttempts": attempts,
        "initialBackoff": f"{FIRST_BACKOFF_SECONDS}s",
        "maxBackoff": f"{MOST_BACKOFF_SECONDS}s",
        "backoffMultiplier": MULTIPLIER,
        "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
    }
    service = recall_pb2.DESCRIPTOR.services_by_name["RecallService"].full_name
    return {"methodConfig": [{"name": [{"service": service}], "retryPolicy": policy}]}


def backoffs(attempts: int) -> Iterator[float]:
    """The waits in seconds between `attempts` calls that gRPC does not repeat itself."""
    wait = FIRST_BACKOFF_SECONDS
    for _ in range(attempts - 1):
        yield wait
        wait = min(MULTIPLIER * wait, MOST_BACKOFF_SECONDS)
