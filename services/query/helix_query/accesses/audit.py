"""Audit records of calls (what, by whom, outcome), kept for the forwarder (ops/decisions/0077).

As with accesses, recording never waits and never fails; if there is no room the oldest record is dropped and
counted. All methods belong to one event loop.
"""

from __future__ import annotations

import time
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from grpc import StatusCode

from helix_memory.recall.v1 import recall_pb2
from helix_shared.telemetry.metrics import AUDIT_RECORDS

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH_RECORDS: Final = 256
REFUSED_PER_SECOND: Final = 10.0
REFUSED_BURST: Final = 100.0
"""Records of callers who proved nothing: more are only counted, so that they push out no others."""
REFUSAL_CODES: Final = frozenset({StatusCode.UNAUTHENTICATED.name, StatusCode.PERMISSION_DENIED.name})
"""Outcomes of calls whose caller did not show a right to the tenant."""


class AuditLog:
    """At most `capacity` records; with capacity 0 nothing is recorded."""

    def __init__(
        self, capacity: int, arrived: Callable[[], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`arrived` is called after each record; `clock` gives seconds."""
        self._capacity = capacity
        self._arrived = arrived
        self._clock = clock
        self._refused_left, self._refused_at = REFUSED_BURST, clock()
        self._kept: deque[recall_pb2.AuditRecord] = deque()
        self._number = 0
        for outcome in ("dropped", "failed", "limited"):
            # Prometheus sees no increase in a series that begins with 1
            AUDIT_RECORDS.labels(outcome)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def is_on(self) -> bool:
        """Whether records are kept."""
        return self._capacity > 0

    def add(self, record: recall_pb2.AuditRecord) -> None:
        """Keep a record, with its number and time; records of refused callers are limited per second."""
        if not self.is_on:
            return
        if record.outcome in REFUSAL_CODES and not self._may_record_refused():
            AUDIT_RECORDS.labels("limited").inc()
            return
        if len(self._kept) == self._capacity:
            self._kept.popleft()
            AUDIT_RECORDS.labels("dropped").inc()
        self._number += 1
        record.number = self._number
        record.at.FromDatetime(datetime.now(UTC))
        self._kept.append(record)
        AUDIT_RECORDS.labels("recorded").inc()
        self._arrived()

    def take(self) -> list[recall_pb2.AuditRecord]:
        """The oldest records, at most `BATCH_RECORDS`."""
        taken = [self._kept.popleft() for _ in range(min(BATCH_RECORDS, len(self._kept)))]
        AUDIT_RECORDS.labels("forwarded").inc(len(taken))
        return taken

    def _may_record_refused(self) -> bool:
        """Whether a record of a refused caller is within the limit (token bucket)."""
        now = self._clock()
        gained = (now - self._refused_at) * REFUSED_PER_SECOND
        self._refused_left, self._refused_at = min(REFUSED_BURST, self._refused_left + gained), now
        if self._refused_left < 1.0:
            return False
        self._refused_left -= 1.0
        return True
