"""What a reader yields, and the words all readers share: scope, session tokens, ids, times."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from helix_cli.sources.source_event import Refusal, SourceEvent
from helix_memory import limits, subjects


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that is no memory, and why."""

    why: str


Item = SourceEvent | Refusal | Skipped


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory an import becomes; an empty project means: what the source says."""

    tenant_id: str
    user_id: str = ""
    project_id: str = ""
    sidechains: bool = False


def session_token(session: str) -> str:
    """A session id as a subject token: itself where it is one, else a hash of it."""
    return session if subjects.is_token(session) else hashlib.sha256(session.encode()).hexdigest()[:32]


def short_name(name: str) -> str:
    """A name of at most `limits.NAME_CHARACTERS`; a longer one keeps its end behind a hash."""
    if len(name) <= limits.NAME_CHARACTERS:
        return name
    return f"{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:16]}-{name[-200:]}"


def moment(value: object) -> datetime | None:
    """A time stamp with time zone, or None where there is none."""
    if not isinstance(value, str):
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else None


def project_of(folder: object) -> str:
    """Project of a working directory: its last part; both kinds of slash are understood."""
    if not isinstance(folder, str):
        return ""
    return folder.replace("\\", "/").rstrip("/").rpartition("/")[2][: limits.NAME_CHARACTERS]


def text_of(content: Any) -> str:
    """The text of a message's or a result's content: a string, or blocks of which some hold text."""
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
