"""The coding agents: where each keeps its hooks, which hooks it has, and in what form.

Claude Code takes hooks of type http, except at SessionStart (it drops them there without a word), and
Codex and Cursor take commands alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from helix_shared.sources.agents import Agent

if TYPE_CHECKING:
    from helix_cli.agents.connection import Connection

HTTP_SECONDS: Final = 2
COMMAND_SECONDS: Final = 5
"""When an agent gives up a hook. The gateway and the program give up much earlier."""
SOURCES: Final = "startup|resume|clear|compact"


class Scope(StrEnum):
    """For whom hooks are installed."""

    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class Host:
    """How an agent keeps hooks."""

    title: str
    user_file: str
    """Below the folder of the agent in the user's home."""
    project_file: str
    """Below the project."""
    folder: str
    folder_variable: str
    """Environment variable that moves the folder; empty: there is none."""
    events: tuple[str, ...]
    takes_http: tuple[str, ...] = ()
    """Events whose hooks may be of type http."""
    is_grouped: bool = True
    base: Mapping[str, Any] | None = None
    """What a new file begins with."""
    hint: str = ""
    """What the user must do besides."""

    def file(self, project: Path | None) -> Path:
        """The file with the hooks, of a project or of the user."""
        if project is not None:
            return project / self.project_file
        moved = os.environ.get(self.folder_variable) if self.folder_variable else ""
        return (Path(moved).expanduser() if moved else Path.home() / self.folder) / self.user_file

    def hooks(self, connection: Connection, command: str) -> dict[str, list[Any]]:
        """What each event gets; `command` runs the program where no HTTP hook can be."""
        return {event: [self._entry(event, connection, command)] for event in self.events}

    def _entry(self, event: str, connection: Connection, command: str) -> dict[str, Any]:
        if event in self.takes_http and connection.is_plain:
            hook: dict[str, Any] = {"type": "http", "url": connection.url, "headers": connection.headers}
            hook["timeout"] = HTTP_SECONDS
        else:
            hook = {"type": "command", "command": command, "timeout": COMMAND_SECONDS}
        if not self.is_grouped:
            return {key: value for key, value in hook.items() if key != "type"}
        return ({"matcher": SOURCES} if event == "SessionStart" else {}) | {"hooks": [hook]}


HOSTS: Final = {
    Agent.CLAUDE_CODE: Host(
        "Claude Code",
        "settings.json",
        ".claude/settings.local.json",
        ".claude",
        "CLAUDE_CONFIG_DIR",
        ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"),
        takes_http=("UserPromptSubmit", "Stop", "SessionEnd"),
    ),
    Agent.CODEX: Host(
        "Codex",
        "hooks.json",
        ".codex/hooks.json",
        ".codex",
        "CODEX_HOME",
        ("SessionStart", "UserPromptSubmit", "Stop"),
        hint="open /hooks in Codex once and trust them; before version 0.130 also set "
        "codex_hooks = true under [features] in config.toml",
    ),
    Agent.CURSOR: Host(
        "Cursor",
        "hooks.json",
        ".cursor/hooks.json",
        ".cursor",
        "",
        ("sessionStart", "beforeSubmitPrompt", "stop", "sessionEnd"),
        is_grouped=False,
        base={"version": 1},
        hint="some versions of Cursor use what sessionStart returns, and ignore beforeSubmitPrompt",
    ),
}
