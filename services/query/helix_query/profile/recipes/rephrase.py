"""Constants of stage 3 for searches in other words; `recall.recipes` reads them."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, field_validator

from helix_query.profile.intent import Intent
from helix_query.profile.sections.section import Section

REPHRASED: Final = frozenset([Intent.TEMPORAL, Intent.PREFERENCE])
"""Intents that have rules for rephrasing."""


class Rephrase(Section):
    """Searches in other words, each a ranking of its own in the fusion."""

    intents: tuple[Intent, ...] = Field(
        default=(), description="queries that are rephrased: temporal, preference; none: off"
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

    @field_validator("intents")
    @classmethod
    def _have_rules(cls, intents: tuple[Intent, ...]) -> tuple[Intent, ...]:
        if not REPHRASED.issuperset(intents):
            raise ValueError(f"must be {' or '.join(sorted(REPHRASED))}")
        return intents
