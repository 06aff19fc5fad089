"""Reads claims about tenant, user, principals and roles; a claim of a wrong form makes the token invalid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helix_memory import limits
from helix_memory.recall import checks
from helix_shared.errors import InvalidInputError
from helix_shared.rpc.access.credential import ANY, ROLES, Credential


def credential_of(claims: Mapping[str, Any], *, identity: str) -> Credential:
    """The credential that claims describe: tenant or tenants, user, principals, roles.

    An absent tenant or an empty list is no tenant, an absent user is no user. Roles that Helix does not know
    are left out: an issuer may have others. "*" is any tenant, user or principal.

    Raises:
        InvalidInputError: a claim has another form, or breaks a limit.
    """
    if "tenant" in claims and "tenants" in claims:
        raise InvalidInputError("tenant", "excludes tenants")
    tenants = _names("tenant", claims["tenant"] if "tenant" in claims else claims.get("tenants", ()))
    principals = _names("principals", claims.get("principals", ()))
    user = claims.get("user", "")
    if not isinstance(user, str):
        raise InvalidInputError("user", "must be a string")
    roles = claims.get("roles", ())
    if isinstance(roles, str):
        roles = roles.split()
    known = frozenset(_names("roles", roles) or ()) & frozenset(ROLES)
    return Credential(
        id=identity,
        tenants=None if tenants is None else frozenset(map(checks.tenant, tenants)),
        user=None if user == ANY else checks.name("user", user),
        principals=None
        if principals is None
        else frozenset(checks.names("principals", principals, most=limits.PRINCIPALS)),
        roles=known,
    )


def _names(field: str, value: object) -> Sequence[str] | None:
    """The strings of a claim, one or several; None: any."""
    several = (value,) if isinstance(value, str) else value
    if not isinstance(several, list | tuple) or not all(isinstance(one, str) for one in several):
        raise InvalidInputError(field, "must be a string or a list of strings")
    if ANY in several:
        if len(several) > 1:
            raise InvalidInputError(field, f"{ANY!r} excludes other entries")
        return None
    return several
