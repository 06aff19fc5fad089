"""Records of the audit streams, and the body of a message of HELIX_AUDIT or HELIX_CALLS.

A record never holds a text, a question, a metadata value or a session. User id, credential and address may
name a person; the ids of memories name nothing once they are erased.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from helix_memory import limits
from helix_shared.errors import PermanentError

VERSION: Final = 1
MOST_IDS: Final = 100
"""Ids of memories in one record; `count` has their number."""
OK: Final = "OK"
ADDRESS_CHARACTERS: Final = 128


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One call or command, and what became of it."""

    at: str
    """When it ended, ISO 8601 in UTC."""
    call: str
    """The name of the RPC; else that of a command, as `cli.erase`, `cli.export` or `cli.dlq.redrive`, or, of
    the writer, `event.erase`, `letters.redrive` or `letters.drop`."""
    outcome: str
    """OK, or the name of the gRPC status."""
    tenant_id: str = ""
    """Whose record it is; empty: no tenant is proven, or all are meant."""
    requested_tenant_id: str = ""
    """The one that was asked for, where it was refused."""
    credential: str = ""
    """Id of the credential; `os:<user>` of a command; empty: without authentication."""
    user_id: str = ""
    roles: tuple[str, ...] = ()
    address: str = ""
    memory_ids: tuple[str, ...] = ()
    count: int = 0
    generation: int = 0

    @classmethod
    def of(cls, value: dict[str, Any]) -> Self:
        """The record that a message holds."""
        lists = {name: tuple(value[name]) for name in ("roles", "memory_ids")}
        return cls(**(value | lists))

    @property
    def who(self) -> tuple[str, ...]:
        """What names the caller."""
        return tuple(name for name in (self.credential, self.user_id, self.address) if name)


def encode_records(records: Sequence[AuditRecord]) -> bytes:
    """The body of a message."""
    rows = [asdict(record) for record in records]
    return json.dumps({"version": VERSION, "records": rows}, separators=(",", ":")).encode()


def decode_records(body: bytes) -> list[AuditRecord]:
    """The records of a message.

    Raises:
        PermanentError: the body has another form.
    """
    try:
        value = json.loads(body)
        if value["version"] != VERSION:
            raise PermanentError(f"audit message is not of version {VERSION}")
        return [AuditRecord.of(row) for row in value["records"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PermanentError("audit message is malformed") from error


def short(value: str) -> str:
    """A name within its limit; else nothing, since it might be anything."""
    return value if len(value) <= limits.NAME_CHARACTERS else ""
