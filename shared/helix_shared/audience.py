"""The audience of a memory: who may recall it, and which texts it may therefore quote.

A caller names one tenant, at most one user and some principals, and may narrow a recall to projects and
sessions. `may_quote` is the only rule by which text of one event enters the memory of another: turns as
context, the question of a short answer, the turns in a context vector. `artifacts.filter.selection` holds the
rule for callers; a property test checks that both agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

EVERYONE: Final = "*"
"""Principal of every caller; the audience of a memory without an access list."""


def owner_of(user_id: str, *, shared: bool) -> str:
    """The only user who may recall the memories of an event; empty: every user of the tenant."""
    return "" if shared else user_id


def audience_of(acl: Sequence[str]) -> list[str]:
    """The principals of which a caller must name one, in the order of the access list."""
    return list(acl) or [EVERYONE]


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of a memory: its tenant, project and session, and who may recall it."""

    tenant_id: str
    project_id: str
    session_id: str
    owner: str
    audience: frozenset[str]

    @classmethod
    def of(
        cls,
        *,
        tenant_id: str,
        user_id: str = "",
        project_id: str = "",
        session_id: str = "",
        acl: Sequence[str] = (),
        shared: bool = False,
    ) -> Self:
        """The scope of an event or a row, from its fields of these names."""
        owner = owner_of(user_id, shared=shared)
        return cls(tenant_id, project_id, session_id, owner, frozenset(audience_of(acl)))


def may_quote(quoting: Scope, quoted: Scope) -> bool:
    """Whether every caller who may recall a memory of `quoting` may also recall one of `quoted`.

    Projects and sessions grant no access (ops/decisions/0006), but a recall can be narrowed to them. Text of
    another project or session is therefore not quoted.
    """
    same_place = (quoting.tenant_id, quoting.project_id, quoting.session_id) == (
        quoted.tenant_id,
        quoted.project_id,
        quoted.session_id,
    )
    owner_is_open = quoted.owner in ("", quoting.owner)
    return same_place and owner_is_open and _is_as_open(quoting.audience, quoted.audience)


def _is_as_open(quoting: frozenset[str], quoted: frozenset[str]) -> bool:
    return EVERYONE in quoted or (EVERYONE not in quoting and quoting <= quoted)
