"""Constants of stage 6: what makes a memory of its type good; `stages.rank` reads them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from helix_memory.memory_types import MEMORY_TYPES, MemoryType
from helix_query.profile.sections.recipe import Recipe
from helix_query.profile.sections.section import Factor, Part, Share


class TypeWeights(Part):
    """What makes a memory of one type good."""

    sim: Share
    recency: Share
    salience: Share
    confidence: Share
    graph: Share


class Boosts(Part):
    """Stage 6: factors 1 + x on the score; 0 is off."""

    window: Factor = Field(default=0.0, description="happened in the time the query speaks of")
    pinned: Factor = Field(default=0.0, description="pinned by its author")
    priority: Factor = Field(default=0.0, description="times (priority - 1)")
    project: Factor = Field(default=0.0, description="belongs to the caller's project")


class Rank(Part):
    """Stage 6.

    `additive`: sum of weight x normalised signal, weights by memory type.
    `multiplicative`: relevance x (1 + quality_weight x quality); relevance blends sim and graph, quality
    blends recency, salience and confidence by the weights of the type.
    `blend`: share of the fused score, the rest cosine; quality enters by the factors of the recipe.
    """

    method: Literal["additive", "multiplicative", "blend"] = "additive"
    fused_share: Share = Field(
        default=0.5, description="sim = share x fused + (1 - share) x cosine, normalised each"
    )
    recency_per_hour: float = Field(
        default=0.995, gt=0, le=1, description="recency = this ** hours since last access"
    )
    weights: dict[MemoryType, TypeWeights]
    quality_weight: Factor = Field(default=0.1, description="multiplicative: how much quality may add")
    graph_weight: Share = Field(default=0.05, description="multiplicative: share of graph mass in relevance")
    graph_weight_multi_hop: Share = Field(
        default=0.8, description="multiplicative: the same for multi-hop questions"
    )
    boosts: Boosts = Boosts()
    recipe: Recipe = Recipe()
    current_min_coverage: Share = Field(
        default=0.8, description="current_value: states the value asked for from this share of the best cover"
    )
    current_min_text_coverage: Share = Field(
        default=0.5, description="current_value: nobody states it whose text holds less of the words"
    )
    current_min_score: Share = Field(
        default=0.0, description="current_value: states it only from this share of the best score"
    )
    future_penalty: Share = Field(
        default=1.0, description="factor on what happened after the moment of asking; 1: off"
    )

    @property
    def weighs_graph_single_hop(self) -> bool:
        """Whether graph mass counts for questions that do not need several hops."""
        return self.method == "additive" or (self.method == "multiplicative" and self.graph_weight > 0)

    @model_validator(mode="after")
    def _every_type(self) -> Self:
        missing = set(MEMORY_TYPES) - set(self.weights)
        if missing:
            raise ValueError(f"weights lacks {', '.join(sorted(missing))}")
        return self
