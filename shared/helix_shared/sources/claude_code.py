"""Reads sessions of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`.

A line is a JSON object with `type`, `uuid`, `sessionId`, `cwd`, `timestamp` and a `message` whose
content is a text or blocks. Texts of user and assistant become messages. A `tool_use` block and the
`tool_result` of the same id become one tool call. A `summary` becomes a memory of the session that has
its leaf. Left out and counted: thinking, what the program injects (`isMeta`, local commands, summaries
of compaction), calls of memory tools, and conversations of sub-agents (`isSidechain`), which
`SourceScope.sidechains` includes as sessions of their own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from helix_shared.sources.cleaning import cleaned
from helix_shared.sources.fitting import pieces
from helix_shared.sources.items import Item, SkippedPart, SourceScope, moment, session_token, text_of
from helix_shared.sources.json_records import Record
from helix_shared.sources.projects import project_of
from helix_shared.sources.source_event import Refusal, from_fields
from helix_shared.sources.tool_calls import ToolCall, ToolResult, described_call, tool_item

SPEAKERS: Final = ("user", "assistant")
INJECTED: Final = (
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<command-args>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "Caveat: The messages below were generated",
    "[Request interrupted by user",
)

_EXIT_CODE = re.compile(r"\A(?:Error: )?Exit code (\d{1,9})\b")


def is_claude_code(record: Record) -> bool:
    """Whether a record has the form of a line of Claude Code."""
    if record.get("type") == "summary" and "leafUuid" in record:
        return True
    return isinstance(record.get("type"), str) and "sessionId" in record


def claude_code_items(
    records: Iterable[tuple[str, Record | Refusal]], scope: SourceScope, *, fallback_session: str
) -> Iterator[Item]:
    """The events of one session file in order."""
    reader = ClaudeCodeReader(scope, fallback_session)
    for number, (where, record) in enumerate(records, start=1):
        if isinstance(record, Refusal):
            yield record
        else:
            yield from reader.items(where, record, number)
    yield from reader.rest()


class ClaudeCodeReader:
    """Reads line by line; keeps calls without a result, and summaries without their session."""

    def __init__(self, scope: SourceScope, fallback_session: str) -> None:
        self._scope = scope
        self._fallback_session = fallback_session
        self._calls: dict[str, tuple[ToolCall, dict[str, Any]]] = {}
        self._summaries: dict[str, tuple[str, str]] = {}
        self._lines: dict[str, dict[str, Any]] = {}

    @property
    def waiting(self) -> str:
        """Place of the first call without a result; empty: there is none."""
        return next((call.where for call, _ in self._calls.values()), "")

    def items(self, where: str, record: Record, _number: int) -> Iterator[Item]:
        """The items of a line; its ids are those that the line states."""
        kind = record.get("type")
        if kind == "summary" and isinstance(record.get("summary"), str):
            self._summaries[str(record.get("leafUuid"))] = (where, record["summary"])
        elif kind not in SPEAKERS or not isinstance(record.get("message"), dict):
            yield SkippedPart(
                f"{kind or 'untyped'} lines" if kind not in SPEAKERS else "lines without message"
            )
        elif record.get("isMeta") or record.get("isCompactSummary"):
            yield SkippedPart("lines injected by the program")
        elif record.get("isSidechain") and not self._scope.sidechains:
            yield SkippedPart("lines of sub-agents (--sidechains takes them)")
        else:
            yield from self._said(where, record)

    def unanswered(self) -> Iterator[Item]:
        """Events of the calls without a result."""
        for identity, (call, fields) in self._calls.items():
            yield tool_item(call, ToolResult(), event_id=f"claude:{identity}", scope_fields=fields)

    def rest(self) -> Iterator[Item]:
        """Items that are known at the end of the file: calls without a result, summaries."""
        yield from self.unanswered()
        for leaf, (where, summary) in self._summaries.items():
            if leaf not in self._lines:
                yield SkippedPart("summaries of other sessions")
                continue
            named = {
                "kind": "memory",
                "type": "semantic",
                "event_id": f"claude:{leaf}:summary",
                "text": " ".join(summary.split()),
                "tags": ["session summary"],
            }
            yield from_fields(where, {**self._lines[leaf], **named})

    def _said(self, where: str, record: Record) -> Iterator[Item]:
        fields = self._fields(record)
        identity = record.get("uuid") if isinstance(record.get("uuid"), str) else _digest(record)
        self._lines[str(identity)] = fields
        content = record["message"].get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        texts = []
        for block in filter(lambda b: isinstance(b, dict), blocks):
            match block.get("type"):
                case "text" | "image":
                    texts.append(text_of([block]))
                case "tool_use":
                    call = described_call(where, str(block.get("name", "")), block.get("input"))
                    self._calls[str(block.get("id"))] = (call, fields)
                case "tool_result":
                    yield self._result(where, record, block, fields)
                case other:
                    yield SkippedPart(f"{other} blocks")
        yield from self._message(where, record, "\n".join(filter(None, texts)), identity=str(identity))

    def _message(self, where: str, record: Record, said: str, *, identity: str) -> Iterator[Item]:
        text = cleaned(said).strip()
        if not text or text.startswith(INJECTED):
            if said:
                yield SkippedPart("lines injected by the program")
            return
        # the messages to a sub-agent come from the main agent, not from a person
        from_main_agent = record["type"] == "user" and record.get("isSidechain")
        role = {"role": "assistant", "speaker": "main agent"} if from_main_agent else {"role": record["type"]}
        for number, piece in enumerate(pieces(text)):
            if piece.strip():
                suffix = f":{number}" if number else ""
                message = {"kind": "message", "event_id": f"claude:{identity}{suffix}", "text": piece}
                yield from_fields(where, {**self._lines[identity], **message, **role})

    def _result(self, where: str, record: Record, block: Record, fields: dict[str, Any]) -> Item:
        identity = str(block.get("tool_use_id"))
        call, _ = self._calls.pop(identity, (ToolCall(where, "tool", "", ""), fields))
        return tool_item(
            call, _outcome(block, record), event_id=f"claude:{identity}"[:128], scope_fields=fields
        )

    def _fields(self, record: Record) -> dict[str, Any]:
        session = str(record.get("sessionId") or self._fallback_session)
        if record.get("isSidechain"):
            session = f"{session}-{record.get('agentId') or 'sidechain'}"
        return {
            "tenant_id": self._scope.tenant_id,
            "user_id": self._scope.user_id,
            "project_id": self._scope.project_id or project_of(record.get("cwd")),
            "session_id": session_token(session),
            "occurred_at": moment(record.get("timestamp")),
        }


def _outcome(block: Record, record: Record) -> ToolResult:
    """Output, error and exit status of a result; `toolUseResult` has the two streams apart."""
    text = text_of(block.get("content"))
    streams = record.get("toolUseResult")
    if block.get("is_error"):
        status = _EXIT_CODE.match(text)
        return ToolResult(error=text, exit_status=int(status.group(1)) if status else None)
    if isinstance(streams, dict) and isinstance(streams.get("stdout"), str):
        return ToolResult(
            output=streams["stdout"] or text, error=str(streams.get("stderr") or ""), exit_status=0
        )
    return ToolResult(output=text)


def _digest(record: Record) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
