"""Tokens of a file: it holds the SHA-256 of each and what it stands for, never a token.

{"tokens": [{"id": "t-1", "sha256": "...", "tenant": "acme", "user": "ana", "principals": [],
"roles": ["recall"], "expires_at": "2027-01-01T00:00:00Z"}]}

`expires_at` may be absent. `helix security token` adds an entry.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from helix_shared.errors import InvalidInputError
from helix_shared.rpc.access.claims import credential_of
from helix_shared.rpc.access.credential import ROLES, Credential

FIELDS: Final = frozenset(
    {"id", "sha256", "tenant", "tenants", "user", "principals", "roles", "expires_at", "note"}
)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


@dataclass(frozen=True, slots=True)
class StaticToken:
    """One entry of the file."""

    digest: bytes
    credential: Credential
    expires_at: datetime | None


def token_digest(token: str) -> str:
    """What the file holds of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def parse_tokens(body: bytes) -> tuple[StaticToken, ...]:
    """The entries of a file.

    Raises:
        InvalidInputError: it has another form; names the entry.
    """
    try:
        entries = json.loads(body)["tokens"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError("tokens", "must be a JSON object with a list") from error
    if not isinstance(entries, list):
        raise InvalidInputError("tokens", "must be a list")
    tokens = tuple(_entry(f"tokens.{number}", one) for number, one in enumerate(entries))
    if len({one.credential.id for one in tokens}) < len(tokens):
        raise InvalidInputError("tokens", "two entries have one id")
    return tokens


def matching(tokens: tuple[StaticToken, ...], token: str, *, now: datetime) -> Credential | None:
    """The credential of a token that has not expired; every entry is compared, in constant time."""
    digest = hashlib.sha256(token.encode()).digest()
    found = None
    for one in tokens:
        if hmac.compare_digest(one.digest, digest) and (one.expires_at is None or now < one.expires_at):
            found = one.credential
    return found


def _entry(field: str, entry: Any) -> StaticToken:
    if not isinstance(entry, dict):
        raise InvalidInputError(field, "must be an object")
    if unknown := entry.keys() - FIELDS:
        raise InvalidInputError(f"{field}.{min(unknown)}", f"is unknown; known: {', '.join(sorted(FIELDS))}")
    if not (isinstance(entry.get("id"), str) and _ID.fullmatch(entry["id"])):
        raise InvalidInputError(f"{field}.id", "must be 1 to 64 letters, digits and _ . : -")
    if not _DIGEST.fullmatch(str(entry.get("sha256", ""))):
        raise InvalidInputError(f"{field}.sha256", "must be 64 hexadecimal digits in lower case")
    roles = entry.get("roles")
    if not isinstance(roles, list) or not roles or not all(one in ROLES for one in roles):
        raise InvalidInputError(f"{field}.roles", f"must be a list of: {', '.join(ROLES)}")
    if not (entry.get("tenant") or entry.get("tenants")):
        raise InvalidInputError(f"{field}.tenant", "is missing")
    try:
        credential = credential_of(entry, identity=entry["id"])
    except InvalidInputError as error:
        raise InvalidInputError(f"{field}.{error.field}", error.reason) from error
    return StaticToken(bytes.fromhex(entry["sha256"]), credential, _moment(field, entry.get("expires_at")))


def _moment(field: str, value: object) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise InvalidInputError(f"{field}.expires_at", "must be a time like 2027-01-01T00:00:00Z") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
