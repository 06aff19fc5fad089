"""Constants of stage 5: how the graph around the pool is walked, and within which bounds.

`stages.expand` reads them.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from helix_query.profile.sections.section import Factor, Part, Share

GraphMethod = Literal["pagerank", "walk"]
"""How the graph around the candidates is walked."""
PAGERANK: Final = "pagerank"
WALK: Final = "walk"

Edge = Literal["MENTIONS", "UPDATES", "EXTENDS", "DERIVES", "RELATES", "PART_OF", "IN_CATEGORY"]


class Expand(Part):
    """Stage 5: Personalized PageRank by forward push (Andersen, Chung, Lang 2006), or the bounded walk."""

    enabled: bool = True
    method: GraphMethod = Field(
        default=PAGERANK, description="walk: one or two hops only, what arrives counts 1 / (1 + hops)"
    )
    restart: float = Field(default=0.3, gt=0, lt=1, description="pagerank: chance to jump back to the seeds")
    epsilon: float = Field(
        default=1e-5, gt=0, le=0.1, description="pagerank: residual per edge that is still pushed"
    )
    max_rounds: int = Field(default=50, ge=1, le=1000, description="pagerank: hop cap, rounds of pushes")
    hops: int = Field(default=2, ge=1, le=2, description="walk: hop cap")
    hub_cap: int = Field(default=100, ge=1, description="a node with more edges passes nothing on")
    edge_budget: int = Field(
        default=2_000_000,
        ge=100,
        le=1_000_000_000,
        description="pagerank: edges passed at most in all rounds, else walk; walk: edges read at most",
    )
    edges: dict[Edge, Factor] = Field(
        default_factory=dict, description="factor on links of a kind; absent: 1"
    )
    seed_exponent: float = Field(
        default=4.0, ge=0.1, le=16, description="seeds are fused scores to this power"
    )
    entity_restart_share: Share = Field(
        default=0.5, description="share of the restart on entities the query names"
    )
    graph_candidates: int = Field(
        default=30, ge=0, le=200, description="most memories the graph alone may add to the pool"
    )
    graph_candidates_single_hop: int = Field(
        default=30, ge=0, le=200, description="the same unless the question needs several hops; 0 is fastest"
    )
    mass_cap: float = Field(
        default=0.5, gt=0, le=1, description="most of the memories' mass one memory may hold"
    )
    bridge_share: Share = Field(
        default=0.0, description="multi_hop: restart share of what the first evidence points to"
    )
    bridge_from: int = Field(default=3, ge=1, le=20, description="multi_hop: memories read as first evidence")

    def candidates_for(self, *, multi_hop: bool) -> int:
        """Most memories that the graph alone may add for a question of this kind."""
        return self.graph_candidates if multi_hop else self.graph_candidates_single_hop
