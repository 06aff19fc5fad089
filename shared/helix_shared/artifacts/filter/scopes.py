"""Scopes: who may see a memory, as keys that prefix its terms in the lexicon.

A scope is a tenant, an owner (empty: everyone in the tenant) and one name of an access list (or `EVERYONE`).
A memory with an access list is in one scope for each name on the list.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Final

from helix_shared.audience import EVERYONE
from helix_shared.identity import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

KEY_BYTES: Final = 9
KEY_CHARACTERS: Final = 12


def scope_key(tenant_id: str, owner: str, audience: str) -> str:
    """Key of a scope, 12 characters; two scopes collide with a probability of 2^-72."""
    digest = hashlib.blake2b(joined(tenant_id, owner, audience), digest_size=KEY_BYTES).digest()
    return base64.b64encode(digest, b"-_").decode()


def scopes_of(tenant_id: str, owner: str, audience: Sequence[str]) -> tuple[str, ...]:
    """Keys of the scopes of a memory: one, or one for each name of its access list."""
    names = (EVERYONE,) if EVERYONE in audience else tuple(dict.fromkeys(audience))
    return tuple(scope_key(tenant_id, owner, name) for name in names)
