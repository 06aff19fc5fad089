"""Fields that several kinds of event share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from helix_memory import limits, subjects
from helix_memory.events.field_types import EventId, Moment, Name, Priority, Tags, Title, Token, Unit
from helix_memory.vocabulary.memory_types import MemoryType


class EventBase(BaseModel):
    """Fields of every event: identity, scope and time."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    event_id: EventId = Field(description="Unique inside the tenant; repeating it changes nothing.")
    tenant_id: Token = Field(description="Isolation boundary; equals the tenant token of the subject.")
    session_id: Token | Literal[""] = Field(
        default="", description="Conversation or run; empty outside any session."
    )
    user_id: Name | Literal[""] = Field(
        default="",
        description="When set, only recalls for this user return memories of the event, unless shared.",
    )
    project_id: Name | Literal[""] = Field(default="", description="Project the event belongs to.")
    acl: Annotated[list[Name], Field(max_length=limits.PRINCIPALS)] = Field(
        default_factory=list, description="When not empty, a recall must name one of these principals."
    )
    shared: bool = Field(
        default=False, description="Visible to every user of the tenant although user_id is set."
    )
    occurred_at: Moment | None = Field(
        default=None,
        description="When it happened, with time zone; words like 'yesterday' in its text mean days of that "
        "zone. When absent: the time of publishing, in UTC.",
    )
    tags: Tags = Field(default_factory=list, description="Free labels; they become categories of the memory.")

    @field_validator("tenant_id", "session_id")
    @classmethod
    def _is_not_reserved(cls, token: str) -> str:
        if token == subjects.NO_SESSION:
            message = f"{token!r} is reserved: as a subject token it means no session"
            raise ValueError(message)
        return token


class MemoryFields(BaseModel):
    """Optional fields of an explicit memory and of a correction.

    When a field is absent, Helix chooses the value of a memory, and a correction keeps the old value.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: MemoryType | None = Field(default=None, description="Memory type.")
    title: Title = Field(default="", description="Title: name of the thing that the text defines.")
    salience: Unit | None = Field(default=None, description="Importance, 0 to 1.")
    confidence: Unit | None = Field(default=None, description="Confidence in the statement, 0 to 1.")
    pinned: bool | None = Field(default=None, description="Pinned memories are boosted.")
    priority: Priority | None = Field(default=None, description="Multiplier of relevance, 1 to 2.")
    valid_from: Moment | None = Field(default=None, description="Not recalled before.")
    valid_to: Moment | None = Field(default=None, description="Not recalled from then on.")
    expires_at: Moment | None = Field(default=None, description="Forgotten from then on.")
    event_start: Moment | None = Field(default=None, description="When the described event begins.")
    event_end: Moment | None = Field(default=None, description="First moment after the described event.")

    @model_validator(mode="after")
    def _times_are_ordered(self) -> MemoryFields:
        for start, end in (("valid_from", "valid_to"), ("event_start", "event_end")):
            first, last = getattr(self, start), getattr(self, end)
            if first is not None and last is not None and first > last:
                message = f"{start} must not be after {end}"
                raise ValueError(message)
        return self
