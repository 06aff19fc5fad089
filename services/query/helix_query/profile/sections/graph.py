"""Constants of stage 5: the walk of the graph around the candidates, and its bounds."""

from __future__ import annotations

from typing import Literal, cast, get_args

from pydantic import Field

from helix_query.profile.sections.section import PAGERANK, Factor, GraphMethod, Section, Share

Edge = Literal[
    "MENTIONS", "UPDATES", "EXTENDS", "DERIVES", "RELATES", "PART_OF", "IN_CATEGORY", "CONTRADICTS"
]


class Expand(Section):
    """Stage 5: Personalized PageRank by forward push (Andersen, Chung, Lang 2006), or the bounded walk."""

    enabled: bool = True
    method: GraphMethod = Field(
        default=PAGERANK, description="walk: one or two hops, mass counts 1 / (1 + hops)"
    )
    restart: float = Field(
        default=0.3, gt=0, lt=1, description="pagerank: probability of a return to the seeds"
    )
    epsilon: float = Field(
        default=1e-5, gt=0, le=0.1, description="pagerank: residual per edge that is still pushed"
    )
    max_rounds: int = Field(default=50, ge=1, le=1000, description="pagerank: rounds of pushes")
    hops: int = Field(default=2, ge=1, le=2, description="walk: hops")
    hub_cap: int = Field(default=100, ge=1, description="a node with more edges passes nothing on")
    edge_budget: int = Field(
        default=2_000_000,
        ge=100,
        le=1_000_000_000,
        description="pagerank: edges passed in all rounds, beyond it the walk is used; walk: edges read",
    )
    edges: dict[Edge, Factor] = Field(
        default_factory=dict, description="factor on edges by kind; 1 for a kind that is not named"
    )
    seed_exponent: float = Field(
        default=4.0, ge=0.1, le=16, description="seeds are weighted by fused score to this power"
    )
    entity_restart_share: Share = Field(
        default=0.5, description="share of the restart on entities in the query"
    )
    graph_candidates: int = Field(
        default=30, ge=0, le=200, description="multi_hop: memories that the graph may add to the candidates"
    )
    graph_candidates_single_hop: int = Field(
        default=30, ge=0, le=200, description="the same for all other queries; 0 is fastest"
    )
    mass_cap: float = Field(default=0.5, gt=0, le=1, description="largest share of the mass of one memory")
    bridge_share: Share = Field(
        default=0.0, description="multi_hop: restart share of bridge entities in the first evidence"
    )
    bridge_memories: int = Field(default=3, ge=1, le=20, description="multi_hop: memories read for bridges")

    def candidates_for(self, *, multi_hop: bool) -> int:
        """Memories that the graph may add to the candidates."""
        return self.graph_candidates if multi_hop else self.graph_candidates_single_hop

    def factor(self, kind: str) -> float:
        """Factor on the edges of a kind; the sides of a predicate stand for a mention."""
        return self.edges.get(cast("Edge", kind if kind in get_args(Edge) else "MENTIONS"), 1.0)
