"""Operations that write events, and the receipt of an erasure."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from helix_gateway.operations.operation import Operation, Run
from helix_gateway.operations.replies import reply_of
from helix_gateway.operations.requests import Arguments, MemoryId, Several, arguments, given
from helix_gateway.operations.selecting import (
    Changed,
    applied_if_unknown,
    judging,
    naming_missing,
    not_found_if_refused,
)
from helix_memory import limits
from helix_memory.client.options import (
    ActorOptions,
    CorrectOptions,
    EventOptions,
    RememberOptions,
    SelectOptions,
)
from helix_memory.client.results import Written
from helix_memory.events.content import MediaType, Role
from helix_memory.recall.v1 import recall_pb2
from helix_memory.vocabulary.memory_types import MemoryType
from helix_shared.errors import InvalidInputError
from helix_shared.rpc.access.credential import ERASE, RECALL, WRITE

if TYPE_CHECKING:
    from helix_memory.client import AsyncHelix

PDF: Final = "application/pdf"
_WRITTEN: Final = reply_of(Written)
_CHANGED: Final = reply_of(Changed)
_IDS: Final = (Several[MemoryId] | None, Field(default=None, description="Ids of memories."))
_REMEMBER: Final = arguments("RememberRequest", RememberOptions, text=str)
_MESSAGE: Final = arguments("MessageRequest", EventOptions, text=str, role=(Role, "user"), speaker=(str, ""))
_TOOL: Final = arguments(
    "ToolRequest",
    EventOptions,
    tool=str,
    command=(str, ""),
    file_path=(str, ""),
    exit_status=(int | None, None),
    output=(str, ""),
    error=(str, ""),
)
_DOCUMENT: Final = arguments(
    "DocumentRequest",
    EventOptions,
    document_id=str,
    body=(str, ""),
    body_base64=(
        str | None,
        Field(
            default=None,
            description="The file in base64, instead of `body`: a PDF, or UTF-8 text of `media_type`.",
        ),
    ),
    title=(str, ""),
    media_type=(
        MediaType | None,
        Field(
            default=None,
            description="By default text/plain of `body`, and application/pdf of `body_base64`.",
        ),
    ),
    source_uri=(str, ""),
    type=(MemoryType | None, None),
    deleted=(bool, False),
)
_CORRECT: Final = arguments("CorrectRequest", CorrectOptions, id=MemoryId, text=str)
_UNDO: Final = arguments("UndoRequest", ActorOptions, id=MemoryId, other=(MemoryId | None, None))
_SELECT: Final = arguments("SelectRequest", SelectOptions, memories=_IDS)
_FEEDBACK: Final = arguments(
    "FeedbackRequest", ActorOptions, helpful=_IDS, unhelpful=_IDS, query=(str | None, None)
)


async def _remember(helix: AsyncHelix, sent: Any) -> Written:
    return await helix.remember(**given(sent))


async def _message(helix: AsyncHelix, sent: Any) -> Written:
    return await helix.message(**given(sent))


async def _tool(helix: AsyncHelix, sent: Any) -> Written:
    return await helix.tool(**given(sent))


async def _document(helix: AsyncHelix, sent: Any) -> Written:
    options = given(sent, "body_base64")
    if sent.body_base64 is None:
        return await helix.document(**options)
    if sent.body:
        raise InvalidInputError("body_base64", "excludes body")
    try:
        return await helix.document(**options | {"body": _decoded(sent.body_base64)})
    except InvalidInputError as error:
        if error.field == "body":
            raise InvalidInputError("body_base64", error.reason) from error
        raise


async def _correct(helix: AsyncHelix, sent: Any) -> Written:
    return await helix.correct(sent.id, sent.text, **given(sent, "id", "text"))


async def _undo(helix: AsyncHelix, sent: Any) -> Written:
    return await helix.undo(sent.id, **given(sent, "id"))


async def _receipt(helix: AsyncHelix, sent: Any) -> recall_pb2.GetErasureResponse:
    return await helix.receipt(Written(sent.event_id, "", 0, duplicate=False))


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:  # also of a sign beyond ASCII
        raise InvalidInputError("body_base64", "must be base64") from error


def _changing(name: str, summary: str, *, role: str = WRITE) -> Operation:
    run, recalling = (naming_missing(name, may_recall=may_recall) for may_recall in (False, True))
    return Operation(name, "POST", f"/{name}", role, summary, _SELECT, _CHANGED, run, recalling)


def _of_one(name: str, summary: str, request: type[Arguments], act: Run) -> Operation:
    run, recalling = not_found_if_refused(act), not_found_if_refused(applied_if_unknown(act))
    return Operation(
        name, "POST", f"/memories/{{id}}/{name}", WRITE, summary, request, _WRITTEN, run, recalling
    )


def _post(name: str, path: str, role: str, summary: str, request: type[Arguments], run: Run) -> Operation:
    return Operation(name, "POST", path, role, summary, request, _WRITTEN, run)


WRITING: Final = (
    _post("remember", "/remember", WRITE, "Keep a text as a memory of its own", _REMEMBER, _remember),
    _post("message", "/message", WRITE, "Keep a turn of a conversation: who said what", _MESSAGE, _message),
    _post("tool", "/tool", WRITE, "Keep a tool call and its result", _TOOL, _tool),
    _post(
        "document", "/document", WRITE, "Keep a document in place of its version before", _DOCUMENT, _document
    ),
    _of_one("correct", "Give a memory its next version", _CORRECT, _correct),
    _changing("forget", "Hide memories from answers; restore undoes it, `missing` names ids of no memory"),
    _changing("restore", "Show memories again that are hidden; `missing` names ids of no memory"),
    _of_one("undo", "Take back how a memory was related to others; what it closed holds again", _UNDO, _undo),
    _changing("erase", "Remove memories for good; `missing` names ids of no memory", role=ERASE),
    Operation(
        "receipt",
        "GET",
        "/erasures/{event_id}",
        RECALL,
        "What an erasure removed, place by place",
        arguments("ReceiptRequest", event_id=Annotated[str, Field(pattern=limits.EVENT_ID_PATTERN)]),
        reply_of(recall_pb2.GetErasureResponse),
        _receipt,
        takes_slashes=True,
    ),
    Operation(
        "feedback",
        "POST",
        "/feedback",
        WRITE,
        "Say which recalled memories helped and which did not; `missing` names ids of no memory",
        _FEEDBACK,
        _CHANGED,
        judging(may_recall=False),
        judging(may_recall=True),
    ),
)
