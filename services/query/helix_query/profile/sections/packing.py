"""Constants of stages 7 and 8: diversity of the results, and packing."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from helix_query.profile.sections.section import Section, Share

ExpandContext = Literal["none", "neighbours", "session"]
"""What may be packed around a memory."""


class Diversify(Section):
    """Stage 7."""

    candidates: int = Field(
        default=100, ge=1, le=1000, description="best candidates read, at least 2 x top_k"
    )
    one_per_turn: bool = Field(
        default=True, description="a derived statement takes the place of the turn it was derived from"
    )
    one_per_statement: bool = Field(
        default=False, description="of a statement and its decided restatements the best one only"
    )
    near_duplicate: float = Field(
        default=0.8, gt=0, le=1.01, description="MinHash Jaccard of near-duplicates; above 1: off"
    )
    mmr_lambda: Share = Field(default=0.5, description="MMR: relevance against novelty; 1: order by score")
    session_floor: float = Field(
        default=1.01,
        ge=0,
        le=1.01,
        description="aggregation: best of each session first, from this share of the best; above 1: off",
    )
    session_mmr_lambda: Share = Field(
        default=1.0,
        description="aggregation: the others by MMR with MinHash Jaccard and this lambda; 1: by score",
    )


class Pack(Section):
    """Stage 8."""

    expand_context: ExpandContext = Field(
        default="none", description="what is packed around a memory if tokens are left"
    )
    leave_out_quoted: bool = Field(
        default=True,
        description="a bare question is left out where a packed statement quotes it with its answer",
    )
    neighbour_limit: int = Field(default=100, ge=1, le=500, description="neighbours read at most")
    profile_tokens: int = Field(
        default=400,
        ge=1,
        le=100_000,
        description="tokens of a user's profile where a request gives no budget",
    )
