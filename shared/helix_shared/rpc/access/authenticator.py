"""The credential of a call, from its metadata `authorization: Bearer <token>`.

A caller does not learn why a token is refused: the reason is counted and logged. A token is never logged.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NoReturn

from helix_shared.errors import UnauthenticatedError
from helix_shared.rpc.access.settings import JWT, TOKENS
from helix_shared.rpc.access.static_tokens import StaticToken, matching, parse_tokens
from helix_shared.rpc.access.watched_file import WatchedFile
from helix_shared.telemetry.logs import logger
from helix_shared.telemetry.metrics import CREDENTIALS_REFUSED

if TYPE_CHECKING:
    from helix_shared.rpc.access.credential import Credential
    from helix_shared.rpc.access.jwt_tokens import JwtRules, SigningKey
    from helix_shared.rpc.access.settings import AccessSettings

REFUSED: Final = "no valid credential; send metadata authorization: Bearer <token>"
"""Message of every refusal, whatever the reason."""
KEY: Final = "authorization"
SCHEME: Final = "bearer "
LOG_SECONDS: Final = 1.0
"""A reason is logged at most once in this time."""

_log = logger(__name__)


class Authenticator:
    """Checks tokens as the settings say; used from one event loop."""

    def __init__(self, settings: AccessSettings) -> None:
        """Read the files of the settings.

        Raises:
            InvalidInputError: a file is missing or invalid.
        """
        prefix = str(settings.model_config.get("env_prefix", ""))
        self._tokens: WatchedFile[tuple[StaticToken, ...]] | None = None
        self._keys: WatchedFile[tuple[SigningKey, ...]] | None = None
        self._rules: JwtRules | None = None
        self._logged: dict[str, float] = {}
        if TOKENS in settings.modes and settings.tokens_file is not None:
            self._tokens = WatchedFile(settings.tokens_file, parse_tokens, setting=f"{prefix}TOKENS_FILE")
        if JWT in settings.modes and settings.jwt_keys_file is not None:
            from helix_shared.rpc.access.jwt_tokens import (  # noqa: PLC0415  cryptography, only where it is used
                JwtRules,
                parse_keys,
            )

            self._keys = WatchedFile(settings.jwt_keys_file, parse_keys, setting=f"{prefix}JWT_KEYS_FILE")
            self._rules = JwtRules(
                settings.jwt_issuer,
                settings.jwt_audience,
                settings.jwt_leeway_seconds,
                settings.jwt_claim_prefix,
            )

    def authenticate(self, metadata: Sequence[tuple[str, Any]] | None) -> Credential:
        """The credential of a call.

        Raises:
            UnauthenticatedError: it has no valid one.
        """
        given = [value for key, value in metadata or () if key.lower() == KEY]
        if len(given) != 1:
            self._refuse("none" if not given else "several")
        if not isinstance(given[0], str) or given[0][: len(SCHEME)].lower() != SCHEME:
            self._refuse("scheme")
        return self._of_token(given[0][len(SCHEME) :].strip())

    def _of_token(self, token: str) -> Credential:
        if self._tokens is not None:
            tokens = self._tokens.value() or ()
            if (found := matching(tokens, token, now=datetime.now(UTC))) is not None:
                return found
        if self._keys is None or self._rules is None:
            self._refuse("unknown token")
        from helix_shared.rpc.access.jwt_tokens import verified  # noqa: PLC0415  as above

        try:
            return verified(token, self._keys.value() or (), self._rules)
        except UnauthenticatedError as error:
            self._refuse(str(error))

    def _refuse(self, reason: str) -> NoReturn:
        CREDENTIALS_REFUSED.labels(reason).inc()
        now = time.monotonic()
        if now - self._logged.get(reason, -LOG_SECONDS) >= LOG_SECONDS:
            self._logged[reason] = now
            _log.warning("credential_refused", reason=reason)
        raise UnauthenticatedError(REFUSED)
