"""For whom a request speaks: with authentication its credential decides, else its headers.

The scope that the headers name is bounded by the credential, as that of a gRPC call is. No body and no
argument of a tool names a tenant or a user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import DeniedError, InvalidInputError
from helix_shared.rpc.access.authenticator import KEY, SCHEME, Authenticator
from helix_shared.rpc.access.credential import OUT_OF_SCOPE
from helix_shared.telemetry.logs import logger
from helix_shared.telemetry.metrics import CALLS_DENIED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.datastructures import Headers

    from helix_gateway.settings import GatewaySettings
    from helix_memory.client import AsyncHelix
    from helix_shared.rpc.access.credential import Credential

TENANT: Final = "Helix-Tenant"
USER: Final = "Helix-User"
PRINCIPALS: Final = "Helix-Principals"
PROJECT: Final = "Helix-Project"
TIME_ZONE: Final = "Helix-Time-Zone"
DEFAULT_TENANT: Final = "default"
HEADERS: Final = {
    TENANT: f"tenant, by default {DEFAULT_TENANT}; with authentication one that the credential allows",
    USER: "user, in UTF-8; with authentication one that the credential allows",
    PRINCIPALS: "groups and roles, separated by commas; with authentication those of the credential or fewer",
    PROJECT: "project of what is written",
    TIME_ZONE: "IANA name, of words like `yesterday` and of dates; by default that of the gateway",
}
"""Headers that name the caller, and what each is."""
NO_TENANT: Final = f"the credential is for several tenants: name one in the header {TENANT}"
_PREFIX: Final = "helix"
_KNOWN: Final = frozenset(name.lower() for name in HEADERS)

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """The client that acts for a caller, and what the caller may do."""

    helix: AsyncHelix
    tenant: str
    user: str
    credential: Credential | None = None
    project: str = ""
    """Of what is written; empty: none."""

    def may(self, role: str) -> bool:
        """Whether the credential has a role; where callers are not checked everybody has each."""
        return self.credential is None or role in self.credential.roles

    def require(self, role: str | None) -> None:
        """Refuse a caller whose credential lacks a role; None: any role will do.

        Raises:
            DeniedError: it lacks the role.
        """
        if role is not None and not self.may(role):
            CALLS_DENIED.labels("role").inc()
            raise DeniedError(f"the credential lacks the role {role}")

    def require_principals(self, acl: Sequence[str]) -> None:
        """Refuse to write for principals that the caller is none of.

        Raises:
            DeniedError: the credential lacks one of them.
        """
        bound = None if self.credential is None else self.credential.principals
        if bound is not None and not bound.issuperset(acl):
            CALLS_DENIED.labels("scope").inc()
            raise DeniedError(OUT_OF_SCOPE)


class Callers:
    """Makes the caller of a request; used from one event loop."""

    def __init__(self, settings: GatewaySettings, helix: AsyncHelix) -> None:
        """Read the credentials that the settings name.

        Raises:
            InvalidInputError: a file is missing or invalid.
        """
        self._helix = helix
        self._authenticator = Authenticator(settings) if settings.modes else None
        if self._authenticator is None:
            _log.warning(
                "no authentication: whoever reaches the port may act for every tenant",
                setting="HELIX_GATEWAY_AUTH",
            )

    def of(self, headers: Headers) -> Caller:
        """The caller of a request with these headers.

        Raises:
            UnauthenticatedError: it has no valid credential.
            DeniedError: the credential does not allow what the headers name.
            InvalidInputError: a header breaks its limit.
        """
        scope = recall_pb2.Scope(
            tenant_id=_text(headers, TENANT),
            user_id=_text(headers, USER),
            principals=[one for part in _texts(headers, PRINCIPALS) if (one := part.strip())],
        )
        credential, token = None, ""  # "": none at all, also none of the gateway itself
        if self._authenticator is not None:
            given = headers.getlist(KEY)
            credential = self._authenticator.authenticate([(KEY, value) for value in given])
            token = given[0][len(SCHEME) :].strip()
            _bound(credential, scope)
        project = _text(headers, PROJECT)
        helix = self._helix.acting_as(
            tenant=scope.tenant_id or DEFAULT_TENANT,
            user=scope.user_id,
            principals=list(scope.principals),
            project=project,
            time_zone=_text(headers, TIME_ZONE) or None,
            token=token,
        )
        return Caller(helix, scope.tenant_id or DEFAULT_TENANT, scope.user_id, credential, project)


def only_known(headers: Headers) -> Headers:
    """The headers of a program, which names its caller by `HEADERS` alone.

    Raises:
        InvalidInputError: one only looks like those; the request would speak for another caller than it says.
    """
    for name in headers:
        bare = name.replace("-", "").replace("_", "").removeprefix("x")
        if bare.startswith(_PREFIX) and name not in _KNOWN:
            raise InvalidInputError(name[:100], f"is no header of Helix; there are {', '.join(HEADERS)}")
    return headers


def _bound(credential: Credential, scope: recall_pb2.Scope) -> None:
    try:
        credential.bound(scope)
    except DeniedError:
        CALLS_DENIED.labels("scope").inc()
        _log.warning("scope_denied", credential=credential.id)
        raise
    if not scope.tenant_id:
        raise DeniedError(NO_TENANT)


def _text(headers: Headers, name: str) -> str:
    """A header in UTF-8; empty where there is none.

    Raises:
        InvalidInputError: it is not UTF-8, or there are several.
    """
    given = headers.getlist(name)
    if len(given) > 1:
        raise InvalidInputError(name, "is given more than once")
    return _utf8(name, "".join(given))


def _texts(headers: Headers, name: str) -> list[str]:
    """The entries of a header, which have commas between them or stand in headers of their own."""
    return _utf8(name, ",".join(headers.getlist(name))).split(",")


def _utf8(name: str, value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except UnicodeError as error:
        raise InvalidInputError(name, "must be UTF-8") from error
