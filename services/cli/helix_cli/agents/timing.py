"""Measures what a prompt waits for its hook, as the agent sends it, beside the recall alone."""

from __future__ import annotations

import http.client
import json
import shlex
import subprocess
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from helix_cli.agents.connection import is_ours
from helix_cli.agents.hook_file import HOOKS
from helix_cli.agents.hosts import HTTP_SECONDS
from helix_cli.home.addresses import query_server
from helix_cli.home.query_client import query_client
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError
from helix_shared.sources.agents import Agent

PROMPT_EVENTS: Final = {
    Agent.CLAUDE_CODE: "UserPromptSubmit",
    Agent.CODEX: "UserPromptSubmit",
    Agent.CURSOR: "beforeSubmitPrompt",
}
PROMPTS: Final = (
    "Why did we choose this database, and what did we decide about the migration?",
    "Fix the failing test of the parser the way we did it last time.",
    "How do we deploy, and on which days may we not?",
    "Add a retry to the upload, with the limits that we agreed on.",
    "What does the user prefer for commit messages?",
)
TOKENS: Final = 940
"""Budget of the recall behind a hook."""
OUTCOME: Final = "Helix-Hook"
WARM_UP: Final = 3

Hook = Callable[[bytes], str]
"""Sends a body as the agent does, and returns what came of it."""


@dataclass(frozen=True, slots=True)
class Timed:
    """Milliseconds of each hook and of each recall alone."""

    kind: str
    hooks: list[float]
    recalls: list[float]
    outcomes: Counter[str]

    def fields(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "kind": self.kind,
            "prompts": len(self.hooks),
            "outcomes": dict(self.outcomes),
            "hook_ms": _percentiles(self.hooks),
            "recall_ms": _percentiles(self.recalls),
        }

    def table(self) -> str:
        """For people."""
        rows = [("hook, as the agent sends it", self.hooks), ("the recall alone", self.recalls)]
        lines = [f"{len(self.hooks)} prompts to a hook of type {self.kind}: {dict(self.outcomes)}"]
        for name, times in rows:
            found = _percentiles(times)
            lines.append(f"{name:28} p50 {found['p50']:6.1f} ms   p95 {found['p95']:6.1f} ms")
        return "\n".join(lines)


def timed(
    agent: Agent, content: Mapping[str, Any], prompts: Sequence[str], *, times: int, query: str, home: Path
) -> Timed:
    """Send prompts, each in a session of its own, and ask for the same without the hook in between.

    Raises:
        InvalidInputError: no hook is installed in the file.
    """
    event = PROMPT_EVENTS[agent]
    entry = _installed(content, event)
    kind = "http" if "url" in entry else "command"
    send = _over_http(entry) if kind == "http" else _by_command(entry)
    used, scope = prompts or PROMPTS, _scope(entry)
    hooks, recalls, outcomes = [], [], Counter[str]()
    server = query_server(query, home)
    with query_client(server) as client:
        for number in range(-WARM_UP, times):
            prompt = used[number % len(used)]
            request = recall_pb2.RecallRequest(scope=scope, query=prompt, token_budget=TOKENS)
            calls: dict[str, Callable[[], Any]] = {
                "hook": partial(send, _body(agent, event, prompt)),
                "recall": partial(client.recall, request),
            }
            # each goes first every other time, so that neither always finds what the other has read
            took = {name: _timed(calls[name]) for name in sorted(calls, reverse=bool(number % 2))}
            if number >= 0:
                hooks.append(took["hook"][0])
                recalls.append(took["recall"][0])
                outcomes[took["hook"][1]] += 1
    return Timed(kind, hooks, recalls, outcomes)


def _installed(content: Mapping[str, Any], event: str) -> Mapping[str, Any]:
    entries = content.get(HOOKS, {}).get(event, [])
    for one in [hook for entry in entries for hook in entry.get(HOOKS, [entry])]:
        if is_ours(one):
            return dict(one)
    raise InvalidInputError("agent", "has no hooks of Helix; run `helix agent install` first")


def _scope(entry: Mapping[str, Any]) -> recall_pb2.Scope:
    """The caller of an installed hook: its headers, or those in the file that its command names."""
    headers = dict(entry.get("headers", {}))
    if not headers:
        path = Path(shlex.split(entry["command"])[-1])
        lines = path.read_text(encoding="utf-8").splitlines()
        headers = dict(line.split(": ", 1) for line in lines if ": " in line)
    return recall_pb2.Scope(tenant_id=headers["Helix-Tenant"], user_id=headers.get("Helix-User", ""))


def _body(agent: Agent, event: str, prompt: str) -> bytes:
    session = f"helix-agent-check-{uuid.uuid4()}"
    body: dict[str, Any] = {"hook_event_name": event, "prompt": prompt, "transcript_path": None}
    if agent is Agent.CURSOR:
        body |= {"conversation_id": session, "workspace_roots": [str(Path.cwd())]}
    else:
        body |= {"session_id": session, "cwd": str(Path.cwd())}
    return json.dumps(body).encode()


def _over_http(entry: Mapping[str, Any]) -> Hook:
    parts = urlsplit(entry["url"])

    def send(body: bytes) -> str:
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=HTTP_SECONDS)
        try:
            headers = {"Content-Type": "application/json", **entry["headers"]}
            connection.request("POST", parts.path, body, headers)
            reply = connection.getresponse()
            reply.read()
            return reply.headers.get(OUTCOME, f"status {reply.status}")
        except (OSError, http.client.HTTPException) as error:
            return f"trouble {type(error).__name__}"
        finally:
            connection.close()

    return send


def _by_command(entry: Mapping[str, Any]) -> Hook:
    def send(body: bytes) -> str:
        done = subprocess.run(entry["command"], shell=True, input=body, capture_output=True, check=False)  # noqa: S602  as the agent does
        return "injected" if done.stdout.strip() else "nothing"

    return send


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds of a call, and what it returned."""
    began = time.perf_counter()
    result = call()
    return 1000 * (time.perf_counter() - began), result


def _percentiles(times: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        name: round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)
        for name, share in (("p50", 0.5), ("p95", 0.95))
    }
