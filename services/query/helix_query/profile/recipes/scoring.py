"""Constants of stage 6 for the scoring of published recipes; `recall.recipes.factors` reads them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

Multiplier = Annotated[float, Field(gt=0, le=10)]


class Recipe(BaseModel, frozen=True, extra="forbid"):
    """Normalisation for the method `blend`, factors on the score, noise, and a threshold."""

    fused_normalisation: Literal["minmax", "best"] = Field(
        default="minmax", description="blend: fused scores min-max normalised, or divided by the best"
    )
    access_days: float = Field(
        default=0.0, ge=0, le=3650, description="x 1 / (1 + days since last access / this); 0: off"
    )
    same_project: Multiplier = Field(default=1.0, description="x this: the memory is of the caller's project")
    other_project: Multiplier = Field(default=1.0, description="x this: the memory is of another project")
    no_project: Multiplier = Field(default=1.0, description="x this: the memory is of no project")
    importance_base: float = Field(
        default=1.0, ge=0, le=10, description="x (this + importance_gain x salience)"
    )
    importance_gain: float = Field(
        default=0.0, ge=0, le=10, description="x (importance_base + this x salience)"
    )
    half_life_days: float = Field(
        default=0.0, ge=0, le=3650, description="episodic: x exp(-.693 x days old / this); 0: off"
    )
    decay_floor: float = Field(
        default=0.0, ge=0, le=1, description="episodic: x (this + (1 - this) x the decay)"
    )
    access_gain: float = Field(default=0.0, ge=0, le=10, description="x (1 + this x ln(1 + accesses))")
    scale_to_best: bool = Field(default=False, description="divide all scores by the best, before noise")
    noise: bool = Field(default=False, description="add noise that depends on the query and the memory")
    noise_sigma: float = Field(default=0.02, ge=0, le=1, description="standard deviation of the noise")
    threshold: float = Field(default=0.0, ge=0, le=10, description="lower scores are dropped; 0: off")
    threshold_on: Literal["relevance", "score"] = Field(
        default="score", description="what the threshold applies to: relevance before factors, or the score"
    )

    @model_validator(mode="after")
    def _importance_above_zero(self) -> Self:
        if self.importance_base + self.importance_gain <= 0:
            raise ValueError("importance_base and importance_gain must not both be 0")
        return self
