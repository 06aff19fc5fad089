"""The parts of a profile: statements, merged statements, and lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from helix_query.generations.indexes.facet_index import ProfilePart


@dataclass(frozen=True, slots=True)
class Statement:
    """The sentences of one memory that belong to one part of a profile."""

    ordinal: int
    memory_id: str
    sequence: int
    """Stream sequence of its event."""
    sentences: tuple[str, ...]
    part: ProfilePart
    facets: tuple[str, ...]
    speaker: str
    """Who said it; empty where the event names nobody."""
    occurred_at: datetime
    is_derived: bool
    score: float

    @property
    def text(self) -> str:
        """The sentences on one line."""
        return " ".join(self.sentences)


@dataclass(frozen=True, slots=True)
class MergedStatement:
    """The latest of several equal statements, and the ids of all of them, the latest first."""

    statement: Statement
    memory_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One line as the text shows it, without its citation."""

    said: MergedStatement
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class UserProfile:
    """Lines of the static part, then of the dynamic part, each best first."""

    lines: tuple[ProfileLine, ...] = ()
    text: str = ""
    tokens: int = 0
    left_out: int = 0
    """Lines that had no room."""
