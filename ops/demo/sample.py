#!/usr/bin/env python3
"""The demo's sample: an autumn of one coding agent on an invented order-processing backend, as events.

sample.jsonl is written to be read: a session line, then what happened in it, one line each. `load_sample`
makes events of the public models (`helix_memory.events`) of it; ids follow from session and minute, so
publishing the sample twice changes nothing. `run` publishes it and asks questions.toml.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from helix_memory import events

FOLDER: Final = Path(__file__).resolve().parent
TENANT: Final = "demo"
PROJECT: Final = "atlas"
USER: Final = "mira"


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the demo and the events whose memory must be among the first three answers."""

    title: str
    text: str
    expected: tuple[str, ...]
    """Event ids, any of which answers; empty: the question needs no memory and must be skipped."""


def load_sample(file: Path = FOLDER / "sample.jsonl") -> list[events.Event]:
    """All events in the order in which they happened."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    starts = [number for number, line in enumerate(lines) if "session" in line]
    found: list[events.Event] = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        found += _session(lines[start], lines[start + 1 : end])
    return found


def load_questions(file: Path = FOLDER / "questions.toml") -> tuple[datetime, list[Question]]:
    """The moment the questions are asked at, and the questions."""
    asked = tomllib.loads(file.read_text())
    questions = [Question(q["title"], q["text"], tuple(q["expected"])) for q in asked["question"]]
    return asked["asked_at"], questions


def _session(head: dict[str, str], lines: list[dict[str, Any]]) -> Iterator[events.Event]:
    """The events of one session, between its start and its end."""
    moments = [datetime.fromisoformat(f"{head['date']}T{line['at']}:00+00:00") for line in lines]
    bounds = {"started": moments[0] - timedelta(minutes=1), "ended": moments[-1] + timedelta(minutes=1)}
    phase = {phase: {"kind": "session", "phase": phase} for phase in bounds}
    yield _event(head["session"], "started", bounds["started"], phase["started"])
    for line, moment in zip(lines, moments, strict=True):
        yield _event(head["session"], line["at"].replace(":", ""), moment, _fields(line))
    yield _event(head["session"], "ended", bounds["ended"], phase["ended"])


def _event(session: str, name: str, moment: datetime, fields: dict[str, Any]) -> events.Event:
    scope = {"tenant_id": TENANT, "project_id": PROJECT, "user_id": USER, "session_id": session}
    identity = {"event_id": f"{session}-{name}", "occurred_at": moment.astimezone(UTC).isoformat()}
    return events.parse_event(json.dumps({**identity, **scope, **fields}).encode())


def _fields(line: dict[str, Any]) -> dict[str, Any]:
    """Kind and content of one line; what Mira says to herself stays hers, what is decided is shared."""
    match line:
        case {"mira": text}:
            return {"kind": "message", "role": "user", "speaker": "Mira", "text": text}
        case {"agent": text}:
            return {"kind": "message", "role": "assistant", "speaker": "assistant", "text": text}
        case {"run": command}:
            shown = {"output": line.get("out", ""), "error": line.get("err", "")}
            return {"kind": "tool", "tool": "shell", "command": command, "exit_status": line["exit"], **shown}
        case {"edit": path}:
            return {"kind": "tool", "tool": "editor", "file_path": path, "output": line["out"]}
        case {"remember": text}:
            times = {f"event_{name}": line[name] for name in ("start", "end") if name in line}
            named = {"type": line["type"], "title": line["title"]}
            return {"kind": "memory", "shared": True, "text": text, **named, **times}
        case {"document": document}:
            return {"kind": "document", "shared": True, **document}
    message = f"line of no known form: {sorted(line)}"
    raise ValueError(message)


if __name__ == "__main__":
    for event in load_sample():
        sys.stdout.write(events.encode_event(event).decode() + "\n")
