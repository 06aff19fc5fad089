"""The static tokens of the gRPC services: adding one, ending one, and those of operator and forwarder."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from helix_cli.security.folder import FORWARDER, OPERATOR, write_secret
from helix_shared.errors import InvalidInputError, PermanentError
from helix_shared.rpc.access.credential import ADMIN, ANY, ERASE, RECALL, SERVICE, WRITE
from helix_shared.rpc.access.static_tokens import matching, parse_tokens, token_digest

if TYPE_CHECKING:
    from helix_cli.security.folder import SecurityFolder

TOKEN_PREFIX: Final = "helix_"  # noqa: S105  lets scanners of secrets find a token
TOKEN_BYTES: Final = 32
OWN: Final = {OPERATOR: (RECALL, WRITE, ERASE, ADMIN), FORWARDER: (SERVICE,)}
"""Tokens of the home itself, with their roles; they are for every tenant."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token is to stand for."""

    tenants: Sequence[str]
    user: str
    principals: Sequence[str]
    roles: Sequence[str]
    expires_at: datetime | None = None
    note: str = ""


def entries(folder: SecurityFolder) -> list[dict[str, Any]]:
    """The entries of the file; empty where there is none.

    Raises:
        PermanentError: it is damaged, so the services accept none of its tokens.
    """
    if not folder.tokens.exists():
        return []
    body = folder.tokens.read_bytes()
    try:
        parse_tokens(body)
    except (InvalidInputError, RecursionError) as error:
        raise PermanentError(f"{folder.tokens} is damaged: {error}; restore it from a backup") from error
    found: list[dict[str, Any]] = json.loads(body)["tokens"]
    return found


def add_token(folder: SecurityFolder, grant: Grant, *, identity: str = "") -> tuple[str, str]:
    """Add a token; returns its id and the token, which is kept nowhere.

    Raises:
        InvalidInputError: a name breaks a limit, or a role is unknown.
    """
    token = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    entry: dict[str, Any] = {
        "id": identity or f"t-{secrets.token_hex(4)}",
        "sha256": token_digest(token),
        "tenants": list(grant.tenants),
        "user": grant.user,
        "principals": list(grant.principals),
        "roles": list(grant.roles),
    }
    if grant.expires_at is not None:
        entry["expires_at"] = grant.expires_at.isoformat()
    if grant.note:
        entry["note"] = grant.note
    # a rotation that was killed may have left one of this id
    kept = [one for one in entries(folder) if one["id"] != entry["id"]]
    _save(folder, [*kept, entry])
    return entry["id"], token


def is_valid_token(folder: SecurityFolder, token: str) -> bool:
    """Whether the services accept a token.

    Raises:
        InvalidInputError: the file of the tokens is damaged.
        OSError: it cannot be read.
    """
    return matching(parse_tokens(folder.tokens.read_bytes()), token, now=datetime.now(UTC)) is not None


def end_token(folder: SecurityFolder, identity: str) -> None:
    """Remove a token; the services refuse it at once.

    Raises:
        InvalidInputError: there is none with this id.
    """
    kept = [one for one in entries(folder) if one["id"] != identity]
    if len(kept) == len(entries(folder)):
        raise InvalidInputError("id", f"there is no token {identity!r}; `helix security show` lists them")
    _save(folder, kept)


def renew_own_tokens(folder: SecurityFolder, number: int) -> None:
    """New tokens of operator and forwarder; the ones before stay valid until `end_older_own_tokens`."""
    for name, roles in OWN.items():
        grant = Grant([ANY], ANY, [ANY], roles)
        _, token = add_token(folder, grant, identity=f"{name}.{number}")
        write_secret(folder.token_file(name), f"{token}\n")


def end_older_own_tokens(folder: SecurityFolder, number: int) -> None:
    """Only the tokens of operator and forwarder with this number stay valid."""
    valid = {f"{name}.{number}" for name in OWN}
    kept = [one for one in entries(folder) if one["id"].partition(".")[0] not in OWN or one["id"] in valid]
    _save(folder, kept)


def _save(folder: SecurityFolder, kept: list[dict[str, Any]]) -> None:
    body = json.dumps({"tokens": kept}, indent=2) + "\n"
    parse_tokens(body.encode())
    write_secret(folder.tokens, body)
