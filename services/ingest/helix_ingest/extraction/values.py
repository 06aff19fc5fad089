"""Values passed between the steps of ingest: an event of the log, a piece of text, a draft of a memory."""

from __future__ import annotations

from dataclasses import dataclass

from helix_memory.events import Event
from helix_shared.published import Published


@dataclass(frozen=True, slots=True)
class LoggedEvent(Published[Event]):
    """An event of any kind with its position in the log."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A contiguous part of a text: `text == source[start:end]`, except for outer white space."""

    text: str
    start: int
    end: int
    heading: str = ""
    table_header: str = ""
    """Header of the table whose later rows the piece holds; ends with a line end. `text` is without it."""

    @property
    def shown(self) -> str:
        """What a reader sees: the rows of a table have its header."""
        return self.table_header + self.text


@dataclass(frozen=True, slots=True)
class Draft:
    """One memory before it is scored and embedded."""

    logged: LoggedEvent
    piece: int
    text: str
    title: str
    context: str
    char_start: int
    char_end: int
    passage: str
    """Text of the memory's own vector."""
    window: str
    """Text of its context vector; empty: the memory has only its own vector."""
    revision_sequence: int
    spoken: str = ""
    """What the event itself says, if `text` says more; it alone is scored."""
    derived_from: str = ""
    """Id of the verbatim memory that a derived statement stands beside."""
    answers: str = ""
    answered_by: str = ""
    """Ids of the question that this memory answers, and of the memory that answers it."""
    quotes: tuple[str, ...] = ()
    """Ids of the other events whose text may be in it: an erasure of one of them reaches it."""
    is_key_part: bool = False
    """It is cut out of a private key whose beginning is in an earlier piece (`text.flags`)."""
