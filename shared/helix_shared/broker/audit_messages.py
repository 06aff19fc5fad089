"""Messages of both audit streams, for processes that publish them; query has no NATS and uses `record`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from helix_memory import subjects
from helix_memory.transport.batch import Outgoing
from helix_shared.audit.record import AuditRecord, encode_records

RECORDS_TOGETHER: Final = 100
"""Records in one message."""


def audit_messages(
    records: Sequence[tuple[int, AuditRecord]],
    source: str,
    subject_of: Callable[[str], str] = subjects.audit_subject,
) -> Iterator[Outgoing]:
    """Messages of one tenant each; `source` and the numbers of the records make their ids.

    `subject_of` gives the subject of a tenant: `subjects.calls_subject` for calls of the query service.
    """
    by_tenant: dict[str, list[tuple[int, AuditRecord]]] = {}
    for number, record in records:
        by_tenant.setdefault(record.tenant_id, []).append((number, record))
    for tenant, own in sorted(by_tenant.items()):
        for start in range(0, len(own), RECORDS_TOGETHER):
            part = own[start : start + RECORDS_TOGETHER]
            yield Outgoing(
                subject_of(tenant),
                encode_records([record for _, record in part]),
                subjects.audit_message_id(source, part[0][0], part[-1][0], tenant),
            )
