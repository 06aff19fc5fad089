"""Events about existing memories: forget, erase, undo, feedback."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from helix_memory import limits
from helix_memory.events.base import EventBase
from helix_memory.events.field_types import MemoryId, Name, Token


class Selector(BaseModel):
    """The memories that `forget` and `erase` select; exactly one field is set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    memory_ids: Annotated[list[MemoryId], Field(max_length=limits.SELECTED_IDS)] = Field(
        default_factory=list, description="Single memories."
    )
    of_session: Token | Literal[""] = Field(default="", description="All memories of a session.")
    of_document: Name | Literal[""] = Field(default="", description="All memories of a document.")
    of_user: Name | Literal[""] = Field(default="", description="All memories of a user.")

    @model_validator(mode="after")
    def _names_one_thing(self) -> Selector:
        named = sum(map(bool, (self.memory_ids, self.of_session, self.of_document, self.of_user)))
        if named != 1:
            message = "exactly one of memory_ids, of_session, of_document, of_user must be given"
            raise ValueError(message)
        return self


class ForgetEvent(EventBase, Selector):
    """Hides memories; `restore` shows memories again that an earlier forget hid.

    It applies to memories that a recall for its user and acl could return, without a user to all of the
    tenant. All others are ignored without an error, as if they did not exist. Forgetting a correction brings
    back the version before it.
    """

    kind: Literal["forget"] = "forget"
    restore: bool = Field(default=False, description="Undo an earlier forget of the same selection.")


class EraseEvent(EventBase, Selector):
    """Removes memories for good. It applies to the same memories as `forget`.

    A memory that is named by id goes with the versions that it had replaced; later versions stay.
    A memory is erased with its whole event: every piece, what was derived from it, what other memories
    quote of it, the event in the log, its dead letters. This event stays: it holds ids only. `GetErasure`
    has the receipt.
    """

    kind: Literal["erase"] = "erase"


class UndoEvent(EventBase):
    """Takes back how a memory was related to earlier and later ones, up to this event.

    What it had closed holds again, what had closed it does so no longer, and its links go; the decision is
    not made again. It applies to the same memories as `forget`.
    """

    kind: Literal["undo"] = "undo"
    memory_id: MemoryId = Field(description="Memory whose relations are taken back.")
    other: MemoryId | Literal[""] = Field(
        default="", description="Only the relation to this memory; empty: all relations."
    )


class FeedbackEvent(EventBase):
    """Which served memories helped and which did not. It applies to the same memories as `forget`.

    The question is kept where its publisher states it, and nowhere else: the query service records none. The
    lab learns from it what the words of the tenant mean. Leave it out if the log must not hold it.
    """

    kind: Literal["feedback"] = "feedback"
    helpful: Annotated[list[MemoryId], Field(max_length=limits.SELECTED_IDS)] = Field(
        default_factory=list, description="Served memories that helped."
    )
    unhelpful: Annotated[list[MemoryId], Field(max_length=limits.SELECTED_IDS)] = Field(
        default_factory=list, description="Served memories that did not help."
    )
    query: Annotated[str, Field(max_length=limits.QUERY_CHARACTERS)] = Field(
        default="", description="Question that the memories were served for; empty: it is not kept."
    )

    @model_validator(mode="after")
    def _says_something(self) -> FeedbackEvent:
        if not (self.helpful or self.unhelpful):
            message = "helpful or unhelpful must name a memory"
            raise ValueError(message)
        return self
