"""Audit records of commands, and reading HELIX_AUDIT and HELIX_CALLS.

A command acts through NATS and not through the query service, so it writes its own record. That needs the
operator's user: a user of a tenant may not write the stream, or its records would prove nothing.
"""

from __future__ import annotations

import getpass
import os
import socket
import uuid
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError

from helix_cli.clients.broker import jetstream_of, run_async
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

    from helix_cli.clients.broker import NatsServer

CANCELLED: Final = "CANCELLED"
REFUSED: Final = "INVALID_ARGUMENT"
"""Outcome of a command whose event is refused."""
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


@dataclass(slots=True)
class CommandRecord:
    """What the audit record of a command says; a command fills in what it learns."""

    tenants: Collection[str]
    """Empty: all."""
    user_id: str = ""
    memory_ids: Collection[str] = ()
    count: int | Mapping[str, int] = 0
    """Of each tenant, or one for all."""
    outcome: str = ""
    """What was accepted stays so, also where the command fails afterwards."""


@contextmanager
def recorded(server: NatsServer, call: str, record: CommandRecord) -> Iterator[CommandRecord]:
    """Write an audit record of what the block does, also where it fails; each tenant gets one.

    A record that cannot be written is told, and fails nothing.
    """
    try:
        yield record
        record.outcome = record.outcome or OK
    except BaseException as error:
        record.outcome = record.outcome or _status_of(error)
        raise
    finally:
        if server.nats is None or not server.nats.is_of_tenant:
            _write(server, call, record)


def _write(server: NatsServer, call: str, record: CommandRecord) -> None:
    made = AuditRecord(
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        call=call,
        outcome=record.outcome,
        credential=f"os:{_user()}",
        user_id=record.user_id,
        address=socket.gethostname(),
        memory_ids=tuple(record.memory_ids)[:MOST_IDS],
    )
    tenants = record.tenants or [""]
    records = [
        (number, replace(made, tenant_id=one, count=_count_of(one, record.count)))
        for number, one in enumerate(tenants, start=1)
    ]

    async def work() -> None:
        async with jetstream_of(server) as jetstream:
            publisher = Publisher(jetstream)
            for message in audit_messages(records, uuid.uuid4().hex):
                await publisher.publish(message.subject, message.body, message_id=message.message_id)

    try:
        run_async(work())
    except HelixError as error:
        note(f"not in the audit stream: {error}")


def _count_of(tenant: str, count: int | Mapping[str, int]) -> int:
    return count if isinstance(count, int) else count.get(tenant, 0)


def _status_of(error: BaseException) -> str:
    """Name of the gRPC status that a call with this error would have."""
    from helix_shared.rpc.statuses import status_of  # noqa: PLC0415  gRPC is slow to import

    return status_of(error)[0].name if isinstance(error, Exception) else CANCELLED


def _user() -> str:
    """Name of the user of this process; its number where the system has no name for it, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, ImportError, OSError):
        return str(os.getuid())


async def newest_records(client: Client, only: RecordFilter, *, limit: int) -> list[AuditRecord]:
    """The newest records of calls, commands and erasures, oldest first.

    Raises:
        NotFoundError: there is no such stream.
        TemporaryError: NATS does not answer.
    """
    tenant, found = only.tenant or "*", list[AuditRecord]()
    for stream, subject in (
        (subjects.AUDIT_STREAM, subjects.audit_subject(tenant)),
        (subjects.CALLS_STREAM, subjects.calls_subject(tenant)),
    ):
        found += await _newest_of(client, stream, subject, only, limit=limit)
    return sorted(found, key=lambda record: datetime.fromisoformat(record.at))[-limit:]


async def _newest_of(
    client: Client, stream: str, subject: str, only: RecordFilter, *, limit: int
) -> deque[AuditRecord]:
    """Those of one stream, in its order."""
    try:
        last = (await client.jetstream().stream_info(stream)).state.last_seq
    except NotFoundError:
        raise NothingFoundError(PROVISION) from None
    found: deque[AuditRecord] = deque(maxlen=limit)
    async for messages in read_range(client, stream, [subject], since=only.since, until=last):
        for message in messages:
            found.extend(filter(only.takes, _records(message.body, message.sequence)))
    return found


def _records(body: bytes, sequence: int) -> list[AuditRecord]:
    try:
        return decode_records(body)
    except PermanentError as error:
        note(f"record {sequence} left out: {error}")
        return []
