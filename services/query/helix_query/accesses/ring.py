"""The ring of accesses: served memories, kept in memory until a forwarder reads them (ops/decisions/0040).

Recording never waits and never fails. If the ring is full, the oldest access is dropped and counted. Calls
that only look are not recorded: explanations, WhyNot, answers of a past moment, and answers that abstained.
All methods belong to one event loop.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from helix_query.accesses.audit import AuditLog
from helix_shared.telemetry.metrics import ACCESSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_memory.recall.v1 import recall_pb2
    from helix_query.recall.query import Query
    from helix_shared.artifacts.filter.selection import Selection


@dataclass(frozen=True, slots=True)
class ServedMemories:
    """The memories that one call was served; `number` counts the accesses of the ring from 1."""

    number: int
    tenant_id: str
    at: datetime
    generation: int
    memory_ids: tuple[str, ...]


class AccessRing:
    """At most `capacity` accesses; with capacity 0 nothing is recorded."""

    def __init__(self, capacity: int, audits: int = 0) -> None:
        """`audits`: records of calls that are kept, beside the accesses."""
        self.name = uuid.uuid4().hex
        """Random, so that numbers of another process are not mistaken for those of this one."""
        self.dropped = 0
        self.readers = 0
        """Streams that are open."""
        self._capacity = capacity
        self._kept: deque[ServedMemories] = deque()
        self._number = 0
        self._arrived = asyncio.Event()
        self._is_closed = False
        self.audits = AuditLog(audits, self._arrived.set)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def is_on(self) -> bool:
        """Whether accesses are recorded."""
        return self._capacity > 0

    def record_recall(self, query: Query, reply: recall_pb2.RecallResponse) -> None:
        """Record what a recall packed; everything it returned if it packed nothing."""
        if query.not_served or query.explain or query.selection.past or reply.abstained:
            return
        packed = [one.memory.memory_id for one in reply.memories if one.packed]
        served = packed or [one.memory.memory_id for one in reply.memories]
        self._record(query.selection.tenant_id, reply.generation, served)

    def record_pack(self, query: Query, reply: recall_pb2.PackResponse) -> None:
        """Record what a caller had packed; all that it named and may see if nothing fitted."""
        if not (query.explain or query.selection.past):
            served = list(reply.context.memory_ids) or list(reply.memory_ids)
            self._record(query.selection.tenant_id, reply.generation, served)

    def record_read(self, scope: Selection, reply: recall_pb2.GetMemoryResponse) -> None:
        """Record a memory that was read by id."""
        if not scope.past:
            self._record(scope.tenant_id, reply.generation, [reply.memory.memory_id])

    def describe(self, reply: recall_pb2.GetStatusResponse) -> None:
        """Fill in the state of the ring, unless it is off."""
        if self.is_on:
            status = reply.accesses
            status.waiting, status.dropped, status.forwarders = len(self._kept), self.dropped, self.readers

    async def take(self, most: int) -> list[ServedMemories]:
        """The oldest accesses, at most `most`, as soon as there is one or an audit record.

        Without both once the ring is closed.
        """
        while not self._kept and not self.audits and not self._is_closed:
            self._arrived.clear()
            await self._arrived.wait()
        taken = list(islice(self._kept, most))
        for _ in taken:
            self._kept.popleft()
        ACCESSES.labels("forwarded").inc(len(taken))
        return taken

    def close(self) -> None:
        """End every `take`."""
        self._is_closed = True
        self._arrived.set()

    def _record(self, tenant_id: str, generation: int, memory_ids: Sequence[str]) -> None:
        if not (self.is_on and memory_ids):
            return
        if len(self._kept) == self._capacity:
            self._kept.popleft()
            self.dropped += 1
            ACCESSES.labels("dropped").inc()
        self._number += 1
        now = datetime.now(UTC)
        self._kept.append(ServedMemories(self._number, tenant_id, now, generation, tuple(memory_ids)))
        ACCESSES.labels("recorded").inc()
        self._arrived.set()
