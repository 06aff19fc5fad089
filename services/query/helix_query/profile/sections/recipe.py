"""Constants that published recipes need beyond those of `helix`: every default is neutral.

`recipes.factors` reads them. Which recipe uses what, and what is approximated: ops/decisions/0012.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Multiplier = Annotated[float, Field(gt=0, le=10)]


class Recipe(BaseModel):
    """Stage 6: relevance of the method `blend`, and factors by their own formula."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
