"""Writes the audit record of an erasure, whether its event came from a client, NATS or a command.

NATS does not tell a reader who published an event, so the record has the user of the event. A command writes
a record of its own, with who ran it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_shared.audit.record import MOST_IDS, AuditRecord, short
from helix_shared.broker.audit_messages import audit_messages
from helix_shared.errors import HelixError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from helix_memory.events import EraseEvent
    from helix_memory.transport.publisher import Publishes

CALL: Final = "event.erase"

_log = logger(__name__)


async def record_erasure(publisher: Publishes, event: EraseEvent, sequence: int, memories: int) -> None:
    """Write the audit record of an erasure; a repetition within an hour is stored once.

    What fails is in the log, and holds up no erasure.
    """
    made = AuditRecord(
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        call=CALL,
        outcome="OK",
        tenant_id=event.tenant_id,
        user_id=short(event.user_id or event.of_user),
        memory_ids=tuple(event.memory_ids)[:MOST_IDS],
        count=memories,
    )
    try:
        for message in audit_messages([(sequence, made)], "erasure"):
            await publisher.publish(message.subject, message.body, message_id=message.message_id)
    except (HelixError, *UNANSWERED) as error:
        _log.warning("erasure not audited", sequence=sequence, reason=reason_of(error))
