"""Settings of a service that asks a language model: which one, for whom, and within which limits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, StringConstraints, field_validator
from pydantic_settings import NoDecode

from helix_memory.subjects import is_token
from helix_shared.errors import InvalidInputError
from helix_shared.settings import ServiceSettings

Structured = Literal["auto", "json_schema", "json_object", "text"]
EVERY_TENANT = "*"
_KEY: Final = re.compile(r"[!-~]*")


def _split(value: object) -> object:
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


Listed = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""Values separated by commas."""


class EndpointSettings(ServiceSettings):
    """The language model: one OpenAI-compatible address; a service adds its prefix and its own settings."""

    base_url: Annotated[str, StringConstraints(pattern=r"^(https?://\S+)?$")] = Field(
        "", description="OpenAI-compatible address that ends in /v1; empty: no language model is used"
    )
    model: str = Field("", max_length=256, description="name of the model at that address")
    api_key: SecretStr = Field(SecretStr(""), description="key of the address; local servers need none")
    api_key_file: Path | None = Field(None, description="file with the key, instead of the key itself")
    structured: Structured = Field(
        "auto", description="form of the answer; auto: the strictest that the server accepts"
    )
    temperature: float = Field(
        0.0, ge=0, le=2, description="temperature; left out when the server refuses it"
    )
    timeout_seconds: float = Field(60.0, gt=0, le=600, description="longest wait for one answer")
    concurrency: int = Field(2, ge=1, le=64, description="questions at once from one process")
    tenants: Listed = Field(
        (), description="tenants whose texts are sent, separated by commas; *: all; empty: none"
    )
    breaker_failures: int = Field(
        5, ge=1, le=100, description="failures in a row after which nothing is asked for a while"
    )
    breaker_seconds: float = Field(
        15.0, gt=0, le=3_600, description="first pause after failures; doubles with each one, to 10 minutes"
    )

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        # the address may hold a password, so nothing of it is said
        message = "is no address: its host or port cannot be used"
        try:
            port = urlsplit(value).port
        except ValueError:
            raise ValueError(message) from None
        if port == 0:
            raise ValueError(message)
        return value

    @field_validator("tenants")
    @classmethod
    def _named(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(not is_token(name) for name in value if name != EVERY_TENANT):
            message = "each tenant must be a token of A-Z a-z 0-9 _ -, or * for all"
            raise ValueError(message)
        return value

    def allows(self, tenant_id: str) -> bool:
        """Whether texts of a tenant may be sent."""
        return EVERY_TENANT in self.tenants or tenant_id in self.tenants

    def key(self) -> str:
        """The key of the address; empty if there is none.

        Raises:
            InvalidInputError: the file cannot be read, or the key cannot stand in a header.
        """
        prefix, key = self.model_config.get("env_prefix", ""), self.api_key.get_secret_value().strip()
        if self.api_key_file is not None:
            try:
                key = self.api_key_file.read_text().strip()
            except (OSError, UnicodeDecodeError) as error:
                raise InvalidInputError(
                    f"{prefix}API_KEY_FILE", f"not readable: {type(error).__name__}"
                ) from error
        if _KEY.fullmatch(key) is None:
            name = f"{prefix}API_KEY" if self.api_key_file is None else f"{prefix}API_KEY_FILE"
            raise InvalidInputError(name, "must be one line of ASCII characters without spaces")
        return key
