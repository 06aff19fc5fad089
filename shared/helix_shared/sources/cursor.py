"""Reads sessions of Cursor: `~/.cursor/projects/<folder>/agent-transcripts/<session>/<session>.jsonl`.

A line is `{role, message: {content}}` with blocks of text and `tool_use`; results of tools, times and
ids are not written. What the user typed stands in `<user_query>`. The id of an event is its session and
line, as for Codex.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from helix_shared.sources.cleaning import cleaned
from helix_shared.sources.fitting import pieces
from helix_shared.sources.items import Item, SkippedPart, SourceScope, session_token, text_of
from helix_shared.sources.json_records import Record
from helix_shared.sources.source_event import Refusal, from_fields
from helix_shared.sources.tool_calls import ToolCall, ToolResult, described_call, tool_item

SPEAKERS: Final = ("user", "assistant")
MCP_TOOLS: Final = ("CallMcpTool", "call_mcp_tool", "mcp")
_TYPED: Final = re.compile(r"<user_query>(.*?)</user_query>", re.DOTALL)


def is_cursor(record: Record) -> bool:
    """Whether a record has the form of a line of Cursor."""
    return record.get("role") in SPEAKERS and isinstance(record.get("message"), dict) and "type" not in record


def cursor_items(
    records: Iterable[tuple[str, Record | Refusal]], scope: SourceScope, *, session: str
) -> Iterator[Item]:
    """The events of one session file in order."""
    reader = CursorReader(scope, session)
    for number, (where, record) in enumerate(records, start=1):
        if isinstance(record, Refusal):
            yield record
        else:
            yield from reader.items(where, record, number)


class CursorReader:
    """Reads line by line; the lines name neither their session nor a project."""

    waiting = ""
    """No call waits for its result, because results are not written."""

    def __init__(self, scope: SourceScope, session: str) -> None:
        self._scope = scope
        self._session = session_token(session)

    def items(self, where: str, record: Record, number: int) -> Iterator[Item]:
        """The items of a line."""
        if not is_cursor(record):
            yield SkippedPart(f"{record.get('type') or 'untyped'} lines")
            return
        event_id = f"cursor:{self._session}:{number}"
        content = record["message"].get("content")
        blocks = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
        yield from self._message(where, record["role"], text_of(content), event_id)
        for index, block in enumerate(blocks):
            if block.get("type") == "tool_use":
                call = _call(where, block)
                yield tool_item(
                    call, ToolResult(), event_id=f"{event_id}:call{index}", scope_fields=self._fields()
                )

    def unanswered(self) -> Iterator[Item]:
        """None, as no result is awaited."""
        yield from ()

    def _message(self, where: str, role: str, said: str, event_id: str) -> Iterator[Item]:
        typed = _TYPED.findall(said) if role == "user" else []
        text = cleaned("\n".join(typed) if typed else said).strip()
        for index, piece in enumerate(pieces(text)):
            if piece.strip():
                suffix = f":{index}" if index else ""
                message = {"kind": "message", "role": role, "event_id": event_id + suffix, "text": piece}
                yield from_fields(where, {**self._fields(), **message})

    def _fields(self) -> dict[str, Any]:
        return {
            "tenant_id": self._scope.tenant_id,
            "user_id": self._scope.user_id,
            "project_id": self._scope.project_id,
            "session_id": self._session,
        }


def _call(where: str, block: Record) -> ToolCall:
    name, arguments = str(block.get("name", "")), block.get("input")
    if name in MCP_TOOLS and isinstance(arguments, dict):
        server, tool = arguments.get("server", ""), arguments.get("toolName", arguments.get("tool", ""))
        name, arguments = f"mcp__{server}__{tool}", arguments.get("arguments", {})
    return described_call(where, name, arguments)
