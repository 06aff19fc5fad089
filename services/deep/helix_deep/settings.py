"""Settings of the deep service; every variable starts with `HELIX_DEEP_`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, field_validator
from pydantic_settings import SettingsConfigDict

from helix_deep.questions.kinds import MODEL_STAGES
from helix_memory.transport.credentials import CallCredentials
from helix_shared.endpoint.settings import EndpointSettings, Listed
from helix_shared.rpc.access.settings import AccessSettings


class DeepSettings(AccessSettings, EndpointSettings):
    """The language model, the query service, and the limits of one deep recall."""

    model_config = SettingsConfigDict(env_prefix="HELIX_DEEP_", frozen=True, extra="forbid")

    listen: str = Field("127.0.0.1:7463", pattern=r"^\S+:\d{1,5}$", description="host:port of deep recalls")
    query_address: str = Field(
        "127.0.0.1:7461",
        pattern=r"^\S+:\d{1,5}$",
        description="host:port of the query service; those of shards are separated by commas, "
        "those of the replicas of one by vertical bars",
    )
    query_ca_file: Path | None = Field(None, description="CA (PEM) of the query service: connect with TLS")
    query_cert_file: Path | None = Field(None, description="own certificate (PEM), for mTLS")
    query_key_file: Path | None = Field(None, description="key of that certificate (PEM), mode 0600")
    query_seconds: float = Field(5.0, gt=0, le=60, description="longest wait for the query service")
    metrics_port: int = Field(0, ge=0, le=65535, description="Prometheus port; 0: none")
    in_flight: int = Field(8, ge=1, le=256, description="deep recalls at once; more are refused")
    request_seconds: float = Field(30.0, gt=0, le=600, description="longest deep recall")
    request_tokens: int = Field(
        16_000, ge=0, le=1_000_000, description="tokens that one deep recall may spend at most"
    )
    daily_tokens: int = Field(
        500_000,
        ge=0,
        description="tokens a day (UTC), tenant and process; then recalls are plain ones; 0: no limit",
    )
    stages: Listed = Field(
        MODEL_STAGES, description="stages that may ask the language model, separated by commas"
    )
    candidates: int = Field(40, ge=5, le=40, description="memories of each list, and those that are reranked")
    grace_seconds: float = Field(5.0, ge=0, le=60, description="time for running calls to finish at shutdown")

    @property
    def query_credentials(self) -> CallCredentials:
        """How the query service is called; the token of each call is its caller's own."""
        return CallCredentials(
            ca_file=self.query_ca_file, cert_file=self.query_cert_file, key_file=self.query_key_file
        )

    @field_validator("stages")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [name for name in value if name not in MODEL_STAGES]:
            message = f"unknown stage {unknown[0]!r}; stages: {', '.join(MODEL_STAGES)}"
            raise ValueError(message)
        return value
