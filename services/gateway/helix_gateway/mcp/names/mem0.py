"""The names of mem0's hosted server and of OpenMemory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from helix_gateway.mcp.results import Kept, KeptChange, Memories, MemoryFound, MemoryList, Recollection
from helix_gateway.mcp.tool import Tool
from helix_gateway.mcp.tools import (
    CorrectArguments,
    ForgetArguments,
    RecallArguments,
    RememberArguments,
    correct,
    forget,
    memories_of,
    recall,
    remember,
)
from helix_gateway.operations.requests import Arguments, MemoryId, given, parsed
from helix_memory import limits
from helix_shared.rpc.access.credential import RECALL, WRITE

if TYPE_CHECKING:
    from helix_gateway.callers import Caller


class AddArguments(Arguments):
    """A text to keep."""

    text: str = Field(min_length=1, max_length=limits.TEXT_CHARACTERS)


class SearchArguments(Arguments):
    """A query."""

    query: str = Field(max_length=limits.QUERY_CHARACTERS)
    limit: int = Field(10, ge=1, le=limits.TOP_K)


class ListArguments(Arguments):
    """A page."""

    page_size: int = Field(50, ge=1, le=limits.PAGE_SIZE)
    page_token: str | None = None


class OneArguments(Arguments):
    """A memory."""

    memory_id: MemoryId


class UpdateArguments(OneArguments):
    """A memory and its new text."""

    text: str = Field(min_length=1, max_length=limits.TEXT_CHARACTERS)


async def _add(caller: Caller, sent: Any) -> Kept:
    return await remember(caller, parsed(RememberArguments, {"text": sent.text}))


async def _search(caller: Caller, sent: Any) -> Recollection:
    return await recall(caller, parsed(RecallArguments, {"query": sent.query, "top_k": sent.limit}))


async def _list(caller: Caller, sent: Any) -> MemoryList:
    page = await caller.helix.list(**given(sent))
    return MemoryList(memories=list(map(MemoryFound.of, page.memories)), next_page_token=page.next_page_token)


async def _get(caller: Caller, sent: Any) -> Memories:
    return await memories_of(caller, [sent.memory_id])


async def _update(caller: Caller, sent: Any) -> Kept:
    return await correct(caller, parsed(CorrectArguments, {"id": sent.memory_id, "text": sent.text}))


async def _delete(caller: Caller, sent: Any) -> KeptChange:
    return await forget(caller, parsed(ForgetArguments, {"ids": [sent.memory_id]}))


def _adding(name: str) -> Tool:
    return Tool(name, "Add", "Keep a text for later.", AddArguments, Kept, WRITE, _add)


def _searching(name: str) -> Tool:
    return Tool(
        name, "Search", "Search memories.", SearchArguments, Recollection, RECALL, _search, reads=True
    )


def _listing(name: str) -> Tool:
    text = "A page of memories, the newest first."
    return Tool(name, "List", text, ListArguments, MemoryList, RECALL, _list, reads=True)


MEM0: Final = (
    _adding("add_memory"),
    _searching("search_memories"),
    _listing("get_memories"),
    Tool("get_memory", "Get", "One memory.", OneArguments, Memories, RECALL, _get, reads=True),
    Tool(
        "update_memory",
        "Update",
        "Give a memory a new text.",
        UpdateArguments,
        Kept,
        WRITE,
        _update,
        hides=True,
    ),
    Tool("delete_memory", "Delete", "Hide a memory.", OneArguments, KeptChange, WRITE, _delete, hides=True),
)
OPENMEMORY: Final = (_adding("add_memories"), _searching("search_memory"), _listing("list_memories"))
