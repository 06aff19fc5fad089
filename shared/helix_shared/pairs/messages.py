"""The unsure pairs of one event as they lie in HELIX_PAIRS: JSON, with the texts that are compared.

The texts come from consolidation, since a memory may be a piece of a document or a statement derived from a
turn. The stream keeps them for a week at most; they also stand in HELIX_EVENTS.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from helix_shared.errors import PermanentError

MOST_PAIRS: Final = 2
"""Pairs of one event, the most probable ones."""
TEXT_CHARACTERS: Final = 600
"""Characters of a text that are compared."""


class PairedText(BaseModel):
    """One side of a pair; `at` is when it occurred, in microseconds since 1970."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    memory_id: str
    sequence: Annotated[int, Field(ge=1)]
    """Stream sequence of its event."""
    text: Annotated[str, Field(max_length=TEXT_CHARACTERS)]
    speaker: str = ""
    role: str = ""
    at: int = 0


class Pair(BaseModel):
    """A memory, and an earlier one that it may replace."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    newer: PairedText
    older: PairedText


class UnsurePairs(BaseModel):
    """All pairs of one event; `stored_at` is when the server stored the event, in microseconds since 1970."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    tenant_id: str
    event_sequence: Annotated[int, Field(ge=1)]
    stored_at: int
    group: int
    """Code of owner, audience and source class: only pairs of one group are compared in one question."""
    pairs: Annotated[tuple[Pair, ...], Field(min_length=1, max_length=MOST_PAIRS)]


def read_pairs(body: bytes) -> UnsurePairs:
    """The pairs in a message of HELIX_PAIRS.

    Raises:
        PermanentError: it holds none.
    """
    try:
        return UnsurePairs.model_validate_json(body)
    except ValidationError as error:
        raise PermanentError("message of HELIX_PAIRS holds no pairs") from error
