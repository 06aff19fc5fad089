"""Settings of a gRPC service about who may call it; a service mixes them into its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Self

from pydantic import Field

from helix_shared.errors import InvalidInputError
from helix_shared.settings import ServiceSettings

OFF: Final = "off"
TOKENS: Final = "tokens"
JWT: Final = "jwt"


class AccessSettings(ServiceSettings):
    """TLS, and where the credentials of callers come from."""

    auth: str = Field(
        OFF,
        pattern=r"^(off|tokens|jwt|tokens\+jwt)$",
        description="credentials of callers: off, tokens, jwt or tokens+jwt; off: a caller's own word "
        "counts, and only loopback addresses are accepted",
    )
    insecure: bool = Field(
        default=False,
        description="accept another address than loopback without authentication or without TLS, because "
        "something else protects the port",
    )
    tokens_file: Path | None = Field(
        None, description="file with the SHA-256 of static tokens; read again when it changes"
    )
    jwt_keys_file: Path | None = Field(
        None, description="public key (PEM) or key set (JWKS) that signs JWTs; read again when it changes"
    )
    jwt_issuer: str = Field("", max_length=2048, description="`iss` that a JWT must have")
    jwt_audience: str = Field("", max_length=2048, description="`aud` that a JWT must have")
    jwt_leeway_seconds: float = Field(
        30.0, ge=0, le=300, description="clock difference that `exp` and `nbf` allow"
    )
    jwt_claim_prefix: str = Field(
        "", max_length=256, description="prefix of the claims tenant, tenants, user, principals, roles"
    )
    tls_cert_file: Path | None = Field(None, description="certificate chain of the server (PEM)")
    tls_key_file: Path | None = Field(None, description="private key of the server (PEM), mode 0600")
    tls_client_ca_file: Path | None = Field(
        None, description="CA (PEM) that must have signed the certificate of every caller (mTLS)"
    )

    @property
    def modes(self) -> tuple[str, ...]:
        """The kinds of credentials that are accepted; empty: authentication is off."""
        return () if self.auth == OFF else tuple(self.auth.split("+"))

    @classmethod
    def load(cls, **overrides: Any) -> Self:
        """As in every settings class; the files that a mode needs must be named.

        Raises:
            InvalidInputError: as there, or a setting is missing.
        """
        settings = super().load(**overrides)
        settings.require_complete()
        return settings

    def require_complete(self) -> None:
        """Raise InvalidInputError for a setting that another one needs."""
        needed = {
            "tokens_file": TOKENS in self.modes and not self.tokens_file,
            "jwt_keys_file": JWT in self.modes and not self.jwt_keys_file,
            "jwt_issuer": JWT in self.modes and not self.jwt_issuer,
            "jwt_audience": JWT in self.modes and not self.jwt_audience,
            "tls_key_file": self.tls_cert_file is not None and not self.tls_key_file,
            "tls_cert_file": bool(self.tls_key_file or self.tls_client_ca_file) and not self.tls_cert_file,
        }
        for name, is_missing in needed.items():
            if is_missing:
                prefix = str(self.model_config.get("env_prefix", ""))
                raise InvalidInputError(f"{prefix}{name}".upper(), "is missing")
