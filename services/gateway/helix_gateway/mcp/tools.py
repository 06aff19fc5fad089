"""The seven tools, over the client. None names a tenant or a user, and none erases."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import AwareDatetime, Field

from helix_gateway.mcp.keeping import hide, keep
from helix_gateway.mcp.results import Kept, KeptChange, Memories, MemoryFound, MemoryList, Recollection, Why
from helix_gateway.mcp.tool import Tool
from helix_gateway.operations.requests import Arguments, MemoryId, Several, WriteSequence, given
from helix_memory import limits
from helix_memory.events.private_passages import without_private
from helix_memory.identity import digest
from helix_memory.vocabulary.memory_types import MemoryType
from helix_shared.errors import InvalidInputError, NotFoundError
from helix_shared.rpc.access.credential import RECALL, WRITE

if TYPE_CHECKING:
    from helix_gateway.callers import Caller

IDS_AT_ONCE: Final = 50

Moment = AwareDatetime | None
_EVENT: Final = "mcp-"
"""Prefix of the ids of events that `remember` writes."""
_CORRECTION: Final = "mcp-correct-"
"""Prefix of those that `correct` writes."""

_RECALL_NAMES: Final = {
    "token_budget": "max_tokens", "event_after": "since", "event_before": "until", "sessions": "session",
}  # fmt: skip
"""Argument of `recall` by the option of the client that it fills, where it has another name."""


class RecallArguments(Arguments):
    """Arguments of recall."""

    query: str = Field(description="What to look for, in plain words.", max_length=limits.QUERY_CHARACTERS)
    top_k: int = Field(10, ge=1, le=limits.TOP_K, description="Memories at most.")
    max_tokens: int | None = Field(
        None, ge=1, le=limits.TOKEN_BUDGET, description="Of the context; needs detail=context."
    )
    types: Several[MemoryType] | None = Field(None, description="Kinds of memories.")
    since: Moment = Field(None, description="Happened at or after this time.")
    until: Moment = Field(None, description="Happened before this time.")
    session: str | None = Field(None, description="Only of this session.")
    as_of: Moment = Field(None, description="What was known at this time.")
    detail: Literal["index", "text", "context"] = Field(
        "text", description="index: first words only; text: whole texts; context: also packed for a prompt."
    )
    after: WriteSequence | None = Field(None, description="`sequence` of a write to wait for.")


class RememberArguments(Arguments):
    """Arguments of remember."""

    text: str = Field(
        min_length=1,
        max_length=limits.TEXT_CHARACTERS,
        description="A statement that stands by itself: names instead of he, she, it.",
    )
    type: MemoryType | None = Field(None, description="Kind; by default Helix chooses.")
    title: str | None = Field(None, max_length=limits.TITLE_CHARACTERS)
    tags: Several[str] | None = Field(None, description="Labels.")
    session: str | None = Field(None, description="Conversation or run: letters, digits, - and _.")
    occurred_at: Moment = Field(None, description="When it happened; by default now.")
    replaces: MemoryId | None = Field(None, description="Id of the memory that this one corrects.")
    wait: bool = Field(default=False, description="Return when it can be recalled.")


class GetArguments(Arguments):
    """Arguments of get."""

    ids: Several[MemoryId] = Field(description="Ids from recall.", min_length=1, max_length=IDS_AT_ONCE)


class TimelineArguments(Arguments):
    """Arguments of timeline."""

    around: MemoryId | None = Field(None, description="Id of the memory in the middle.")
    session: str | None = Field(None, description="All of this session.")
    since: Moment = None
    until: Moment = None
    page_size: int = Field(20, ge=1, le=limits.PAGE_SIZE)
    page_token: str | None = None


class ForgetArguments(Arguments):
    """Arguments of forget."""

    ids: Several[MemoryId] = Field(min_length=1, max_length=IDS_AT_ONCE)
    restore: bool = Field(default=False, description="Show them again instead.")
    wait: bool = Field(default=True, description="Return when it is done.")


class CorrectArguments(Arguments):
    """Arguments of correct."""

    id: MemoryId
    text: str = Field(min_length=1, max_length=limits.TEXT_CHARACTERS, description="The right statement.")
    wait: bool = Field(default=True, description="Return when it is done.")


class WhyArguments(Arguments):
    """Arguments of why."""

    id: MemoryId
    query: str = Field(max_length=limits.QUERY_CHARACTERS)


async def recall(caller: Caller, sent: Any) -> Recollection:
    """Memories for a query."""
    if sent.max_tokens is not None and sent.detail != "context":
        raise InvalidInputError("max_tokens", "bounds the context, which only detail=context returns")
    options = given(sent, "query", "max_tokens", "since", "until", "session", "detail")
    more = {name: getattr(sent, argument) for name, argument in _RECALL_NAMES.items()}
    more["sessions"] = None if sent.session is None else [sent.session]
    options |= {name: value for name, value in more.items() if value is not None}
    try:
        found = await caller.helix.recall(sent.query, **options)
    except InvalidInputError as error:
        raise _named_as_argument(error) from error
    return Recollection.of(found, sent.detail)


def _named_as_argument(error: InvalidInputError) -> InvalidInputError:
    """The refusal of a recall under the names of the tool."""
    reason = error.reason
    for option, argument in _RECALL_NAMES.items():
        reason = reason.replace(option, argument) if "_" in option else reason
    return InvalidInputError(_RECALL_NAMES.get(error.field, error.field), reason)


async def remember(caller: Caller, sent: Any) -> Kept:
    """Keep a text; that of a project, session and day is kept once, unless it was replaced or erased."""
    if sent.replaces is not None:
        for name in ("tags", "session"):
            if getattr(sent, name) is not None:
                raise InvalidInputError(name, "excludes replaces: the new version keeps those of the old one")
        return await correct(caller, sent, memory=sent.replaces)
    happened = sent.occurred_at or datetime.now(UTC).date()
    parts = (
        caller.user,
        sent.session or "",
        happened.isoformat(),
        sent.type or "",
        sent.title or "",
        without_private(sent.text),
        *([caller.project] if caller.project else ()),
    )
    return await keep(caller, _EVENT, digest(*parts), **given(sent, "replaces"))


async def correct(caller: Caller, sent: Any, *, memory: str = "") -> Kept:
    """Give a memory its next version; the same correction is kept once, unless it was replaced or erased."""
    corrected = memory or sent.id
    options = given(sent, "id", "replaces")
    parts = (str(options.get(name, "")) for name in ("type", "title", "occurred_at"))
    name = digest(caller.user, corrected, without_private(sent.text), *parts)
    return await keep(caller, _CORRECTION, name, corrects=corrected, **options)


async def get(caller: Caller, sent: Any) -> Memories:
    """Whole memories by id."""
    return await memories_of(caller, sent.ids)


async def memories_of(caller: Caller, ids: list[str]) -> Memories:
    """The memories with these ids that the caller may see."""
    found = await asyncio.gather(*map(caller.helix.get, ids), return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException) and not isinstance(one, NotFoundError):
            raise one
    return Memories(
        memories=[MemoryFound.of(one) for one in found if not isinstance(one, BaseException)],
        missing=[name for name, one in zip(ids, found, strict=True) if isinstance(one, BaseException)],
    )


async def timeline(caller: Caller, sent: Any) -> MemoryList:
    """What happened, the first first."""
    page = await caller.helix.timeline(**given(sent))
    return MemoryList(memories=list(map(MemoryFound.of, page.memories)), next_page_token=page.next_page_token)


async def forget(caller: Caller, sent: Any) -> KeptChange:
    """Hide memories, or show them again; an id that is not known yet is waited for."""
    return await hide(caller, sent.ids, restore=sent.restore, wait=sent.wait)


async def why(caller: Caller, sent: Any) -> Why:
    """Why a query returns a memory or not."""
    try:
        candidate = await caller.helix.why(sent.id, sent.query)
    except NotFoundError:
        candidate = None
    if candidate is not None and candidate.rank:
        return Why.of(candidate, None)
    return Why.of(candidate, await caller.helix.why_not(sent.id, sent.query))


TOOLS: Final = (
    Tool(
        "recall",
        "Recall",
        "Search what is remembered of this user: decisions, preferences, facts, conversations, tool results. "
        "Call it before you answer anything that may depend on them. `abstained` means that nothing "
        "relevant is known.",
        RecallArguments,
        Recollection,
        RECALL,
        recall,
        reads=True,
    ),
    Tool(
        "remember",
        "Remember",
        "Keep one statement for later conversations: a decision, a preference, a fact, a lesson. `replaces` "
        "is the id of a memory that is no longer true.",
        RememberArguments,
        Kept,
        WRITE,
        remember,
    ),
    Tool("get", "Get", "Whole memories by id.", GetArguments, Memories, RECALL, get, reads=True),
    Tool(
        "timeline",
        "Timeline",
        "What happened in the order in which it did: around a memory, in a session, or in a span of time.",
        TimelineArguments,
        MemoryList,
        RECALL,
        timeline,
        reads=True,
    ),
    Tool(
        "forget",
        "Forget",
        "Hide memories that should not be recalled any more, with all their versions. Nothing is lost: "
        "`restore` shows them again.",
        ForgetArguments,
        KeptChange,
        WRITE,
        forget,
        hides=True,
    ),
    Tool(
        "correct",
        "Correct",
        "Replace the text of a memory by the right one; the old version stays in its history.",
        CorrectArguments,
        Kept,
        WRITE,
        correct,
        hides=True,
    ),
    Tool(
        "why",
        "Why",
        "Why a query returns a memory, or why not and which change of the query would. For debugging.",
        WhyArguments,
        Why,
        RECALL,
        why,
        reads=True,
    ),
)
