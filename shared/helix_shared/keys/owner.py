"""The owner of the key of an event: its user; without a user or a text, its tenant.

An event that only names ids (erase, forget, undo, the deletion of a document) survives the erasure of its
user, because a rebuild needs it. So it is not under the user's key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from helix_memory import subjects
from helix_shared.json_object import json_object
from helix_shared.value_codes import code_of

if TYPE_CHECKING:
    from collections.abc import Mapping

WITH_TEXT: Final = frozenset({"message", "tool", "memory", "correct", "document", "feedback"})
"""Kinds of events that may hold a text."""


def key_owner(subject: str, body: bytes) -> str:
    """Code of the owner of an event, 16 hexadecimal digits; an event that is refused has one, too."""
    fields = json_object(body)
    user = fields.get("user_id") if holds_text(subjects.kind_of(subject), fields) else ""
    return owner_code(subjects.tenant_of(subject), user if isinstance(user, str) else "")


def owner_code(tenant_id: str, user_id: str) -> str:
    """Code of a user; without one that of the tenant."""
    named = f"{tenant_id}\x1fkey\x1f{user_id}"
    return f"{code_of(named.encode('utf-8', 'surrogatepass')):016x}"


def holds_text(kind: str, fields: Mapping[str, Any]) -> bool:
    """Whether an event of this kind with these fields says something, besides ids."""
    says = kind in WITH_TEXT and fields.get("deleted") is not True
    return says and (kind != "feedback" or bool(fields.get("query")))
