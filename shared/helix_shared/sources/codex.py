"""Reads sessions of Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`.

A line is `{timestamp, type, payload}`: `session_meta` opens the file, `response_item` is a message or a call,
and `event_msg` repeats it for the screen. Lines of older files are items without this wrapper, with one time
for the whole session. A call and the output of the same `call_id` become one tool call. Left out and counted:
repetitions, reasoning, context messages of the program (environment, instructions), and other lines.

Lines have no id: the id of an event is its session and line. That is stable, because the files only grow.
The first line names the session: a fork copies the lines of the other session, with the line that names that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from helix_shared.sources.cleaning import cleaned
from helix_shared.sources.fitting import pieces
from helix_shared.sources.items import Item, SkippedPart, SourceScope, moment, session_token, text_of
from helix_shared.sources.json_records import Record
from helix_shared.sources.projects import project_of
from helix_shared.sources.source_event import Refusal, from_fields
from helix_shared.sources.tool_calls import ToolCall, ToolResult, described_call, tool_item

WRAPPED: Final = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
SPEAKERS: Final = ("user", "assistant")
CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call")
OUTPUTS: Final = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
BARE: Final = ("message", "reasoning", *CALLS, *OUTPUTS)
CONTEXT: Final = (
    "<environment_context>",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "<permissions",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<skill>",
    "<recommended_plugins>",
    "# AGENTS.md instructions for",
)

_AROUND = re.compile(r"# (?:Context from my IDE setup|Files mentioned by the user):")
_REQUEST = re.compile(r"^## My request for Codex:", re.MULTILINE)
_FOLDER = re.compile(r"<cwd>([^<]+)</cwd>")
_EXIT_CODE = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d{1,9})\s*$", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_HEAD_CHARACTERS: Final = 300
"""Newer versions state the exit code before the output; after this many characters it is output."""


def is_codex(record: Record) -> bool:
    """Whether a record has the form of a line of Codex."""
    kind = record.get("type")
    if kind in WRAPPED and isinstance(record.get("payload"), dict):
        return True
    return "record_type" in record or kind in BARE or ("id" in record and "instructions" in record)


def codex_items(
    records: Iterable[tuple[str, Record | Refusal]], scope: SourceScope, *, fallback_session: str
) -> Iterator[Item]:
    """The events of one session file in order."""
    reader = CodexReader(scope, fallback_session)
    for number, (where, record) in enumerate(records, start=1):
        if isinstance(record, Refusal):
            yield record
        else:
            yield from reader.items(where, record, number)
    yield from reader.unanswered()


class CodexReader:
    """Reads line by line; keeps session, folder, last time, and calls without an output."""

    def __init__(self, scope: SourceScope, fallback_session: str) -> None:
        self._scope = scope
        self._session = fallback_session
        self._is_named = False
        self._folder = ""
        self._time: datetime | None = None
        self._calls: dict[str, tuple[ToolCall, str, dict[str, Any]]] = {}

    @property
    def waiting(self) -> str:
        """Place of the first call without an output; empty: there is none."""
        return next((call.where for call, _, _ in self._calls.values()), "")

    def items(self, where: str, record: Record, number: int) -> Iterator[Item]:
        """The items of a line, `number` of the file."""
        self._time = moment(record.get("timestamp")) or self._time
        kind, payload = record.get("type"), record.get("payload")
        if isinstance(payload, dict) and kind in WRAPPED:
            if kind == "response_item":
                yield from self._item(where, payload, number)
            elif kind in {"session_meta", "turn_context"}:
                self._note_session(payload)
            else:
                yield SkippedPart(f"{kind} lines")
        elif kind in BARE:
            yield from self._item(where, record, number)
        elif "record_type" not in record:
            self._note_session(record)

    def unanswered(self) -> Iterator[Item]:
        """Events of calls without an output."""
        for call, event_id, fields in self._calls.values():
            yield tool_item(call, ToolResult(), event_id=event_id, scope_fields=fields)

    def _note_session(self, payload: Record) -> None:
        if not self._is_named and isinstance(payload.get("id"), str):
            self._session, self._is_named = payload["id"], True
        if isinstance(payload.get("cwd"), str):
            self._folder = payload["cwd"]

    def _item(self, where: str, item: Record, number: int) -> Iterator[Item]:
        kind = item.get("type")
        event_id = f"codex:{session_token(self._session)}:{number}"
        if kind == "message":
            yield from self._message(where, item, event_id)
        elif kind in CALLS:
            identity = str(item.get("call_id") or item.get("id") or event_id)
            self._calls[identity] = (_call(where, item), event_id, self._fields())
        elif kind in OUTPUTS:
            waiting = self._calls.pop(str(item.get("call_id")), None)
            call, event_id, _ = waiting or (ToolCall(where, "tool", "", ""), event_id, None)
            yield tool_item(call, outcome(item.get("output")), event_id=event_id, scope_fields=self._fields())
        else:
            yield SkippedPart(f"{kind or 'untyped'} lines")

    def _message(self, where: str, item: Record, event_id: str) -> Iterator[Item]:
        text = text_of(item.get("content")).strip()
        folder = _FOLDER.search(text) if text.startswith(CONTEXT) else None
        if folder and not self._folder:
            self._folder = folder.group(1)
        if item.get("role") not in SPEAKERS or text.startswith(CONTEXT):
            yield SkippedPart("context messages of the program")
            return
        for index, piece in enumerate(pieces(cleaned(_typed(text)).strip())):
            if piece.strip():
                suffix = f":{index}" if index else ""
                message = {
                    "kind": "message",
                    "role": item["role"],
                    "event_id": event_id + suffix,
                    "text": piece,
                }
                yield from_fields(where, {**self._fields(), **message})

    def _fields(self) -> dict[str, Any]:
        return {
            "tenant_id": self._scope.tenant_id,
            "user_id": self._scope.user_id,
            "project_id": self._scope.project_id or project_of(self._folder),
            "session_id": session_token(self._session),
            "occurred_at": self._time,
        }


def _typed(text: str) -> str:
    """What the user typed, without the files and tabs that an editor puts in front of it."""
    request = _REQUEST.search(text) if _AROUND.match(text) else None
    return text[request.end() :] if request else text


def outcome(output: Any) -> ToolResult:
    """Output and exit status from JSON in a text, a text with a head, or blocks."""
    if isinstance(output, str):
        output = _unwrapped(output)
    if isinstance(output, dict):
        text = text_of(output.get("output", output.get("content", "")))
        metadata = output.get("metadata")
        status = metadata.get("exit_code") if isinstance(metadata, dict) else None
    else:
        text = text_of(output)
        found = _EXIT_CODE.search(text[:_HEAD_CHARACTERS])
        status = int(found.group(1)) if found else None
    status = status if isinstance(status, int) and abs(status) < 2**31 else None
    return ToolResult(error=text, exit_status=status) if status else ToolResult(text, exit_status=status)


def _unwrapped(output: str) -> Any:
    """The object in a text that wraps an output as JSON, else the text."""
    if not output.startswith('{"'):
        return output
    try:
        parsed = json.loads(output)
    except (ValueError, RecursionError):
        return output
    return parsed if isinstance(parsed, dict) and "output" in parsed else output


def _call(where: str, item: Record) -> ToolCall:
    if item.get("type") == "local_shell_call":
        return described_call(where, "local_shell", item.get("action"))
    if item.get("type") == "web_search_call":
        action = item.get("action")
        query = action.get("query") if isinstance(action, dict) else None
        return ToolCall(where, "web_search", str(query or ""), "")
    arguments = item.get("input", item.get("arguments"))
    name = "__".join(str(item[key]).strip("_") for key in ("namespace", "name") if item.get(key))
    call = described_call(where, name, _arguments(arguments))
    patched = _PATCHED.search(call.command)
    return ToolCall(where, call.tool, call.command, patched.group(1)) if patched else call


def _arguments(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, dict) else value
