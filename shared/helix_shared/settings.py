"""Settings: one frozen class per service, read once in `create_app`; values have units and bounds.

An unknown environment variable with the prefix of the service stops its start, so a misspelt setting is never
ignored.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from helix_memory.refusal import first_broken
from helix_memory.transport.credentials import NatsCredentials
from helix_shared.errors import InvalidInputError


class ServiceSettings(BaseSettings):
    """Base of every service's settings; a subclass sets its own `env_prefix`."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    log_format: str = Field("json", pattern="^(json|console)$", description="json or console")
    log_level: str = Field("INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="lowest level logged")
    metrics_host: Literal["127.0.0.1", "0.0.0.0"] = Field(  # noqa: S104  where a policy of the network protects it
        "127.0.0.1",
        description="address of the metrics port, which has no authentication; 0.0.0.0: also other machines",
    )

    @classmethod
    def load(cls, **overrides: Any) -> Self:
        """Read the environment; `overrides` take precedence.

        Raises:
            InvalidInputError: an unknown variable with the prefix, or a value out of bounds.
        """
        prefix = str(cls.model_config.get("env_prefix", ""))
        known = cls.variables()
        for variable in os.environ:
            if prefix and variable.upper().startswith(prefix.upper()) and variable.upper() not in known:
                raise InvalidInputError(variable, f"unknown setting; known: {', '.join(sorted(known))}")
        try:
            return cls(**overrides)
        except ValidationError as error:
            path, reason = first_broken(error)
            raise InvalidInputError(f"{prefix}{'.'.join(path)}".upper(), reason) from error

    @classmethod
    def variables(cls) -> dict[str, str]:
        """Description of every environment variable of the service, by name."""
        prefix = str(cls.model_config.get("env_prefix", ""))
        return {
            f"{prefix}{name}".upper(): field.description or "" for name, field in cls.model_fields.items()
        }


class BrokerSettings(ServiceSettings):
    """Settings of a service that uses NATS."""

    nats_url: str = Field(
        "nats://127.0.0.1:4222",
        description="address of the NATS server; of a cluster those of several, with commas",
    )
    nats_credentials_file: Path | None = Field(
        None,
        description="file with one line user:password for NATS, mode 0600; `helix security` makes it",
    )
    nats_ca_file: Path | None = Field(
        None, description="CA (PEM) of the NATS server: connect with TLS, handshake first"
    )
    ack_wait_seconds: float = Field(
        60.0,
        gt=1,
        le=3600,
        description="heartbeats are sent at a third of it, or of the ack wait of the consumer if it is less",
    )
    deadline_seconds: float = Field(
        300.0,
        gt=0,
        le=86_400,
        description="longest work on one message; then it is redelivered, the third time a dead letter",
    )
    hang_seconds: float = Field(
        60.0,
        ge=1,
        le=86_400,
        description="the process ends when its event loop has not run for this long",
    )
    publish_timeout_seconds: float = Field(
        5.0, gt=0, le=60, description="wait for the acknowledgement of the stream"
    )
    metrics_port: int = Field(0, ge=0, le=65535, description="Prometheus port; 0: none")
    niceness: int = Field(
        10,
        ge=0,
        le=19,
        description="niceness: background work has lower CPU priority than recall; 0: the same",
    )

    @property
    def nats_credentials(self) -> NatsCredentials:
        """The user of this service."""
        return NatsCredentials(self.nats_credentials_file, self.nats_ca_file)


def helix_home(environ: Mapping[str, str] | None = None) -> Path:
    """Folder of all data of Helix on this machine: `HELIX_HOME`, else `~/.helix`."""
    value = (os.environ if environ is None else environ).get("HELIX_HOME", "")
    return Path(value).expanduser().absolute() if value else Path.home() / ".helix"
