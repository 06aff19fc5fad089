"""Settings of the hooks; every variable starts with `HELIX_HOOKS_`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from helix_shared.settings import ServiceSettings, helix_home


def _transcripts() -> tuple[Path, ...]:
    """Where Claude Code, Codex and Cursor write transcripts."""
    home = Path.home()
    return (
        Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",
        Path(os.environ.get("CODEX_HOME") or home / ".codex") / "sessions",
        home / ".cursor" / "projects",
    )


class HookSettings(ServiceSettings):
    """What the hooks of coding agents may read, and where they keep how far they have read."""

    model_config = SettingsConfigDict(env_prefix="HELIX_HOOKS_", frozen=True, extra="forbid")

    transcripts: Annotated[tuple[Path, ...], NoDecode] = Field(
        default_factory=_transcripts,
        description="folders of transcripts, separated by colons; others are not read, and for callers of "
        "other machines none; by default those of Claude Code, Codex and Cursor",
    )
    sessions_dir: Path = Field(
        default_factory=lambda: helix_home() / "agents" / "sessions",
        description="what each session was given and how far its transcript was read; by default in the home",
    )

    @field_validator("transcripts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(filter(None, value.split(os.pathsep))) if isinstance(value, str) else value
