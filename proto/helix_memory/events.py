"""The events a program may publish: one model per kind, one discriminated union over all.

An event is an immutable fact. `event_id` makes it repeatable: publishing the same id again
changes nothing. Unknown fields are refused, because a misspelt field would otherwise be lost
without a word (ops/decisions/0003). Limits are in `helix_memory.limits`, subjects in
`helix_memory.subjects`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final, Literal, get_args

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from helix_memory import limits, subjects
from helix_memory.refusal import first_broken

MemoryType = Literal["episodic", "semantic", "procedural", "decision", "code"]
MEMORY_TYPES: Final[tuple[MemoryType, ...]] = get_args(MemoryType)
"""All memory types; a generation stores the index of a type here. Add at the end only."""
Role = Literal["user", "assistant", "system", "tool"]

_NAME: Final = re.compile(limits.NAME_PATTERN)
_MEMORY_ID: Final = re.compile(limits.MEMORY_ID_PATTERN)


def _in_bounds(moment: datetime) -> datetime:
    if not limits.FIRST_YEAR < moment.year <= limits.LAST_YEAR:
        message = f"must lie in the years {limits.FIRST_YEAR + 1} to {limits.LAST_YEAR}"
        raise ValueError(message)
    return moment


def _without_control_characters(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        message = "must not hold control characters"
        raise ValueError(message)
    return name


def _is_memory_id(memory_id: str) -> str:
    if _MEMORY_ID.fullmatch(memory_id) is None:
        message = "must be 32 hexadecimal digits in lower case"
        raise ValueError(message)
    return memory_id


Moment = Annotated[AwareDatetime, AfterValidator(_in_bounds)]
Token = Annotated[str, StringConstraints(pattern=limits.TOKEN_PATTERN)]
EventId = Annotated[str, StringConstraints(pattern=limits.EVENT_ID_PATTERN)]
Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=limits.NAME_CHARACTERS),
    AfterValidator(_without_control_characters),
    Field(json_schema_extra={"pattern": limits.NAME_PATTERN}),
]
MemoryId = Annotated[
    str, AfterValidator(_is_memory_id), Field(json_schema_extra={"pattern": limits.MEMORY_ID_PATTERN})
]
Text = Annotated[str, StringConstraints(min_length=1, max_length=limits.TEXT_CHARACTERS, pattern=r"\S")]
OptionalText = Annotated[str, StringConstraints(max_length=limits.TEXT_CHARACTERS)]
Title = Annotated[str, StringConstraints(max_length=limits.TITLE_CHARACTERS)]
Unit = Annotated[float, Field(ge=0.0, le=1.0)]
Priority = Annotated[float, Field(ge=1.0, le=2.0)]
Tags = Annotated[list[Name], Field(max_length=limits.TAGS)]


class EventBase(BaseModel):
    """What every event carries: identity, scope and time."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    event_id: EventId = Field(description="Unique inside the tenant; repeating it changes nothing.")
    tenant_id: Token = Field(description="Isolation boundary; equals the tenant token of the subject.")
    session_id: Token | Literal[""] = Field(
        default="", description="Conversation or run; empty outside any session."
    )
    user_id: Name | Literal[""] = Field(
        default="",
        description="When set, only recalls for this user see what comes of the event, unless shared.",
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
        description="When it happened, with time zone, whose days are those of its text ('yesterday'); "
        "the time of publishing, in UTC, when absent.",
    )
    tags: Tags = Field(default_factory=list, description="Free labels; they become categories of the memory.")

    @field_validator("tenant_id", "session_id")
    @classmethod
    def _is_not_reserved(cls, token: str) -> str:
        if token == subjects.NO_SESSION:
            message = f"{token!r} is reserved: as a subject token it means none"
            raise ValueError(message)
        return token


class MessageEvent(EventBase):
    """A turn of a conversation."""

    kind: Literal["message"] = "message"
    role: Role = Field(description="Who speaks.")
    speaker: Name | Literal[""] = Field(default="", description="Name of the speaker.")
    text: Text = Field(description="What was said.")


class ToolEvent(EventBase):
    """A tool call and its result."""

    kind: Literal["tool"] = "tool"
    tool: Name = Field(description="Name of the tool.")
    command: OptionalText = Field(default="", description="Command line or call as text.")
    file_path: Annotated[str, StringConstraints(max_length=limits.URI_CHARACTERS)] = Field(
        default="", description="File the call touched."
    )
    exit_status: int | None = Field(
        default=None, ge=-(2**31), lt=2**31, description="Exit status; 0 is success."
    )
    output: OptionalText = Field(default="", description="What the tool printed.")
    error: OptionalText = Field(default="", description="Error text.")

    @model_validator(mode="after")
    def _says_something(self) -> ToolEvent:
        if not any(part.strip() for part in (self.command, self.file_path, self.output, self.error)):
            message = "one of command, file_path, output or error must hold text"
            raise ValueError(message)
        return self


class MemoryFields(BaseModel):
    """What an explicit memory or a correction may set; absent: Helix decides, or the old value stays."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: MemoryType | None = Field(default=None, description="Memory type.")
    title: Title = Field(default="", description="Title; it names the thing the text defines.")
    salience: Unit | None = Field(default=None, description="Importance, 0 to 1.")
    confidence: Unit | None = Field(default=None, description="Trust in the source, 0 to 1.")
    pinned: bool | None = Field(default=None, description="Pinned memories are boosted.")
    priority: Priority | None = Field(default=None, description="Multiplier of relevance, 1 to 2.")
    valid_from: Moment | None = Field(default=None, description="Not recalled before.")
    valid_to: Moment | None = Field(default=None, description="Not recalled from then on.")
    expires_at: Moment | None = Field(default=None, description="Forgotten from then on.")
    event_start: Moment | None = Field(default=None, description="When the thing spoken of begins.")
    event_end: Moment | None = Field(default=None, description="First moment after the thing spoken of.")

    @model_validator(mode="after")
    def _times_are_ordered(self) -> MemoryFields:
        for start, end in (("valid_from", "valid_to"), ("event_start", "event_end")):
            first, last = getattr(self, start), getattr(self, end)
            if first is not None and last is not None and first > last:
                message = f"{start} must not be after {end}"
                raise ValueError(message)
        return self


class MemoryEvent(EventBase, MemoryFields):
    """An explicit memory."""

    kind: Literal["memory"] = "memory"
    text: Text = Field(description="Self-contained text of the memory.")


class DocumentPart(BaseModel):
    """One section of a document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    heading: Title = Field(default="", description="Heading of the section.")
    text: Text = Field(description="Text of the section.")


class DocumentEvent(EventBase):
    """A source text. The same `document_id` replaces it; `deleted` is its tombstone.

    A version published for a user replaces that user's own pieces, whatever their acl, and no other's; one
    without a user replaces all pieces. A tombstone deletes the pieces that a recall for its user and acl
    could return; without a user, all.
    """

    kind: Literal["document"] = "document"
    document_id: Name = Field(description="Identity of the document inside the tenant.")
    title: Title = Field(default="", description="Title of the document.")
    body: OptionalText = Field(default="", description="The whole text; excludes parts.")
    parts: Annotated[list[DocumentPart], Field(max_length=limits.DOCUMENT_PARTS)] = Field(
        default_factory=list, description="The text in sections; excludes body."
    )
    media_type: Literal["text/plain", "text/markdown"] = Field(
        default="text/plain", description="Decides how the body is cut: Markdown at its headings."
    )
    source_uri: Annotated[str, StringConstraints(max_length=limits.URI_CHARACTERS)] = Field(
        default="", description="Where the document came from."
    )
    type: MemoryType | None = Field(
        default=None, description="Type of its chunks; Helix decides when absent."
    )
    deleted: bool = Field(default=False, description="Tombstone: the document is gone.")

    @model_validator(mode="after")
    def _has_one_content(self) -> DocumentEvent:
        contents = bool(self.body.strip()) + bool(self.parts)
        if contents != (0 if self.deleted else 1):
            message = "a document has either body or parts; a tombstone (deleted) has neither"
            raise ValueError(message)
        return self


class CorrectEvent(EventBase, MemoryFields):
    """The next version of a memory: its new text, and new values of the fields that are given.

    A field that is absent keeps the value of the corrected memory, one that is empty or null loses it. Who
    may recall it never changes: user_id and acl say for whom the event acts. A memory that a recall for them
    could not return is refused like one that does not exist; without a user the event acts for the tenant.
    """

    kind: Literal["correct"] = "correct"
    memory_id: MemoryId = Field(description="The memory that is corrected.")
    text: Text = Field(description="The text as it should read.")


class Selector(BaseModel):
    """What `forget` and `erase` speak of; exactly one way of naming it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    memory_ids: Annotated[list[MemoryId], Field(max_length=limits.SELECTED_IDS)] = Field(
        default_factory=list, description="Single memories."
    )
    of_session: Token | Literal[""] = Field(default="", description="Everything of a session.")
    of_document: Name | Literal[""] = Field(default="", description="Everything of a document.")
    of_user: Name | Literal[""] = Field(default="", description="Everything of a user.")

    @model_validator(mode="after")
    def _names_one_thing(self) -> Selector:
        named = sum(map(bool, (self.memory_ids, self.of_session, self.of_document, self.of_user)))
        if named != 1:
            message = "exactly one of memory_ids, of_session, of_document, of_user must be given"
            raise ValueError(message)
        return self


class ForgetEvent(EventBase, Selector):
    """Hide, reversibly: `restore` brings back what an earlier forget hid.

    It reaches what a recall for its user and acl could return; without a user it acts for the tenant.
    Anything else is passed over without a word, as if it did not exist. A correction that is forgotten gives
    the version before it back.
    """

    kind: Literal["forget"] = "forget"
    restore: bool = Field(default=False, description="Undo an earlier forget of the same selection.")


class EraseEvent(EventBase, Selector):
    """Remove from every store of memories. It reaches what `forget` reaches.

    What neighbouring turns quote of it as their context, and the event in the log, go with the memory
    lifecycle that is still to come.
    """

    kind: Literal["erase"] = "erase"


class FeedbackEvent(EventBase):
    """Which served memories helped, and which did not. It reaches what `forget` reaches."""

    kind: Literal["feedback"] = "feedback"
    helpful: Annotated[list[MemoryId], Field(max_length=limits.SELECTED_IDS)] = Field(
        default_factory=list, description="Ids of served memories that helped."
    )
    unhelpful: Annotated[list[MemoryId], Field(max_length=limits.SELECTED_IDS)] = Field(
        default_factory=list, description="Ids of served memories that did not help."
    )

    @model_validator(mode="after")
    def _says_something(self) -> FeedbackEvent:
        if not (self.helpful or self.unhelpful):
            message = "helpful or unhelpful must name a memory"
            raise ValueError(message)
        return self


class SessionEvent(EventBase):
    """A session started or ended."""

    kind: Literal["session"] = "session"
    phase: Literal["started", "ended"] = Field(description="What happened to the session.")

    @model_validator(mode="after")
    def _has_a_session(self) -> SessionEvent:
        if not self.session_id:
            message = "session_id must be given"
            raise ValueError(message)
        return self


Event = Annotated[
    MessageEvent
    | ToolEvent
    | MemoryEvent
    | DocumentEvent
    | CorrectEvent
    | ForgetEvent
    | EraseEvent
    | FeedbackEvent
    | SessionEvent,
    Field(discriminator="kind"),
]

EVENT_ADAPTER: Final[TypeAdapter[Event]] = TypeAdapter(Event)
EVENT_MODELS: Final[Mapping[str, type[EventBase]]] = {
    "message": MessageEvent,
    "tool": ToolEvent,
    "memory": MemoryEvent,
    "document": DocumentEvent,
    "correct": CorrectEvent,
    "forget": ForgetEvent,
    "erase": EraseEvent,
    "feedback": FeedbackEvent,
    "session": SessionEvent,
}
LIFECYCLE_KINDS: Final = ("forget", "erase", "feedback")
"""Kinds that go straight to consolidation; ingest answers the rest."""


def parse_event(body: bytes) -> Event:
    """One event from its JSON body.

    Raises:
        pydantic.ValidationError: the body is no JSON or breaks a limit; `explain` words it.
    """
    return EVENT_ADAPTER.validate_json(body)


def encode_event(event: Event) -> bytes:
    """JSON body of an event: its kind and every field that differs from its default.

    Of a correction every field that was given, also where it is empty: what is absent keeps.
    """
    is_correction = isinstance(event, CorrectEvent)
    body = event.model_dump(mode="json", exclude_defaults=not is_correction, exclude_unset=is_correction)
    body["kind"] = event.kind
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def explain(error: ValidationError) -> str:
    """The first broken rule of a validation error as `field: reason`, without the input."""
    path, reason = first_broken(error, _fields_beside(error))
    # besides fields, the path names branches of unions: first the kind, later "constrained-str" or alike
    inside = path[1:] if path[:1] and path[0] in EVENT_MODELS else path
    field = ".".join(part for part in inside if part.isidentifier() or part.isdecimal()) or "event"
    return f"{field}: {reason}"


def _fields_beside(error: ValidationError) -> set[str]:
    """Names of the fields that the refused event, or its refused part, may have."""
    path = error.errors(include_url=False, include_input=False)[0]["loc"]
    model: type[BaseModel] | None = EVENT_MODELS.get(str(path[0])) if path else None
    if model is DocumentEvent and "parts" in path[1:2]:
        model = DocumentPart
    return set(model.model_fields) if model else set()


def subject_of(event: Event) -> str:
    """The subject an event is published on."""
    return subjects.event_subject(event.tenant_id, event.session_id, event.kind)
