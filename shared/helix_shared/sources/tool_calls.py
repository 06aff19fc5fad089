"""Makes one `tool` event of a tool call and its result, for the readers of transcripts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from helix_memory import limits
from helix_shared.sources.cleaning import cleaned, is_memory_tool
from helix_shared.sources.fitting import fitted
from helix_shared.sources.items import Item, SkippedPart, short_name
from helix_shared.sources.source_event import from_fields

COMMAND_KEYS: Final = ("command", "cmd")
PATH_KEYS: Final = ("file_path", "notebook_path", "filePath", "path")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that waits for its result."""

    where: str
    tool: str
    command: str
    file_path: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a call."""

    output: str = ""
    error: str = ""
    exit_status: int | None = None


def described_call(where: str, tool: str, arguments: Any) -> ToolCall:
    """A call from its arguments: command line and file path if they are named, else the arguments as JSON."""
    if not isinstance(arguments, Mapping):
        return ToolCall(where, tool, arguments if isinstance(arguments, str) else "", "")
    path = next((str(arguments[key]) for key in PATH_KEYS if isinstance(arguments.get(key), str)), "")
    command = next((arguments[key] for key in COMMAND_KEYS if arguments.get(key)), None)
    if command is None:
        rest = {key: value for key, value in arguments.items() if key not in PATH_KEYS}
        command = json.dumps(rest, ensure_ascii=False) if rest else ""
    return ToolCall(where, tool, command_line(command), path)


def command_line(command: Any) -> str:
    """A command as one line; `bash -lc <script>` is the script."""
    if isinstance(command, str):
        return command
    if not isinstance(command, list):
        return json.dumps(command, ensure_ascii=False)
    words = [str(word) for word in command]
    shell_words = 3
    if len(words) == shell_words and words[1] in {"-c", "-lc"}:
        return words[2]
    return " ".join(words)


def tool_item(call: ToolCall, result: ToolResult, *, event_id: str, scope_fields: Mapping[str, Any]) -> Item:
    """The event without what `cleaning` takes out; texts over the limit are shortened in their middle."""
    if is_memory_tool(call.tool):
        return SkippedPart("calls of memory tools")
    path, command = call.file_path, cleaned(call.command)
    output, error = cleaned(result.output), cleaned(result.error)
    if len(path) > limits.URI_CHARACTERS:
        path, command = "", f"{path} {command}"
    if not any(text.strip() for text in (path, command, output, error)):
        return SkippedPart("tool calls without any text")
    texts = fitted({"command": command, "output": output, "error": error})
    return from_fields(
        call.where,
        {
            **scope_fields,
            "kind": "tool",
            "event_id": event_id,
            "tool": short_name(call.tool or "tool"),
            "file_path": path,
            "exit_status": result.exit_status,
            **texts,
        },
    )
