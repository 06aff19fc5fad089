"""Which event reaches which memory: the one rule of all lifecycle events (ops/decisions/0026).

An event reaches what a recall for its own user and principals could return. An event without a user acts
for the tenant and reaches all of its memories. The rule holds for forget, restore, erase, feedback,
correct and for the deletion of a document, however the event names its memories. A new version of a document
reaches less: published for a user, it replaces that user's own pieces, whatever their access list, and hides
nothing that others share. A memory that is out of reach is treated as if it did not exist: the outcome tells
nothing of it.

Users and principals are kept as `value_code`s, so nothing here holds a name.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from helix_shared.audience import EVERYONE

if TYPE_CHECKING:
    from collections.abc import Iterable

SelectorKind = Literal["memory", "session", "document", "user", "event", "principal"]
NOTHING: Final = 0
"""Code of an empty value; no selector has it."""


@dataclass(frozen=True, slots=True)
class Actor:
    """For whom an event acts: codes of its user (`NOTHING`: the tenant) and of its access list."""

    user: int = NOTHING
    principals: frozenset[int] = frozenset()
    is_own: bool = False
    """Only what was published for the user is reached, whatever its access list."""

    @property
    def code(self) -> int:
        """63-bit code of the scope; `NOTHING` for the tenant."""
        if self.user == NOTHING and not self.principals:
            return NOTHING
        parts = (self.user, *sorted(self.principals))
        return _code(b"".join(part.to_bytes(8, "big") for part in parts) + b"own" * self.is_own)


TENANT: Final = Actor()
"""Acts for the whole tenant."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """Who may recall a memory: codes of its owner (`NOTHING`: all users) and audience (empty: everyone)."""

    owner: int = NOTHING
    audience: frozenset[int] = frozenset()


EVERYBODY: Final = Visibility()
"""Every user of the tenant may recall it."""


def reaches(scope: Actor, visibility: Visibility, user: int = NOTHING) -> bool:
    """Whether an event of `scope` reaches a memory of the same tenant that was published for `user`."""
    if scope.user == NOTHING:
        return True
    if scope.is_own:
        return user == scope.user
    return visibility.owner in (NOTHING, scope.user) and (
        not visibility.audience or not scope.principals.isdisjoint(visibility.audience)
    )


def actor_of(tenant_id: str, user_id: str, acl: Iterable[str]) -> Actor:
    """The scope of an event from its fields; without a user the access list narrows nothing."""
    if not user_id:
        return TENANT
    return Actor(value_code(tenant_id, "user", user_id), _principals(tenant_id, acl))


def own_actor_of(tenant_id: str, user_id: str) -> Actor:
    """The scope of a new version of a document: the user's own pieces; without a user, all pieces."""
    return Actor(value_code(tenant_id, "user", user_id), is_own=True) if user_id else TENANT


def visibility_of(tenant_id: str, owner: str, audience: Iterable[str]) -> Visibility:
    """The visibility of a record from its `owner` and `audience`."""
    named = list(audience)
    principals = frozenset[int]() if EVERYONE in named else _principals(tenant_id, named)
    return Visibility(value_code(tenant_id, "user", owner), principals)


def value_code(tenant_id: str, selector_kind: SelectorKind, value: str) -> int:
    """63-bit code of a value inside a tenant, or `NOTHING` for an empty value."""
    return (
        _code(f"{tenant_id}\x1f{selector_kind}\x1f{value}".encode("utf-8", "surrogatepass"))
        if value
        else NOTHING
    )


def _principals(tenant_id: str, names: Iterable[str]) -> frozenset[int]:
    return frozenset(value_code(tenant_id, "principal", name) for name in names)


def _code(text: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) >> 1 or 1
