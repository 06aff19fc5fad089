"""Constants of stage 7c: models of the probability that memories answer the query.

`helix-lab calibrate` fits the coefficients to judged questions. Without a model there is no probability
and no abstention. `stages.abstain` defines the features.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from helix_query.profile.sections.section import FITTED_FOR, FittedFor, Section

MemoryFeature = Literal[
    "cosine", "lexical", "relative_score", "reciprocal_rank", "mass", "in_both_channels", "size"
]
"""Features of one memory."""
AnswerFeature = Literal[
    "cosine",
    "lexical",
    "mass",
    "coverage",
    "value_missing",
    "lead",
    "overlap",
    "words",
    "size",
    "multi_hop",
    "current_value",
    "exact_lookup",
]
"""Features of the answer as a whole."""

Coefficient = Annotated[float, Field(ge=-1000, le=1000, allow_inf_nan=False)]


class MemoryModel(Section):
    """P(a memory is relevant) = 1 / (1 + exp(-(intercept + sum of coefficient x feature)))."""

    intercept: Coefficient = Field(default=0.0, description="log odds where every feature is 0")
    coefficients: dict[MemoryFeature, Coefficient] = Field(
        default_factory=dict, description="log odds by feature; 0 for a feature that is not named"
    )


class AnswerModel(Section):
    """P(at least one memory of the answer is relevant), by the same formula."""

    intercept: Coefficient = Field(default=0.0, description="log odds where every feature is 0")
    coefficients: dict[AnswerFeature, Coefficient] = Field(
        default_factory=dict, description="log odds by feature; 0 for a feature that is not named"
    )


class Abstain(Section):
    """Stage 7c: the models, and the probability below which nothing is packed."""

    encoder: FittedFor = Field(default="", description=FITTED_FOR)
    threshold: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="nothing is packed if the probability of the answer is below; 0: never abstains",
    )
    memory: MemoryModel | None = Field(default=None, description="absent: no probability for a memory")
    answer: AnswerModel | None = Field(default=None, description="absent: no probability for an answer")

    @model_validator(mode="after")
    def _threshold_has_a_model(self) -> Self:
        if self.threshold > 0 and self.answer is None:
            raise ValueError("a threshold above 0 needs the model abstain.answer")
        return self
