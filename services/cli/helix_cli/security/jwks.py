"""Fetches the key set of an OIDC issuer into a file, for a service that checks JWTs without a connection."""

from __future__ import annotations

import json
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from helix_cli.security.folder import write_secret
from helix_shared.errors import InvalidInputError, TemporaryError
from helix_shared.rpc.access.jwt_tokens import parse_keys

SECONDS: Final = 10.0
MOST_BYTES: Final = 1024 * 1024
WELL_KNOWN: Final = "/.well-known/openid-configuration"


def fetch_keys(issuer: str, path: Path) -> int:
    """Write the keys of an issuer to a file; returns how many can be used.

    Raises:
        InvalidInputError: the address is not https (http for this machine), or names no issuer with keys.
        TemporaryError: nothing answers.
    """
    described = _decoded(_get(issuer.rstrip("/") + WELL_KNOWN))
    if not isinstance(described, dict) or described.get("issuer") != issuer:
        raise InvalidInputError("issuer", f"{issuer} describes itself under another name")
    body = _get(str(described.get("jwks_uri", "")))
    keys = parse_keys(body)
    if not path.exists() or path.read_bytes() != body:
        write_secret(path, body)
    return len(keys)


def _require_safe(url: str) -> None:
    """Refuse what anybody between here and there could change."""
    try:
        at = urlsplit(url)
    except ValueError as error:
        raise InvalidInputError("issuer", f"{url!r} is no address: {error}") from error
    if at.scheme != "https" and not (at.scheme == "http" and at.hostname in ("127.0.0.1", "localhost")):
        raise InvalidInputError("issuer", f"{url!r} must begin with https://")


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirection to an address that `_require_safe` takes."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """As the base class."""
        _require_safe(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _get(url: str) -> bytes:
    _require_safe(url)
    try:
        with urllib.request.build_opener(_SafeRedirects).open(url, timeout=SECONDS) as reply:
            body: bytes = reply.read(MOST_BYTES + 1)
    except (OSError, HTTPException, ValueError) as error:
        raise TemporaryError(f"no answer from {url}: {error}") from error
    if len(body) > MOST_BYTES:
        raise InvalidInputError("issuer", f"{url} has more than {MOST_BYTES} bytes")
    return body


def _decoded(body: bytes) -> Any:
    """JSON, or an error that names the issuer."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("issuer", "does not answer with JSON") from error
