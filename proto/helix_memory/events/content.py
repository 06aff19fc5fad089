"""Events that memories are made from: messages, tool calls, memories, documents, corrections, sessions."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from helix_memory import limits
from helix_memory.events.base import EventBase, MemoryFields
from helix_memory.events.field_types import MemoryId, Name, OptionalText, Said, Text, Title
from helix_memory.vocabulary.memory_types import MemoryType

Role = Literal["user", "assistant", "system", "tool"]
MediaType = Literal[
    "text/plain", "text/markdown", "text/html", "application/xhtml+xml", "application/pdf",
    "text/x-python", "text/javascript", "text/typescript", "text/x-go", "text/x-rust", "text/x-java",
]  # fmt: skip


class MessageEvent(EventBase):
    """A turn of a conversation."""

    kind: Literal["message"] = "message"
    role: Role = Field(description="Who speaks.")
    speaker: Name | Literal[""] = Field(default="", description="Name of the speaker.")
    text: Said = Field(description="What was said; passages in <private>...</private> are left out.")


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


class MemoryEvent(EventBase, MemoryFields):
    """An explicit memory."""

    kind: Literal["memory"] = "memory"
    text: Said = Field(description="Self-contained text of the memory; without <private>...</private>.")


class DocumentPart(BaseModel):
    """One section of a document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    heading: Title = Field(default="", description="Heading of the section.")
    text: Text = Field(description="Text of the section.")


class DocumentEvent(EventBase):
    """A source text. An event with the same `document_id` replaces it; `deleted` deletes it.

    A version with a user replaces the pieces of that user, whatever their acl, and no others; a version
    without a user replaces all pieces. A deletion removes the pieces that a recall for its user and acl could
    return; without a user, all pieces.

    Offsets of its pieces count characters of `body`, or of the texts of `parts` joined without a separator.
    For HTML and PDF they count characters of the extracted text, which `helix_ingest` makes from the source.
    """

    kind: Literal["document"] = "document"
    document_id: Name = Field(description="Identity of the document inside the tenant.")
    title: Title = Field(default="", description="Title of the document.")
    body: OptionalText = Field(default="", description="The whole text; excludes parts.")
    parts: Annotated[list[DocumentPart], Field(max_length=limits.DOCUMENT_PARTS)] = Field(
        default_factory=list, description="The text in sections; excludes body."
    )
    body_base64: Annotated[
        str,
        StringConstraints(max_length=(limits.DOCUMENT_BYTES + 2) // 3 * 4, pattern=r"^[A-Za-z0-9+/]*={0,2}$"),
    ] = Field(default="", description="The file as base64, for application/pdf; excludes body and parts.")
    media_type: MediaType = Field(
        default="text/plain",
        description="Markdown and HTML are split at headings, source code at functions and classes. "
        "Plain text is source code if the path of source_uri, or else the title, ends like its files.",
    )
    source_uri: Annotated[str, StringConstraints(max_length=limits.URI_CHARACTERS)] = Field(
        default="", description="Where the document came from."
    )
    type: MemoryType | None = Field(
        default=None, description="Type of its pieces; Helix chooses it when absent."
    )
    deleted: bool = Field(default=False, description="The document is deleted; it has no content.")

    @field_validator("body_base64")
    @classmethod
    def _is_base64(cls, body: str) -> str:
        try:
            base64.b64decode(body, validate=True)
        except binascii.Error:
            message = "is not base64"
            raise ValueError(message) from None
        return body

    @model_validator(mode="after")
    def _has_one_content(self) -> DocumentEvent:
        contents = bool(self.body.strip()) + bool(self.parts) + bool(self.body_base64)
        if contents != (0 if self.deleted else 1):
            message = "a document has either body or parts or body_base64; a deleted one has none of them"
            raise ValueError(message)
        if not self.deleted and bool(self.body_base64) != (self.media_type == "application/pdf"):
            message = "application/pdf comes in body_base64, every other media_type in body or parts"
            raise ValueError(message)
        return self


class CorrectEvent(EventBase, MemoryFields):
    """A new version of a memory: its new text and new values of the fields that are set.

    An absent field keeps the value of the corrected memory; an empty or null field removes it. Who may recall
    the memory never changes. The event acts for its user_id and acl: a memory that they could not
    recall is refused as if it did not exist. Without a user the event acts for the tenant.
    """

    kind: Literal["correct"] = "correct"
    memory_id: MemoryId = Field(description="The memory that is corrected.")
    text: Said = Field(description="The corrected text; without <private>...</private>.")


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
