"""What travels between the steps of ingest: a turn of the past, a piece of text, a draft memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from helix_memory.events import Event
from helix_shared.audience import Scope


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event as it stands in the log."""

    event: Event
    sequence: int
    stored_at: datetime

    @property
    def occurred_at(self) -> datetime:
        """When it happened; the time of publishing when the publisher did not say."""
        return self.event.occurred_at or self.stored_at

    @property
    def scope(self) -> Scope:
        """Where its memories belong and who may recall them."""
        event = self.event
        return Scope.of(
            tenant_id=event.tenant_id,
            user_id=event.user_id,
            project_id=event.project_id,
            session_id=event.session_id,
            acl=event.acl,
            shared=event.shared,
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """A contiguous part of a text, `text == source[start:end]` up to outer white space."""

    text: str
    start: int
    end: int
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """One memory before it is scored and embedded."""

    logged: LoggedEvent
    piece: int
    text: str
    title: str
    context: str
    char_start: int
    char_end: int
    passage: str
    """What the memory's own vector is made of."""
    window: str
    """What its context vector is made of; empty: the own vector stands alone."""
    revision_sequence: int
