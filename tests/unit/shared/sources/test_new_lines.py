import json
from pathlib import Path
from typing import Any

import pytest

from helix_shared.sources import new_lines
from helix_shared.sources.claude_code import ClaudeCodeReader
from helix_shared.sources.codex import CodexReader
from helix_shared.sources.items import SourceScope
from helix_shared.sources.new_lines import NewLines, ReadPosition, TranscriptReader, read_new
from helix_shared.sources.source_event import SourceEvent

SCOPE = SourceScope("acme", project_id="weather")


def said(identity: str, text: str) -> dict[str, Any]:
    """A turn as Claude Code writes it."""
    return {"type": "user", "uuid": identity, "sessionId": "s", "message": {"content": text}}


def call(identity: str) -> dict[str, Any]:
    """A call of a tool."""
    block = {"type": "tool_use", "id": identity, "name": "Bash", "input": {"command": "make"}}
    return {"type": "assistant", "uuid": f"u{identity}", "sessionId": "s", "message": {"content": [block]}}


def result(identity: str, text: str) -> dict[str, Any]:
    """Its result."""
    block = {"type": "tool_result", "tool_use_id": identity, "content": text}
    return {"type": "user", "uuid": f"r{identity}", "sessionId": "s", "message": {"content": [block]}}


def append(path: Path, *records: Any) -> None:
    """Add lines."""
    with path.open("a") as file:
        file.writelines(json.dumps(one) + "\n" for one in records)


def read(path: Path, position: ReadPosition, reader: TranscriptReader | None = None) -> NewLines:
    """The next batch."""
    return read_new(path, reader or ClaudeCodeReader(SCOPE, "s"), position)


def ids(found: NewLines) -> list[str]:
    """Ids of the events."""
    return [item.event.event_id for item in found.items if isinstance(item, SourceEvent)]


def test_only_lines_added_since_the_position_are_read(tmp_path: Path) -> None:
    """The position counts bytes and lines; without new lines there is nothing."""
    path = tmp_path / "s.jsonl"
    append(path, said("a", "one"), said("b", "two"))
    first = read(path, ReadPosition())
    append(path, said("c", "three"))
    second = read(path, first.position)
    assert (ids(first), ids(second)) == (["claude:a", "claude:b"], ["claude:c"])
    assert second.position == ReadPosition(path.stat().st_size, 3)
    assert ids(read(path, second.position)) == []


def test_a_line_that_is_still_being_written_waits(tmp_path: Path) -> None:
    """It is read whole the next time."""
    path = tmp_path / "s.jsonl"
    append(path, said("a", "one"))
    whole = path.read_text()
    path.write_text(whole + json.dumps(said("b", "two"))[:20])
    first = read(path, ReadPosition())
    path.write_text(whole + json.dumps(said("b", "two")) + "\n")
    assert (ids(first), ids(read(path, first.position))) == (["claude:a"], ["claude:b"])


def test_a_call_waits_for_its_result(tmp_path: Path) -> None:
    """What follows it is read again with the same id, which stores nothing twice."""
    path = tmp_path / "s.jsonl"
    append(path, said("a", "one"), call("t"), said("b", "two"))
    first = read(path, ReadPosition())
    append(path, result("t", "built"))
    second = read(path, first.position)
    assert ids(first) == ["claude:a", "claude:b"]
    assert ids(second) == ["claude:b", "claude:t"]
    [tool] = [one.event for one in second.items if isinstance(one, SourceEvent) and one.event.kind == "tool"]
    assert (tool.command, tool.output) == ("make", "built")  # type: ignore[union-attr]
    assert second.position.offset == path.stat().st_size


def test_a_full_batch_gives_up_waiting_for_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that never comes must not hold the position for ever."""
    monkeypatch.setattr(new_lines, "BATCH_BYTES", 1_000)
    path = tmp_path / "s.jsonl"
    append(path, call("t"), *(said(f"m{number}", "x" * 300) for number in range(6)))
    position, found = ReadPosition(), []
    while (new := read(path, position)).is_full:
        position = new.position
        found += ids(new)
    found += ids(new)
    assert "claude:t" in found
    assert {f"claude:m{number}" for number in range(6)} <= set(found)
    assert new.position.offset == path.stat().st_size


def test_a_file_that_became_shorter_is_read_from_its_start(tmp_path: Path) -> None:
    """It was written anew; ids repeat."""
    path = tmp_path / "s.jsonl"
    append(path, said("a", "one"))
    assert ids(read(path, ReadPosition(10_000, 99))) == ["claude:a"]


def test_rubbish_is_no_failure_and_what_follows_is_read(tmp_path: Path) -> None:
    """Any bytes may stand in a line."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\xff\xfe{\n[1]\n\n{}\n" + json.dumps(said("a", "one")).encode() + b"\n")
    assert ids(read(path, ReadPosition())) == ["claude:a"]


def test_new_lines_of_codex_keep_session_and_numbers(tmp_path: Path) -> None:
    """The first line names the session; an id is session and line."""
    path = tmp_path / "rollout.jsonl"
    message = {"type": "message", "role": "user", "content": "one"}
    append(path, {"type": "session_meta", "payload": {"id": "q", "cwd": "/src/gauge"}})
    append(path, {"type": "response_item", "payload": message})
    first = read(path, ReadPosition(), CodexReader(SCOPE, "other"))
    append(path, {"type": "response_item", "payload": message})
    second = read(path, first.position, CodexReader(SCOPE, "other"))
    assert (ids(first), ids(second)) == (["codex:q:2"], ["codex:q:3"])
