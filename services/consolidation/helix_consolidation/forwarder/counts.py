"""Counts accesses of one ring together: one entry a memory, then messages of one tenant each.

A message is named by the ring and the numbers that it counts, so publishing it again stores nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING

from helix_memory import limits, subjects
from helix_memory.transport.batch import Outgoing
from helix_shared.accesses import AccessedMemory, encode_accesses
from helix_shared.audit.record import AuditRecord
from helix_shared.broker.audit_messages import audit_messages
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helix_memory.recall.v1 import recall_pb2


@dataclass(slots=True)
class AccessCounts:
    """Accesses since the last message, by tenant and memory."""

    ring: str = ""
    first: int = 0
    last: int = 0
    memories: int = 0
    """Memories counted, and audit records."""
    _audits: list[tuple[int, AuditRecord]] = field(default_factory=list)
    _by_tenant: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)

    def continues(self, batch: recall_pb2.AccessBatch) -> bool:
        """Whether a batch is of the ring counted so far, or the first one."""
        return self.ring in ("", batch.ring)

    def add(self, batch: recall_pb2.AccessBatch) -> None:
        """Count the accesses of a batch that `continues`, and keep its audit records."""
        self.ring = batch.ring
        self._audits += [(one.number, _audit_record(one)) for one in batch.audits]
        self.memories += len(batch.audits)
        for access in batch.accesses:
            self.first, self.last = self.first or access.number, access.number
            at = microseconds(access.at.ToDatetime(UTC))
            counted = self._by_tenant.setdefault(access.tenant_id, {})
            for memory_id in set(access.memory_ids):
                times, last_at = counted.get(memory_id, (0, 0))
                self.memories += times == 0
                counted[memory_id] = (times + 1, max(last_at, at))

    def messages(self) -> Iterator[Outgoing]:
        """One message a tenant, or several if it has more memories than a message may hold; then audits."""
        for tenant, counted in sorted(self._by_tenant.items()):
            memories = [AccessedMemory(name, *values) for name, values in sorted(counted.items())]
            for part, start in enumerate(range(0, len(memories), limits.ACCESSED_MEMORIES)):
                yield Outgoing(
                    subjects.access_subject(tenant),
                    encode_accesses(memories[start : start + limits.ACCESSED_MEMORIES]),
                    subjects.access_message_id(self.ring, self.first, self.last, tenant, part),
                )
        yield from audit_messages(self._audits, self.ring, subjects.calls_subject)


def _audit_record(one: recall_pb2.AuditRecord) -> AuditRecord:
    return AuditRecord(
        at=one.at.ToDatetime(UTC).isoformat(timespec="milliseconds"),
        call=one.call,
        outcome=one.outcome,
        tenant_id=one.tenant_id,
        requested_tenant_id=one.requested_tenant_id,
        credential=one.credential,
        user_id=one.user_id,
        roles=tuple(one.roles),
        address=one.address,
        memory_ids=tuple(one.memory_ids),
        count=one.count,
        generation=one.generation,
    )
