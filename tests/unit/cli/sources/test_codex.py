import json
from pathlib import Path
from typing import Any

import pytest

from helix_cli.sources.discover import Format, discover
from helix_cli.sources.read import read_source
from helix_memory import events
from helix_shared.sources.codex import outcome
from helix_shared.sources.items import Item, SkippedPart, SourceScope
from helix_shared.sources.source_event import SourceEvent
from helix_shared.sources.tool_calls import ToolResult

SESSION = "019a6c11-52aa-7c30-8b1d-9f3f6f1c2a10"


def wrapped(kind: str, payload: dict[str, Any], second: int = 0) -> dict[str, Any]:
    """A line of the current format."""
    return {"timestamp": f"2026-11-05T14:00:{second:02}.500Z", "type": kind, "payload": payload}


def message(role: str, text: str) -> dict[str, Any]:
    """A message item."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def test_a_fork_is_a_session_of_its_own(tmp_path: Path) -> None:
    """Its copy of the other session names that: with its name, lines of both would have the same ids."""
    other = [wrapped("session_meta", {"id": "other"}), wrapped("response_item", message("user", "Old?"))]
    fork = [wrapped("session_meta", {"id": "fork", "forked_from_id": "other"}), *other]
    lines = [*fork, wrapped("response_item", message("user", "New?"))]
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    [source] = discover([path], source_format=Format.CODEX).sources
    read = [item.event for item in read_source(source, SourceScope("acme")) if isinstance(item, SourceEvent)]
    assert [(one.session_id, one.event_id) for one in read] == [
        ("fork", "codex:fork:3"),
        ("fork", "codex:fork:4"),
    ]


SAMPLE = [
    wrapped(
        "session_meta",
        {
            "id": SESSION,
            "timestamp": "2026-11-05T14:00:00.100Z",
            "cwd": "/home/ada/src/greenhouse",
            "originator": "codex_cli_rs",
            "cli_version": "0.61.0",
        },
    ),
    wrapped("response_item", message("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>")),
    wrapped("response_item", message("user", "Why does the valve stay open?"), 1),
    wrapped("event_msg", {"type": "user_message", "message": "Why does the valve stay open?"}, 1),
    wrapped("turn_context", {"cwd": "/home/ada/src/greenhouse", "model": "m"}, 2),
    wrapped("response_item", {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, 3),
    wrapped(
        "response_item",
        {
            "type": "function_call",
            "name": "shell",
            "arguments": json.dumps({"command": ["bash", "-lc", "make check"], "workdir": "/x"}),
            "call_id": "call_1",
        },
        4,
    ),
    wrapped(
        "response_item",
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": json.dumps({"output": "valve: FAIL\n", "metadata": {"exit_code": 2}}),
        },
        5,
    ),
    wrapped(
        "response_item",
        {
            "type": "custom_tool_call",
            "status": "completed",
            "call_id": "call_2",
            "name": "apply_patch",
            "input": "*** Begin Patch\n*** Update File: src/valve.py\n@@\n-OPEN\n+SHUT\n*** End Patch",
        },
        6,
    ),
    wrapped(
        "response_item",
        {
            "type": "custom_tool_call_output",
            "call_id": "call_2",
            "output": json.dumps({"output": "Success.", "metadata": {"exit_code": 0}}),
        },
        7,
    ),
    wrapped("response_item", message("assistant", "The relay was inverted; it is fixed."), 8),
]


def items(tmp_path: Path, *lines: Any) -> list[Item]:
    """The items of these lines."""
    path = tmp_path / "rollout-2026-11-05T14-00-00-x.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
    (source,) = discover([path]).sources
    assert source.format is Format.CODEX
    return list(read_source(source, SourceScope("acme")))


def found(all_items: list[Item]) -> list[events.Event]:
    """The events of these lines."""
    return [item.event for item in all_items if isinstance(item, SourceEvent)]


def test_a_session_becomes_messages_and_tool_calls(tmp_path: Path) -> None:
    """Ids are session and line; screen events, reasoning and context are left out."""
    said = found(items(tmp_path, *SAMPLE))
    assert [event.event_id for event in said] == [f"codex:{SESSION}:{n}" for n in (3, 7, 9, 11)]
    assert [event.kind for event in said] == ["message", "tool", "tool", "message"]
    assert {(event.session_id, event.project_id) for event in said} == {(SESSION, "greenhouse")}
    assert said[0].occurred_at is not None
    assert said[0].occurred_at.isoformat() == "2026-11-05T14:00:01.500000+00:00"


def test_calls_carry_command_file_and_outcome(tmp_path: Path) -> None:
    """`bash -lc` becomes its script; a patch names its file; the text of a failed call is its error."""
    shell, patch = (e for e in found(items(tmp_path, *SAMPLE)) if isinstance(e, events.ToolEvent))
    assert (shell.tool, shell.command, shell.exit_status) == ("shell", "make check", 2)
    assert (shell.output, shell.error) == ("", "valve: FAIL\n")
    assert (patch.tool, patch.file_path, patch.exit_status) == ("apply_patch", "src/valve.py", 0)
    assert "+SHUT" in patch.command


def test_what_the_program_writes_as_the_user_is_not_what_the_user_says(tmp_path: Path) -> None:
    """A command of the shell mode is left out; of a request from an editor, what was typed is kept."""
    shell = (
        "<user_shell_command>\n<command>\nls\n</command>\n<result>\na.py\n</result>\n</user_shell_command>"
    )
    around = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## Open tabs:\n- a.py: a.py\n"
    said = [shell, f"{around}\n## My request for Codex:\nWhy does the valve stay open?\n"]
    lines = [SAMPLE[0], *(wrapped("response_item", message("user", text)) for text in said)]
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    [source] = discover([path], source_format=Format.CODEX).sources
    read = [item.event for item in read_source(source, SourceScope("acme")) if isinstance(item, SourceEvent)]
    assert [one.text for one in read if isinstance(one, events.MessageEvent)] == [
        "Why does the valve stay open?"
    ]


def test_the_older_form_without_wrapper_is_read(tmp_path: Path) -> None:
    """One time for all lines; the folder is in the context message."""
    said = found(
        items(
            tmp_path,
            {"id": "old-1", "timestamp": "2026-05-01T08:00:00.000Z", "instructions": None},
            {"record_type": "state"},
            message("user", "<environment_context>\n  <cwd>/srv/api</cwd>\n</environment_context>"),
            message("user", "List the routes"),
            {
                "type": "local_shell_call",
                "call_id": "c",
                "action": {"type": "exec", "command": ["ls", "routes"]},
            },
            {"type": "function_call_output", "call_id": "c", "output": "users.py"},
            {"record_type": "state"},
        )
    )
    assert [(e.kind, e.session_id, e.project_id) for e in said] == [
        ("message", "old-1", "api"),
        ("tool", "old-1", "api"),
    ]
    tool = said[1]
    assert isinstance(tool, events.ToolEvent)
    assert (tool.command, tool.output) == ("ls routes", "users.py")
    assert tool.occurred_at is not None
    assert tool.occurred_at.hour == 8


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("plain", ToolResult("plain")),
        ('{"output":"ok","metadata":{"exit_code":0}}', ToolResult("ok", exit_status=0)),
        ('{"results": 3}', ToolResult('{"results": 3}')),
        (
            "Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno",
            ToolResult(error="Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno", exit_status=1),
        ),
        ("Process exited with code 0\nhi", ToolResult("Process exited with code 0\nhi", "", 0)),
        ({"content": "done", "success": True}, ToolResult("done")),
        ([{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "x"}],
         ToolResult("a\n[image left out by helix import]")),
        (None, ToolResult()),
    ],
)  # fmt: skip
def test_every_form_of_an_output_is_understood(output: Any, expected: ToolResult) -> None:
    """JSON that the tool itself returned is kept as it is."""
    assert outcome(output) == expected


def test_what_is_left_out_is_counted_by_reason(tmp_path: Path) -> None:
    """Everything that is left out is counted."""
    reasons = sorted(item.why for item in items(tmp_path, *SAMPLE) if isinstance(item, SkippedPart))
    assert reasons == ["context messages of the program", "event_msg lines", "reasoning lines"]


def test_a_jsonl_file_of_neither_program_is_not_guessed(tmp_path: Path) -> None:
    """Helix events, for example, are published by `helix publish`."""
    (tmp_path / "x.jsonl").write_text('{"kind": "message", "text": "hi"}\n')
    (source,) = discover([tmp_path]).sources
    assert source.format is None
