"""Which events of the log an erasure selects besides those of the memories that it removed.

They have no memory: refused ones, small talk, opinions with a question. The rule of reach is that of memories
(`ledger.event_reach`). Events that only name ids (erase, forget, undo, the deletion of a document) stay: a
rebuild needs them, and they hold no text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helix_consolidation.ledger.event_reach import value_code, visibility_of
from helix_memory import subjects
from helix_shared.audience import audience_of, owner_of
from helix_shared.keys.owner import fields_of, holds_text

if TYPE_CHECKING:
    from helix_consolidation.ledger.event_reach import Actor
    from helix_memory.events import EraseEvent


def subject_of(event: EraseEvent) -> str:
    """Subject of all events that an erasure of a session, document or user may select."""
    session = event.of_session or "*"
    kind = "document" if event.of_document else "*"
    return f"{subjects.ROOT}.events.{event.tenant_id}.{session}.{kind}"


def selects(event: EraseEvent, actor: Actor, subject: str, body: bytes) -> str | None:
    """The id of a logged event that an erasure selects, empty where it cannot be read; None: it does not."""
    address = subjects.parse_event_subject(subject)
    fields = fields_of(body)
    if address is None or not holds_text(address.kind, fields):
        return None
    named = {
        "session": (event.of_session, address.session_id),
        "document": (event.of_document, fields.get("document_id")),
        "user": (event.of_user, fields.get("user_id")),
    }
    is_selected = any(wanted and wanted == found for wanted, found in named.values())
    return str(fields.get("event_id", "")) if is_selected and _reaches(actor, event, fields) else None


def _reaches(actor: Actor, event: EraseEvent, fields: dict[str, Any]) -> bool:
    """Whether the actor could recall a memory of the event; a user's actor reaches nothing unreadable."""
    user, acl = fields.get("user_id", ""), fields.get("acl", [])
    if not isinstance(user, str) or not isinstance(acl, list) or not all(isinstance(a, str) for a in acl):
        return not event.user_id
    if event.user_id and not fields:
        return False
    owner = owner_of(user, shared=fields.get("shared") is True)
    visibility = visibility_of(event.tenant_id, owner, audience_of(acl))
    return actor.reaches(visibility, value_code(event.tenant_id, "user", user))
