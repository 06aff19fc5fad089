"""Constants that published recipes need beyond those of `helix`: every default is neutral.

`profile` puts these parts into a ranking profile; the stages that read them are `stages.rephrase`,
`stages.recipe_factors` and `stages.rerank`. Which recipe uses what, and what is approximated, stands
in ops/decisions/0012.
"""

from __future__ import annotations

from typing import Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from helix_query.profile.intent import Intent
from helix_query.profile.sections.section import Multiplier, Part
from helix_query.recall.stages.rerank import METHODS, MOST_CANDIDATES

REPHRASED: Final = frozenset([Intent.TEMPORAL, Intent.PREFERENCE])
"""Intents that have rules for rephrasing."""


class Rephrase(Part):
    """Stage 3: further searches in other words, each a list of its own in the fusion."""

    intents: tuple[Intent, ...] = Field(
        default=(), description="questions that are rephrased, temporal and preference; none: off"
    )
    most: int = Field(default=3, ge=1, le=8, description="wordings by rule at most")
    channels: tuple[Literal["dense", "lexical"], ...] = Field(
        default=("lexical",), min_length=1, description="channels that look for them"
    )
    own_examples: int = Field(
        default=0,
        ge=0,
        le=20,
        description="preference: memories looked at for the user's own statements, one more list; 0: none",
    )

    @field_validator("intents")
    @classmethod
    def _have_rules(cls, intents: tuple[Intent, ...]) -> tuple[Intent, ...]:
        if not REPHRASED.issuperset(intents):
            raise ValueError(f"must be {' or '.join(sorted(REPHRASED))}")
        return intents


class Recipe(Part):
    """Stage 6: relevance of the method `blend`, and factors by their own formula."""

    fused_normal: Literal["minmax", "best"] = Field(
        default="minmax", description="blend: fused scores min-max normalised, or divided by the best"
    )
    access_days: float = Field(
        default=0.0, ge=0, le=3650, description="x 1 / (1 + days since last access / this); 0: off"
    )
    same_project: Multiplier = Field(default=1.0, description="x this: the memory is of the caller's project")
    other_project: Multiplier = Field(default=1.0, description="x this: the memory is of another project")
    no_project: Multiplier = Field(default=1.0, description="x this: the memory is of no project")
    importance_least: float = Field(
        default=1.0, ge=0, le=10, description="x (this + importance_gain x salience)"
    )
    importance_gain: float = Field(
        default=0.0, ge=0, le=10, description="x (importance_least + this x salience)"
    )
    half_life_days: float = Field(
        default=0.0, ge=0, le=3650, description="episodic: x exp(-.693 x days old / this); 0: off"
    )
    decay_floor: float = Field(
        default=0.0, ge=0, le=1, description="episodic: floor + (1 - floor) x that; 0: it fades to nothing"
    )
    access_gain: float = Field(default=0.0, ge=0, le=10, description="x (1 + this x ln(1 + accesses))")
    noise: bool = Field(
        default=False, description="add noise, the same for the same question and memory every time"
    )
    noise_sigma: float = Field(default=0.02, ge=0, le=1, description="standard deviation of the noise")
    scale_to_best: bool = Field(default=False, description="divide all scores by the best, before noise")
    threshold: float = Field(default=0.0, ge=0, le=10, description="who scores less is dropped; 0: off")
    threshold_on: Literal["relevance", "score"] = Field(
        default="score", description="what the threshold is held to: before all factors, or the final score"
    )

    @model_validator(mode="after")
    def _importance_above_zero(self) -> Self:
        if self.importance_least + self.importance_gain <= 0:
            raise ValueError("importance_least and importance_gain must not both be 0")
        return self


class Rerank(Part):
    """Stage 6b: off until an optional tier brings a method."""

    method: str = Field(default="none", description="reranker that reads the best candidates again")
    candidates: int = Field(
        default=20, ge=1, le=MOST_CANDIDATES, description="best candidates that are read again"
    )

    @field_validator("method")
    @classmethod
    def _installed(cls, method: str) -> str:
        if method not in METHODS:
            raise ValueError(
                f"no reranker {method!r} here; available: {', '.join(METHODS)}; "
                "others come with optional tiers"
            )
        return method
