"""Settings of extract; every variable starts with `HELIX_EXTRACT_`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, StringConstraints, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from helix_extract.windows.window import WindowLimits
from helix_memory.subjects import is_token
from helix_shared.errors import InvalidInputError
from helix_shared.settings import BrokerSettings, helix_home

Structured = Literal["auto", "json_schema", "json_object", "text"]
EVERY_TENANT = "*"


class ExtractSettings(BrokerSettings):
    """The language model, one OpenAI-compatible address, what may be spent on it, and the windows."""

    model_config = SettingsConfigDict(env_prefix="HELIX_EXTRACT_", frozen=True, extra="forbid")

    models_dir: Path = Field(
        default_factory=lambda: helix_home() / "models", description="folder of the embedding models"
    )
    window_characters: int = Field(2_000, ge=1, le=100_000, description="characters that fill a window")
    window_turns: int = Field(10, ge=1, le=100, description="turns that fill a window")
    window_seconds: float = Field(
        30.0, gt=0, le=3_600, description="time after the first turn at which a window closes"
    )
    oldest_days: float = Field(
        7.0,
        ge=0,
        description="older turns are not asked about; recorded answers are repeated at any age; 0: no limit",
    )
    batch_size: int = Field(256, ge=1, le=1_024, description="turns waiting or in progress at once")

    base_url: Annotated[str, StringConstraints(pattern=r"^(https?://\S+)?$")] = Field(
        "", description="OpenAI-compatible address that ends in /v1; empty: no language model is used"
    )
    model: str = Field("", max_length=256, description="name of the model at that address")
    api_key: SecretStr = Field(SecretStr(""), description="key of the address; local servers need none")
    api_key_file: Path | None = Field(None, description="file with the key, instead of HELIX_EXTRACT_API_KEY")
    structured: Structured = Field(
        "auto", description="form of the answer; auto: the strictest that the server accepts"
    )
    temperature: float = Field(
        0.0, ge=0, le=2, description="temperature; left out when the server refuses it"
    )
    max_output_tokens: int = Field(2_000, ge=64, le=65_536, description="longest answer")
    timeout_seconds: float = Field(60.0, gt=0, le=600, description="longest wait for one answer")
    concurrency: int = Field(2, ge=1, le=64, description="questions at once from one process")
    pairs: bool = Field(
        default=True, description="also ask about pairs of memories where the rules for relations are unsure"
    )
    pairs_at_once: int = Field(8, ge=1, le=64, description="pairs of one owner in one question")
    pairs_seconds: float = Field(
        10.0, gt=0, le=600, description="longest wait for further pairs before they are asked about"
    )
    tenants: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="tenants whose turns are sent, separated by commas; *: all; empty: none"
    )
    daily_tokens: int = Field(
        200_000, ge=0, description="tokens a day (UTC) and tenant; then only the rules work; 0: no limit"
    )
    breaker_failures: int = Field(
        5, ge=1, le=100, description="failures in a row after which nothing is asked for a while"
    )
    breaker_seconds: float = Field(
        15.0, gt=0, le=3_600, description="first pause after failures; doubles with each one, to 10 minutes"
    )

    @field_validator("tenants", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(part.strip() for part in value.split(",") if part.strip())

    @field_validator("tenants")
    @classmethod
    def _named(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(not is_token(name) for name in value if name != EVERY_TENANT):
            message = "each tenant must be a token of A-Z a-z 0-9 _ -, or * for all"
            raise ValueError(message)
        return value

    def allows(self, tenant_id: str) -> bool:
        """Whether turns of a tenant may be sent."""
        return EVERY_TENANT in self.tenants or tenant_id in self.tenants

    def key(self) -> str:
        """The key of the address; empty if there is none.

        Raises:
            InvalidInputError: the file cannot be read.
        """
        if self.api_key_file is None:
            return self.api_key.get_secret_value()
        try:
            return self.api_key_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(
                "HELIX_EXTRACT_API_KEY_FILE", f"not readable: {type(error).__name__}"
            ) from error

    @property
    def limits(self) -> WindowLimits:
        """When a window is complete."""
        return WindowLimits(self.window_characters, self.window_turns, self.window_seconds)
