"""What each coding agent sends to a hook, and what it expects back.

Claude Code: code.claude.com/docs/en/hooks. Codex: developers.openai.com/codex/hooks. Cursor:
cursor.com/docs/hooks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from helix_shared.errors import InvalidInputError
from helix_shared.sources.agents import Agent
from helix_shared.text.unicode_form import storable

SESSION_CHARACTERS: Final = 256


class Hook(StrEnum):
    """What a hook is for."""

    PROMPT = "prompt"
    """Memories for a prompt."""
    START = "start"
    """Memories for a session that begins."""
    STOP = "stop"
    """New lines of the transcript."""


_USUAL: Final = {
    "UserPromptSubmit": Hook.PROMPT,
    "SessionStart": Hook.START,
    "Stop": Hook.STOP,
    "SessionEnd": Hook.STOP,
}
_OF_CURSOR: Final = {
    "beforeSubmitPrompt": Hook.PROMPT,
    "sessionStart": Hook.START,
    "stop": Hook.STOP,
    "sessionEnd": Hook.STOP,
}
EVENTS: Final[Mapping[Agent, Mapping[str, Hook]]] = {
    Agent.CLAUDE_CODE: _USUAL,
    Agent.CODEX: _USUAL,
    Agent.CURSOR: _OF_CURSOR,
}
"""Hooks by the names that the agents give their events."""
EMPTIED: Final = ("compact", "clear")
"""Sources of a SessionStart after which the agent no longer has what was injected before."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """What an agent told a hook."""

    agent: Agent
    event: str
    hook: Hook
    session: str
    prompt: str = ""
    folder: str = ""
    """Working directory; empty if the agent named none."""
    transcript: str = ""
    """Path of the transcript; empty: there is none."""
    is_emptied: bool = False
    """The agent forgot what was injected before."""


def call_of(agent: Agent, body: object) -> HookCall:
    """The call in the JSON body of an agent.

    Raises:
        InvalidInputError: it is none; names the field.
    """
    if not isinstance(body, dict):
        raise InvalidInputError("body", "must be a JSON object")
    event = _text(body, "hook_event_name")
    if event not in EVENTS[agent]:
        raise InvalidInputError("hook_event_name", f"must be one of {', '.join(EVENTS[agent])}")
    session = _text(body, "conversation_id") or _text(body, "session_id")
    if not 0 < len(session) <= SESSION_CHARACTERS:
        raise InvalidInputError("session_id", f"must have 1 to {SESSION_CHARACTERS} characters")
    return HookCall(
        agent,
        event,
        EVENTS[agent][event],
        session,
        prompt=_text(body, "prompt"),
        folder=_text(body, "cwd") or _first(body.get("workspace_roots")),
        transcript=_text(body, "transcript_path"),
        is_emptied=body.get("source") in EMPTIED,
    )


def reply_of(agent: Agent, event: str, text: str) -> dict[str, Any]:
    """What the agent expects; `text` is given to its model, and an empty one changes nothing."""
    if not text:
        return {}
    if agent is Agent.CURSOR:
        # documented for sessionStart; for beforeSubmitPrompt some versions pass it on and others ignore it
        return {"additional_context": text}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _text(body: Mapping[str, object], name: str) -> str:
    """A field that is a text without lone surrogates; else empty."""
    value = body.get(name)
    return storable(value) if isinstance(value, str) else ""


def _first(values: object) -> str:
    return values[0] if isinstance(values, list) and values and isinstance(values[0], str) else ""
