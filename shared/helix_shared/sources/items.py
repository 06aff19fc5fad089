"""Types that the readers of files share: items, the scope of events, names and times."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from helix_memory import limits, subjects
from helix_shared.sources.source_event import Refusal, SourceEvent


@dataclass(frozen=True, slots=True)
class SkippedPart:
    """A part of a file that becomes no event, and why."""

    why: str


Item = SourceEvent | Refusal | SkippedPart


@dataclass(frozen=True, slots=True)
class SourceScope:
    """Tenant, user and project of the events; an empty project is taken from the source."""

    tenant_id: str
    user_id: str = ""
    project_id: str = ""
    sidechains: bool = False


def session_token(session: str) -> str:
    """A session id as a subject token: the id if it is a valid token, else a hash of it."""
    if subjects.is_token(session):
        return session
    return hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()[:32]


def short_name(name: str) -> str:
    """A name of at most `limits.NAME_CHARACTERS`; of a longer one, a hash and its end."""
    if len(name) <= limits.NAME_CHARACTERS:
        return name
    return f"{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:16]}-{name[-200:]}"


def moment(value: object) -> datetime | None:
    """A timestamp with a time zone, or None for any other value."""
    if not isinstance(value, str):
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else None


def text_of(content: Any) -> str:
    """The text of a message or a result, whose content is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(filter(None, map(_block_text, content)))


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    if isinstance(block.get("text"), str):
        return str(block["text"])
    is_picture = "image" in str(block.get("type", ""))
    return "[image left out by helix import]" if is_picture else ""
