"""Codes of names: what is kept of a user, session or event where no name may remain.

A code is an unsalted hash of 63 bits, and the tenant is part of it. Whoever guesses a name can recognise it.
"""

from __future__ import annotations

import hashlib
from typing import Final, Literal

ValueKind = Literal["memory", "session", "document", "user", "event", "principal"]
NOTHING: Final = 0
"""Code of an empty value."""


def value_code(tenant_id: str, kind: ValueKind, value: str) -> int:
    """63-bit code of a value of this kind in a tenant; `NOTHING` for an empty value."""
    return code_of(f"{tenant_id}\x1f{kind}\x1f{value}".encode("utf-8", "surrogatepass")) if value else NOTHING


def code_of(text: bytes) -> int:
    """The first 63 bits of a hash; never `NOTHING`."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) >> 1 or 1
