"""The service config of gRPC that repeats calls to the query service."""

from __future__ import annotations

from typing import Any

from helix_memory.recall.v1 import recall_pb2


def retry_policy(attempts: int) -> dict[str, Any]:
    """A config that repeats calls, which only read: five attempts take about 2 s.

    That is longer than a fresh Helix needs from its first event to its first generation.
    """
    policy = {
        "maxAttempts": attempts,
        "initialBackoff": "0.1s",
        "maxBackoff": "1s",
        "backoffMultiplier": 3,
        "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
    }
    service = recall_pb2.DESCRIPTOR.services_by_name["RecallService"].full_name
    return {"methodConfig": [{"name": [{"service": service}], "retryPolicy": policy}]}
