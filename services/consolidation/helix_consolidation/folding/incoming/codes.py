"""Codes by which rows are compared: of the group of a row, and of its content."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from helix_shared.identity import joined


def group_code(
    tenant_id: str, owner: str, memory_type: str, audience: Sequence[str], *, derived_from: str = ""
) -> int:
    """63-bit code of a group; only rows of one group are compared as near-duplicates.

    Derived statements are compared with each other alone: each repeats the memory it came from.
    """
    kind = f"derived {memory_type}" if derived_from else memory_type
    text = joined(tenant_id, owner, kind, *sorted(set(audience)))
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) >> 1


def content_code(content_hash: str) -> int:
    """The first 63 bits of a content hash."""
    return int(content_hash[:16], 16) >> 1
