"""Which memories a lifecycle event applies to ("reaches"): one rule for all kinds (ops/decisions/0026).

An event reaches the memories that a recall with its `user_id` and `acl` could return. An event without a user
acts for the tenant and reaches all of its memories. The rule holds for forget, restore, erase, feedback and
correct, and for the deletion of a document. A new version of a document reaches less: published for a user,
it replaces that user's own pieces, whatever their access list. A memory out of reach is treated as if it did
not exist.

Users and principals are kept as `value_code`s, so nothing here holds a name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.audience import EVERYONE
from helix_shared.value_codes import NOTHING, ValueKind, code_of, value_code

__all__ = [
    "EVERYBODY",
    "NOTHING",
    "NO_TIME",
    "TENANT",
    "Actor",
    "MemoryFacts",
    "SelectorKind",
    "ValueKind",
    "Visibility",
    "actor_of",
    "family_code",
    "own_actor_of",
    "value_code",
    "visibility_of",
]

if TYPE_CHECKING:
    from collections.abc import Iterable

SelectorKind = Literal["memory", "session", "document", "user"]
"""What an event may select memories by."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """Who may recall a memory: codes of its owner (`NOTHING`: all users) and audience (empty: everyone)."""

    owner: int = NOTHING
    audience: frozenset[int] = frozenset()


EVERYBODY: Final = Visibility()
"""Every user of the tenant may recall it."""


@dataclass(frozen=True, slots=True)
class Actor:
    """For whom an event acts: codes of its user (`NOTHING`: the tenant) and of its access list."""

    user: int = NOTHING
    principals: frozenset[int] = frozenset()
    is_own: bool = False
    """Reaches all that was published for the user, with any access list, and nothing else."""

    @property
    def code(self) -> int:
        """63-bit code of the actor; `NOTHING` for the tenant."""
        if self.user == NOTHING and not self.principals:
            return NOTHING
        parts = (self.user, *sorted(self.principals))
        return code_of(b"".join(part.to_bytes(8, "big") for part in parts) + b"own" * self.is_own)

    def reaches(self, visibility: Visibility, user: int = NOTHING) -> bool:
        """Whether the actor reaches a memory of the same tenant that was published for `user`."""
        if self.user == NOTHING:
            return True
        if self.is_own:
            return user == self.user
        return visibility.owner in (NOTHING, self.user) and (
            not visibility.audience or not self.principals.isdisjoint(visibility.audience)
        )


TENANT: Final = Actor()
"""Acts for the whole tenant."""


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """What decides which events reach a memory; ids are `value_code`s, `expires_at` is in microseconds."""

    stream_sequence: int
    memory: int
    session: int
    document: int
    user: int
    visibility: Visibility = EVERYBODY
    expires_at: int = NO_TIME
    source: int = NOTHING
    """The verbatim memory of a derived statement: what selects it selects the statement too."""
    families: tuple[int, ...] = ()
    """`family_code`s by which a forget or restore of any version reaches this one; empty: not looked up."""

    @property
    def selectors(self) -> tuple[int, ...]:
        """Codes an event may select the memory by; some are `NOTHING`."""
        return self.memory, self.session, self.document, self.user, self.source, *self.families


def family_code(memory: int) -> int:
    """Code of a memory with all its versions, given the code of the first one."""
    return code_of(b"family" + memory.to_bytes(8, "big"))


def actor_of(tenant_id: str, user_id: str, acl: Iterable[str]) -> Actor:
    """The actor of an event with these fields; without a user the tenant, whose access list is ignored."""
    if not user_id:
        return TENANT
    return Actor(value_code(tenant_id, "user", user_id), _principals(tenant_id, acl))


def own_actor_of(tenant_id: str, user_id: str) -> Actor:
    """The actor of a new version of a document: reaches the user's own pieces; without a user, all pieces."""
    return Actor(value_code(tenant_id, "user", user_id), is_own=True) if user_id else TENANT


def visibility_of(tenant_id: str, owner: str, audience: Iterable[str]) -> Visibility:
    """The visibility of a record with these columns."""
    named = list(audience)
    principals = frozenset[int]() if EVERYONE in named else _principals(tenant_id, named)
    return Visibility(value_code(tenant_id, "user", owner), principals)


def _principals(tenant_id: str, names: Iterable[str]) -> frozenset[int]:
    return frozenset(value_code(tenant_id, "principal", name) for name in names)
