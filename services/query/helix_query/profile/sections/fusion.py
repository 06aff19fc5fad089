"""Constants of stage 4: how the lists of the channels become one.

`stages.fuse` and `stages.weigh` read them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from helix_query.profile.intent import Intent
from helix_query.profile.sections.section import Factor, Part, Share, of_intents

Feature = Literal[
    "words", "exact_tokens", "exact_lookup", "lexical_best", "lexical_drop", "cosine_best", "cosine_drop",
    "agreement", "code", "length",
]  # fmt: skip


class ChannelWeights(Part):
    """How much each channel counts in the fusion; only their ratio matters."""

    dense: Factor
    lexical: Factor
    entity: Factor = 1.0
    associative: Factor = 1.0

    @model_validator(mode="after")
    def _not_both_zero(self) -> Self:
        if self.dense + self.lexical <= 0:
            raise ValueError("dense and lexical must not both be 0")
        return self


class Adaptive(Part):
    """The dense share of one query: sigmoid(intercept + sum of coefficient x feature), `stages.weigh`."""

    intercept: float = Field(ge=-100, le=100, description="log odds of the share where all features are 0")
    coefficients: dict[Feature, Annotated[float, Field(ge=-100, le=100)]] = Field(
        min_length=1, description="by feature; one that is absent is not looked at"
    )


class Fuse(Part):
    """Stage 4."""

    method: Literal["rrf", "minmax"] = Field(default="rrf", description="reciprocal ranks, or min-max scores")
    k: int = Field(default=60, ge=1, le=1000, description="rrf: weight / (k + rank), rank from 1")
    rank_bonuses: tuple[Share, ...] = Field(
        default=(), description="rrf: added per list at rank 1, 2, 3, ..."
    )
    weights: ChannelWeights = ChannelWeights(dense=1.0, lexical=1.0)
    rephrased_weight: Factor = Field(default=1.0, description="weight of a list found in other words")
    by_intent: dict[Intent, ChannelWeights] = Field(
        default_factory=dict, description="weights instead; the first of the query's intents that has some"
    )
    adaptive: Adaptive | None = Field(
        default=None, description="minmax: the share of dense against lexical, for each query anew"
    )

    def weights_for(self, intents: Iterable[Intent]) -> dict[str, float]:
        """Weight by channel for a query of these intents."""
        return next(of_intents(self.by_intent, intents), self.weights).model_dump()
