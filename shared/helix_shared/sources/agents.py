"""The coding agents whose transcripts are read, and that have hooks."""

from __future__ import annotations

from enum import StrEnum


class Agent(StrEnum):
    """A coding agent, by the name it has in commands and in the paths of the gateway."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    CURSOR = "cursor"
