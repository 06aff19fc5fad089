"""Settings of the gateway; every variable starts with `HELIX_GATEWAY_`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import Field, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from helix_shared.errors import InvalidInputError
from helix_shared.rpc.access.settings import AccessSettings
from helix_shared.settings import helix_home

MARGIN_SECONDS: Final = 1.0
"""The client gives up before the gateway does, because its error says more."""


def transcript_folders() -> tuple[Path, ...]:
    """Where coding agents write transcripts."""
    home = Path.home()
    return (
        Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",
        Path(os.environ.get("CODEX_HOME") or home / ".codex") / "sessions",
        home / ".cursor" / "projects",
    )


class GatewaySettings(AccessSettings):
    """Where the gateway listens, what it connects to, and the limits of one request."""

    model_config = SettingsConfigDict(env_prefix="HELIX_GATEWAY_", frozen=True, extra="forbid")

    listen: str = Field(
        "127.0.0.1:7464", pattern=r"^\S+:\d{1,5}$", description="host:port of REST, MCP, hooks and explorer"
    )
    hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="names in the header Host that are accepted besides those of loopback, separated by "
        "commas; needed for another address than loopback",
    )
    nats_url: str = Field(
        "nats://127.0.0.1:4222",
        description="address of the NATS server; of a cluster those of several, with commas",
    )
    nats_credentials_file: Path | None = Field(
        None, description="file with one line user:password for NATS, mode 0600; `helix security` makes it"
    )
    query_address: str = Field(
        "127.0.0.1:7461",
        pattern=r"^\S+:\d{1,5}$",
        description="host:port of the query service; those of shards are separated by commas, "
        "those of the replicas of one by vertical bars",
    )
    ca_file: Path | None = Field(
        None, description="CA (PEM) of the query service and, with a user of NATS, of NATS: connect with TLS"
    )
    cert_file: Path | None = Field(None, description="own certificate (PEM), for mTLS")
    key_file: Path | None = Field(None, description="key of that certificate (PEM), mode 0600")
    metrics_port: int = Field(0, ge=0, le=65535, description="Prometheus port; 0: none")
    in_flight: int = Field(32, ge=1, le=1024, description="requests at once; more are refused")
    request_seconds: float = Field(10.0, gt=0, le=60, description="longest call of one request")
    wait_seconds: float = Field(
        30.0, gt=0, le=600, description="longest time in which a write with `wait` is processed"
    )
    grace_seconds: float = Field(
        5.0, ge=0, le=60, description="time for running requests to finish at shutdown"
    )

    hook_transcripts: Annotated[tuple[Path, ...], NoDecode] = Field(
        default_factory=transcript_folders,
        description="folders of transcripts that hooks of coding agents may hand over, separated by colons, "
        "for callers on this machine alone; by default those of Claude Code, Codex and Cursor",
    )
    hook_sessions_dir: Path = Field(
        default_factory=lambda: helix_home() / "agents" / "sessions",
        description="what sessions of coding agents were given, and how far their transcripts were read",
    )

    @property
    def longest_seconds(self) -> float:
        """The longest request: a write that is acknowledged, then processed."""
        return self.request_seconds + self.wait_seconds + MARGIN_SECONDS

    @field_validator("hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return (
            tuple(filter(None, (one.strip().lower() for one in value.split(","))))
            if isinstance(value, str)
            else value
        )

    @field_validator("hook_transcripts", mode="before")
    @classmethod
    def _split_folders(cls, value: object) -> object:
        return tuple(filter(None, value.split(os.pathsep))) if isinstance(value, str) else value

    @classmethod
    def load(cls, **overrides: Any) -> Self:
        """As in every settings class.

        Raises:
            InvalidInputError: as there, or the gateway would write with rights that its callers lack.
        """
        settings = super().load(**overrides)
        if settings.nats_credentials_file and not settings.modes:
            raise InvalidInputError(
                "HELIX_GATEWAY_AUTH",
                "must not be off where NATS knows users: everybody could write as this one",
            )
        return settings
