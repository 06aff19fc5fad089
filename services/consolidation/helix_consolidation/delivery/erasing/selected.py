"""Which events of the log erasures select besides those of the memories that they removed.

They have no memory: refused ones, small talk, opinions with a question. The rule of reach is that of memories
(`ledger.event_reach`). Events that only name ids (erase, forget, undo, the deletion of a document) stay: a
rebuild needs them, and they hold no text.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from helix_consolidation.ledger.event_reach import value_code, visibility_of
from helix_consolidation.ledger.lifecycle.erasures import LoggedCandidate
from helix_memory import subjects
from helix_shared.audience import audience_of, owner_of
from helix_shared.json_object import json_object
from helix_shared.keys.owner import holds_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from helix_consolidation.delivery.erasing.round import ErasureTask
    from helix_consolidation.ledger.event_reach import Actor
    from helix_memory.events import EraseEvent

_SELECTORS: Final = {"of_session": "session", "of_document": "document", "of_user": "user"}


class Selector(NamedTuple):
    """An erasure, and the event that asked for it."""

    task: ErasureTask
    event: EraseEvent


class Selectors:
    """Many erasures of one tenant; an event is compared with those alone that name its parts."""

    def __init__(self, selectors: Iterable[Selector]) -> None:
        self._by_value: defaultdict[tuple[str, str], list[Selector]] = defaultdict(list)
        for one in selectors:
            for field, part in _SELECTORS.items():
                if value := getattr(one.event, field):
                    self._by_value[part, value].append(one)

    def of(self, subject: str, sequence: int, body: bytes) -> Iterator[tuple[ErasureTask, LoggedCandidate]]:
        """The erasures that select a logged event, each with it; its id is empty where it cannot be read."""
        address = subjects.parse_event_subject(subject)
        fields = json_object(body)
        if address is None or not holds_text(address.kind, fields):
            return
        parts = {
            "session": address.session_id,
            "document": fields.get("document_id"),
            "user": fields.get("user_id"),
        }
        named = {
            one.task.sequence: one
            for part, value in parts.items()
            if isinstance(value, str)
            for one in self._by_value.get((part, value), ())
        }
        for one in named.values():
            if sequence < one.task.sequence and _reaches(one.task.actor, one.event, fields):
                name = str(fields.get("event_id", ""))
                yield one.task, LoggedCandidate(one.task.tenant_id, sequence, name, address.session_id)


def subject_of(event: EraseEvent) -> str:
    """Subject of all events that an erasure of a session, document or user may select."""
    session = event.of_session or "*"
    kind = "document" if event.of_document else "*"
    return subjects.events_of_kind(kind, tenant_id=event.tenant_id, session_id=session)


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
