"""Constants of stages 7 and 8: what does not repeat itself, and what is packed around it.

`stages.diversify` and `stages.surround` read them.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from helix_query.profile.sections.section import Part, Share

ExpandContext = Literal["none", "neighbours", "session"]
"""What may be packed around a memory."""


class Diversify(Part):
    """Stage 7."""

    candidates: int = Field(
        default=100, ge=1, le=1000, description="best candidates looked at, at least 2 x top_k"
    )
    near_duplicate: float = Field(
        default=0.8, gt=0, le=1.01, description="MinHash Jaccard; above 1: nothing is one"
    )
    mmr_lambda: Share = Field(default=0.5, description="relevance against novelty; 1: order stays")
    session_floor: float = Field(
        default=1.01,
        ge=0,
        le=1.01,
        description="aggregation: best of each session first, from this share of the top",
    )
    coverage_lambda: Share = Field(
        default=1.0,
        description="aggregation: the others by MMR with MinHash Jaccard and this lambda; 1: by score",
    )


class Pack(Part):
    """Stage 8."""

    expand_context: ExpandContext = Field(
        default="none", description="packed around a memory where there is room: none, neighbours or session"
    )
    surrounding_limit: int = Field(
        default=100, ge=1, le=500, description="memories read at most to be packed around others"
    )
