import json
from pathlib import Path
from typing import Any

import pytest

from helix_cli.sources.discover import Format, discover
from helix_cli.sources.read import read_source
from helix_memory import events
from helix_shared.sources.items import Item, SkippedPart, SourceScope
from helix_shared.sources.source_event import Refusal, SourceEvent

SESSION = "3f6c1b52-8f0e-4d7a-9a51-6f2f0c9d1e77"
SCOPE = SourceScope("acme", user_id="ada")


def line(kind: str, uuid: str, content: Any, **more: Any) -> dict[str, Any]:
    """A line as Claude Code writes it."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ada/src/weather-station",
        "sessionId": SESSION,
        "version": "2.1.4",
        "gitBranch": "main",
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": uuid,
        "timestamp": "2026-11-03T09:15:00.250Z",
        **more,
    }


CALL = {
    "type": "tool_use",
    "id": "toolu_01",
    "name": "Bash",
    "input": {"command": "pytest -q", "description": "Run the tests"},
}
FAILED = {
    "type": "tool_result",
    "tool_use_id": "toolu_01",
    "is_error": True,
    "content": "Exit code 1\nE   assert 3 == 4",
}
SAMPLE: list[Any] = [
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False},
    {"type": "summary", "summary": "Rain gauge calibration", "leafUuid": "a-2"},
    {"type": "summary", "summary": "Some other session", "leafUuid": "elsewhere"},
    line("user", "u-0", "Caveat: injected", isMeta=True),
    line("user", "u-1", "Why is the rain gauge off by one?"),
    line("assistant", "a-0", [{"type": "thinking", "thinking": "hm", "signature": "x"}]),
    line("assistant", "a-1", [{"type": "text", "text": "I will run the tests."}, CALL]),
    line("user", "u-2", [FAILED], toolUseResult="Error: Exit code 1"),
    line("assistant", "s-1", [{"type": "text", "text": "side"}], isSidechain=True, agentId="ag1"),
    line("user", "u-3", "<local-command-stdout>Set model</local-command-stdout>"),
    line("assistant", "a-2", [{"type": "text", "text": "The counter starts at one; it must start at zero."}]),
]


def items(tmp_path: Path, *lines: Any, scope: SourceScope = SCOPE) -> list[Item]:
    """The items of these lines."""
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_text(
        "".join((entry if isinstance(entry, str) else json.dumps(entry)) + "\n" for entry in lines)
    )
    (source,) = discover([path]).sources
    assert source.format is Format.CLAUDE_CODE
    return list(read_source(source, scope))


def found(all_items: list[Item]) -> list[events.Event]:
    """The events of these lines."""
    return [item.event for item in all_items if isinstance(item, SourceEvent)]


def test_a_session_becomes_messages_tool_calls_and_its_title(tmp_path: Path) -> None:
    """In the order of the file, without thinking, injected lines and sub-agents."""
    said = found(items(tmp_path, *SAMPLE))
    assert [event.event_id for event in said] == [
        "claude:u-1",
        "claude:a-1",
        "claude:toolu_01",
        "claude:a-2",
        "claude:a-2:summary",
    ]
    question = said[0]
    assert isinstance(question, events.MessageEvent)
    assert (question.role, question.text) == ("user", "Why is the rain gauge off by one?")
    assert (question.session_id, question.project_id) == (SESSION, "weather-station")
    assert (question.tenant_id, question.user_id) == ("acme", "ada")
    assert question.occurred_at is not None
    assert question.occurred_at.isoformat() == "2026-11-03T09:15:00.250000+00:00"
    title = said[-1]
    assert isinstance(title, events.MemoryEvent)
    assert (title.text, title.tags) == ("Rain gauge calibration", ["session summary"])


def test_a_call_and_its_result_are_one_tool_event(tmp_path: Path) -> None:
    """A failed call keeps its error text and exit status."""
    (tool,) = [e for e in found(items(tmp_path, *SAMPLE)) if isinstance(e, events.ToolEvent)]
    assert (tool.tool, tool.command, tool.exit_status) == ("Bash", "pytest -q", 1)
    assert (tool.output, tool.error) == ("", "Exit code 1\nE   assert 3 == 4")


def test_both_streams_of_a_successful_command_are_kept_apart(tmp_path: Path) -> None:
    """`toolUseResult` has standard error apart; the text of the result mixes both."""
    result = {"type": "tool_result", "tool_use_id": "toolu_01", "content": "3 passed\nwarning"}
    streams = {"stdout": "3 passed", "stderr": "warning", "interrupted": False}
    call, back = line("assistant", "a", [CALL]), line("user", "u", [result], toolUseResult=streams)
    (tool,) = found(items(tmp_path, call, back))
    assert isinstance(tool, events.ToolEvent)
    assert (tool.output, tool.error, tool.exit_status) == ("3 passed", "warning", 0)


def test_a_file_tool_names_its_file(tmp_path: Path) -> None:
    """Other arguments are kept as JSON; the blocks of a result are joined."""
    use = {
        "type": "tool_use",
        "id": "t",
        "name": "Edit",
        "input": {"file_path": "/src/g.py", "old_string": "1"},
    }
    back = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "done"}]}
    (tool,) = found(items(tmp_path, line("assistant", "a", [use]), line("user", "u", [back])))
    assert isinstance(tool, events.ToolEvent)
    assert (tool.file_path, tool.command, tool.output) == ("/src/g.py", '{"old_string": "1"}', "done")


def test_a_call_without_result_is_kept(tmp_path: Path) -> None:
    """A session that was cut off keeps its last call."""
    (tool,) = found(items(tmp_path, line("assistant", "a", [CALL])))
    assert isinstance(tool, events.ToolEvent)
    assert (tool.command, tool.output) == ("pytest -q", "")


def test_what_is_left_out_is_counted_by_reason(tmp_path: Path) -> None:
    """Everything that is left out is counted."""
    reasons = sorted(item.why for item in items(tmp_path, *SAMPLE) if isinstance(item, SkippedPart))
    assert reasons == [
        "file-history-snapshot lines",
        "lines injected by the program",
        "lines injected by the program",
        "lines of sub-agents (--sidechains takes them)",
        "summaries of other sessions",
        "thinking blocks",
    ]


def test_sub_agents_are_sessions_of_their_own_when_asked_for(tmp_path: Path) -> None:
    """A message to a sub-agent is not from a person."""
    told = line("user", "s-0", "Find the bug", isSidechain=True, agentId="ag1")
    scope = SourceScope("acme", sidechains=True)
    (message,) = found(items(tmp_path, told, scope=scope))
    assert isinstance(message, events.MessageEvent)
    assert (message.session_id, message.role) == (f"{SESSION}-ag1", "assistant")


def test_an_unreadable_line_is_refused_with_its_place_and_the_rest_is_read(tmp_path: Path) -> None:
    """The second line is incomplete."""
    result = items(tmp_path, SAMPLE[4], '{"type": "user", "mess', SAMPLE[-1])
    (refusal,) = [item for item in result if isinstance(item, Refusal)]
    assert refusal.where.endswith(f"{SESSION}.jsonl:2")
    assert len(found(result)) == 2


def test_reminders_are_no_words_of_the_user(tmp_path: Path) -> None:
    """Only the text of the user is kept."""
    text = "Fix it<system-reminder>do not tell\nthe user</system-reminder> please"
    (message,) = found(items(tmp_path, line("user", "u", text)))
    assert isinstance(message, events.MessageEvent)
    assert message.text == "Fix it please"


@pytest.mark.parametrize(
    "text",
    [
        "<bash-input>git status --short</bash-input>",
        "<bash-stdout> M app.py</bash-stdout><bash-stderr></bash-stderr>",
        "<task-notification>\n<task-id>b1</task-id>\n</task-notification>",
        "<ide_selection>The user selected the lines 1 to 2 from a.py:\nx = 1</ide_selection>",
    ],
)
def test_what_the_program_writes_as_the_user_is_not_what_the_user_says(tmp_path: Path, text: str) -> None:
    """Commands of the shell mode, messages of tasks in the background, and what is open in an editor."""
    assert found(items(tmp_path, line("user", "u", text))) == []
    opened = {
        "type": "text",
        "text": "<ide_opened_file>The user opened the file a.py in the IDE.</ide_opened_file>",
    }
    asked = {"type": "text", "text": "Why is it off by one?"}
    (message,) = found(items(tmp_path, line("user", "u", [opened, asked])))
    assert isinstance(message, events.MessageEvent)
    assert message.text == "Why is it off by one?"


def test_what_was_recalled_is_not_learned_again(tmp_path: Path) -> None:
    """Neither from a text, nor from a tool of a memory server; private passages of any part are left out."""
    recall = {"type": "tool_use", "id": "r", "name": "mcp__helix__recall", "input": {"query": "gauge"}}
    result = {"type": "tool_result", "tool_use_id": "r", "content": "We chose Postgres."}
    shown = {"type": "tool_result", "tool_use_id": "toolu_01", "content": "a<private>b</private>c"}
    found_items = items(
        tmp_path,
        line("user", "u", "<helix_memories>We chose Postgres.</helix_memories>Go on <private>4711</private>"),
        line("assistant", "a", [recall, CALL]),
        line("user", "v", [result, shown]),
    )
    message, tool = found(found_items)
    assert isinstance(message, events.MessageEvent)
    assert isinstance(tool, events.ToolEvent)
    assert (message.text, tool.command, tool.output) == ("Go on", "pytest -q", "ac")


def test_a_message_longer_than_a_text_may_be_becomes_several(tmp_path: Path) -> None:
    """No character is lost, and every piece has an id."""
    text = "paragraph of words\n\n" * 8_000
    said = found(items(tmp_path, line("user", "u", text)))
    assert [event.event_id for event in said] == ["claude:u", "claude:u:1"]
    assert "".join(e.text for e in said if isinstance(e, events.MessageEvent)) == text.strip()


def test_a_session_id_that_is_no_token_is_hashed(tmp_path: Path) -> None:
    """A token of a subject has no dots."""
    (message,) = found(items(tmp_path, line("user", "u", "hi", sessionId="my.session")))
    assert len(message.session_id) == 32


def test_a_field_of_another_type_does_not_end_the_import(tmp_path: Path) -> None:
    """A session id with half a surrogate pair, and a folder that is a list."""
    path = tmp_path / "session.jsonl"
    odd = line("user", "1", "Is it warm?", cwd=["/x"], sessionId="\ud800")
    path.write_text(json.dumps(odd) + "\n" + json.dumps(line("user", "2", "And dry?")))
    [source] = discover([path]).sources
    texts = [item.event.text for item in read_source(source, SCOPE) if isinstance(item, SourceEvent)]  # type: ignore[union-attr]
    assert texts == ["Is it warm?", "And dry?"]


def test_half_a_surrogate_pair_does_not_fail_the_line(tmp_path: Path) -> None:
    """A program may cut a text inside a surrogate pair; the rest is kept."""
    (message,) = found(items(tmp_path, line("user", "u", "cut \ud83d")))
    assert isinstance(message, events.MessageEvent)
    assert message.text == "cut ?"
