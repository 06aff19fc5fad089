"""Hooks of coding agents: what a prompt is given from memory, and what a transcript adds to it.

`routes` serves them. `hosts` reads what Claude Code, Codex and Cursor send and writes what each expects,
`injecting` asks for memories within limits, `handing_over` reads new lines of transcripts, `sessions`
keeps what both must know of a session. A hook is answered within its deadline, with nothing where
anything went wrong.
"""

from __future__ import annotations

from helix_gateway.hooks.routes import HOOKS_PATH, hook_manner, hook_routes

__all__ = ["HOOKS_PATH", "hook_manner", "hook_routes"]
