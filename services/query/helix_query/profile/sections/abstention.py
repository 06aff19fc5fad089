"""Constants of abstention: how likely memories answer, from what shows before anything is packed.

`profile` puts `Abstain` into a ranking profile; `stages.abstain` reads it. `helix-lab calibrate` fits the
coefficients to judged questions; without a model nothing is said and nothing is held back.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from helix_query.profile.sections.section import Part

MemoryFeature = Literal["cosine", "lexical", "relative", "standing", "mass", "agreed", "size"]
"""What is known of one memory of an answer; `stages.abstain.answer_features` says what each is."""
AnswerFeature = Literal[
    "cosine",
    "lexical",
    "mass",
    "lead",
    "overlap",
    "words",
    "size",
    "multi_hop",
    "current_value",
    "exact_lookup",
]
"""What is known of the answer as a whole."""

Coefficient = Annotated[float, Field(ge=-1000, le=1000, allow_inf_nan=False)]


class MemoryModel(Part):
    """P(a memory is relevant) = 1 / (1 + exp(-(intercept + sum of coefficient x feature)))."""

    intercept: Coefficient = Field(default=0.0, description="log odds where every feature is 0")
    coefficients: dict[MemoryFeature, Coefficient] = Field(
        default_factory=dict, description="log odds by feature; one that is not named does not count"
    )


class AnswerModel(Part):
    """P(at least one memory of the answer is relevant), of the same form."""

    intercept: Coefficient = Field(default=0.0, description="log odds where every feature is 0")
    coefficients: dict[AnswerFeature, Coefficient] = Field(
        default_factory=dict, description="log odds by feature; one that is not named does not count"
    )


class Abstain(Part):
    """Stage 7c: the probability that anything here answers, and when nothing is packed for want of it."""

    threshold: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="nothing is packed if the answer's probability is below; 0: never abstains",
    )
    memory: MemoryModel | None = Field(default=None, description="absent: no probability for a memory")
    answer: AnswerModel | None = Field(default=None, description="absent: no probability for an answer")

    @model_validator(mode="after")
    def _threshold_has_a_model(self) -> Self:
        if self.threshold > 0 and self.answer is None:
            raise ValueError("a threshold above 0 needs the model abstain.answer")
        return self
