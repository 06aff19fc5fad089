import json
from pathlib import Path
from typing import Any

from helix_cli.sources.discover import Format, discover
from helix_cli.sources.read import read_source
from helix_memory import events
from helix_shared.sources.items import Item, SkippedPart, SourceScope
from helix_shared.sources.source_event import SourceEvent

SESSION = "439110c7-f2a6-484a-bfa2-b1b10d6b8703"


def line(role: str, *blocks: Any) -> dict[str, Any]:
    """A line as Cursor writes it."""
    return {"role": role, "message": {"content": list(blocks)}}


def text(said: str) -> dict[str, str]:
    """A block of text."""
    return {"type": "text", "text": said}


def use(name: str, **arguments: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"type": "tool_use", "name": name, "input": arguments}


def items(tmp_path: Path, *lines: Any) -> list[Item]:
    """The items of these lines."""
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    (source,) = discover([path]).sources
    assert source.format is Format.CURSOR
    return list(read_source(source, SourceScope("acme", user_id="ada", project_id="weather")))


def test_a_session_becomes_messages_and_tool_calls(tmp_path: Path) -> None:
    """Of a user, what they typed; ids are session and line."""
    asked = text("<timestamp>now</timestamp>\n<user_query>\nWhy is the gauge off?\n</user_query>")
    found = items(
        tmp_path, line("user", asked), line("assistant", text("I look."), use("Shell", command="make"))
    )
    said = [item.event for item in found if isinstance(item, SourceEvent)]
    assert [one.event_id.removeprefix(f"cursor:{SESSION}:") for one in said] == ["1", "2", "2:call1"]
    question, answer, tool = said
    assert isinstance(question, events.MessageEvent)
    assert isinstance(answer, events.MessageEvent)
    assert isinstance(tool, events.ToolEvent)
    assert (question.text, answer.text) == ("Why is the gauge off?", "I look.")
    assert (tool.tool, tool.command, tool.project_id) == ("Shell", "make", "weather")


def test_calls_of_memory_servers_and_other_lines_are_left_out(tmp_path: Path) -> None:
    """A call of an MCP tool names its server in its arguments."""
    recall = use("CallMcpTool", server="helix", toolName="recall", arguments={"query": "gauge"})
    found = items(tmp_path, line("assistant", recall), {"type": "turn_ended"})
    assert [one.why for one in found if isinstance(one, SkippedPart)] == [
        "calls of memory tools", "turn_ended lines",
    ]  # fmt: skip
    assert not [one for one in found if isinstance(one, SourceEvent)]
