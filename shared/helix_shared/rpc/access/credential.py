"""A credential: the tenants, user, principals and roles that a token stands for, and the scope it allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from helix_shared.errors import DeniedError

RECALL: Final = "recall"
WRITE: Final = "write"
ERASE: Final = "erase"
ADMIN: Final = "admin"
SERVICE: Final = "service"
"""Only for services of Helix: reads what was served to every tenant."""
ROLES: Final = (RECALL, WRITE, ERASE, ADMIN, SERVICE)
ANY: Final = "*"
"""In a token: every tenant, user or principal."""

OUT_OF_SCOPE: Final = "the credential does not allow this scope"
"""One message, so that it does not tell which of the names exist."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What a token stands for; None is any."""

    id: str
    """Names the credential in logs; tells nothing about the token."""
    tenants: frozenset[str] | None
    user: str | None
    principals: frozenset[str] | None
    roles: frozenset[str]

    def bound(self, scope: Any) -> None:
        """Set what the message `scope` leaves out to what the credential has.

        Without a tenant in the scope, a credential for one tenant gives it. Principals may be fewer than
        those of the credential. A credential of any user leaves the user as it is.

        Raises:
            DeniedError: the scope names something else than the credential.
        """
        if self.tenants is not None:
            if not scope.tenant_id and len(self.tenants) == 1:
                scope.tenant_id = next(iter(self.tenants))
            if scope.tenant_id and scope.tenant_id not in self.tenants:
                raise DeniedError(OUT_OF_SCOPE)
        if self.user is not None:
            if scope.user_id not in ("", self.user):
                raise DeniedError(OUT_OF_SCOPE)
            scope.user_id = self.user
        if self.principals is not None:
            if not self.principals.issuperset(scope.principals):
                raise DeniedError(OUT_OF_SCOPE)
            if not scope.principals:
                scope.principals.extend(sorted(self.principals))
