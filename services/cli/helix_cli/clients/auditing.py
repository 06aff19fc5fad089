"""Audit records of commands, and reading HELIX_AUDIT.

A command acts through NATS and not through the query service, so it writes its own record. That needs the
operator's user: a user of a tenant may not write the stream, or its records would prove nothing.
"""

from __future__ import annotations

import getpass
import socket
import uuid
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError

from helix_cli.clients.broker import connected, run_async
from helix_cli.output.terminal import note
from helix_memory import subjects
from helix_memory.transport.publisher import Publisher
from helix_shared.audit.record import MOST_IDS, OK, AuditRecord, decode_records
from helix_shared.broker.audit_messages import audit_messages
from helix_shared.broker.log_reader import read_range
from helix_shared.errors import HelixError, PermanentError
from helix_shared.errors import NotFoundError as NothingFoundError

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_memory.transport.credentials import NatsCredentials

PROVISION: Final = "there is no audit stream yet; run `helix provision`"


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Which records are read; an empty field takes all."""

    tenant: str = ""
    who: str = ""
    since: datetime | None = None

    def takes(self, record: AuditRecord) -> bool:
        """Whether a record is one of them; `who` is a credential, a user or an address, or its beginning."""
        is_late = self.since is None or datetime.fromisoformat(record.at) >= self.since
        return is_late and (not self.who or any(name.startswith(self.who) for name in record.who))


def record_command(
    address: str,
    call: str,
    *,
    instance: str,
    credentials: NatsCredentials | None,
    tenants: Collection[str],
    outcome: str = OK,
    user_id: str = "",
    memory_ids: Collection[str] = (),
    count: int = 0,
) -> None:
    """Write that a command ran for `tenants`; empty: for all. A failure is told, and fails nothing."""
    if credentials is not None and credentials.is_of_tenant:
        return
    made = AuditRecord(
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        call=call,
        outcome=outcome,
        credential=f"os:{getpass.getuser()}",
        user_id=user_id,
        address=socket.gethostname(),
        memory_ids=tuple(memory_ids)[:MOST_IDS],
        count=count,
    )
    records = [(number, replace(made, tenant_id=one)) for number, one in enumerate(tenants or [""], start=1)]

    async def work() -> None:
        async with connected(address, instance=instance, credentials=credentials) as jetstream:
            publisher = Publisher(jetstream)
            for message in audit_messages(records, uuid.uuid4().hex):
                await publisher.publish(message.subject, message.body, message_id=message.message_id)

    try:
        run_async(work())
    except HelixError as error:
        note(f"not in the audit stream: {error}")


async def newest_records(client: Client, only: RecordFilter, *, limit: int) -> list[AuditRecord]:
    """The newest records, oldest first.

    Raises:
        NotFoundError: there is no such stream.
        TemporaryError: NATS does not answer.
    """
    try:
        last = (await client.jetstream().stream_info(subjects.AUDIT_STREAM)).state.last_seq
    except NotFoundError:
        raise NothingFoundError(PROVISION) from None
    found: deque[AuditRecord] = deque(maxlen=limit)
    filters = [subjects.audit_subject(only.tenant or "*")]
    async for messages in read_range(client, subjects.AUDIT_STREAM, filters, until=last):
        for message in messages:
            if only.since is None or message.stored_at >= only.since:
                found.extend(filter(only.takes, _records(message.body, message.sequence)))
    return list(found)


def _records(body: bytes, sequence: int) -> list[AuditRecord]:
    try:
        return decode_records(body)
    except PermanentError as error:
        note(f"record {sequence} left out: {error}")
        return []
