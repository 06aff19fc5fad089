"""Constants of stage 3 for searches in other words; `recall.recipes` reads them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class Rephrase(BaseModel, frozen=True, extra="forbid"):
    """Searches in other words, each a ranking of its own in the fusion."""

    intents: tuple[Literal["temporal", "preference"], ...] = Field(
        default=(), description="queries that are rephrased, by intent; none: off"
    )
    max_rephrasings: int = Field(default=3, ge=1, le=8, description="rephrasings of a query at most")
    channels: tuple[Literal["dense", "lexical"], ...] = Field(
        default=("lexical",), min_length=1, description="channels that search for them"
    )
    own_statements: int = Field(
        default=0,
        ge=0,
        le=20,
        description="preference: memories read for statements of the user, which are searched for; 0: off",
    )
