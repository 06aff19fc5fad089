"""Settings of the forwarder, prefix `HELIX_FORWARDER_`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from helix_memory.transport.credentials import CallCredentials
from helix_shared.settings import BrokerSettings


class ForwarderSettings(BrokerSettings):
    """Where accesses come from, and how often they are published."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_prefix="HELIX_FORWARDER_")

    access_address: str = Field(
        "127.0.0.1:7462",
        pattern=r"^(\S+:\d{1,5}|unix:\S+)$",
        description="HELIX_QUERY_ACCESS_LISTEN of the query service",
    )
    token_file: Path | None = Field(
        None, description="token with the role service, where the query service has authentication; mode 0600"
    )
    access_ca_file: Path | None = Field(None, description="CA (PEM) of the query service: connect with TLS")
    access_cert_file: Path | None = Field(None, description="own certificate (PEM), for mTLS")
    access_key_file: Path | None = Field(None, description="key of that certificate (PEM), mode 0600")
    publish_interval_seconds: float = Field(
        5.0, gt=0, le=600, description="time in which accesses of one memory are counted together"
    )
    held_memories: int = Field(
        100_000,
        ge=1,
        le=10_000_000,
        description="memories with accesses that are not published yet; then the forwarder reads no more",
    )

    @property
    def call_credentials(self) -> CallCredentials:
        """How the query service is called."""
        return CallCredentials(
            token_file=self.token_file,
            ca_file=self.access_ca_file,
            cert_file=self.access_cert_file,
            key_file=self.access_key_file,
        )
