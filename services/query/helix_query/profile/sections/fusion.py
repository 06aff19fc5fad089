"""Constants of stage 4: fusion of the channels' rankings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from helix_query.profile.intent import Intent, of_intents
from helix_query.profile.sections.section import (
    CHANNEL_NAMES,
    DENSE,
    FITTED_FOR,
    LEXICAL,
    Channel,
    Factor,
    FittedFor,
    Section,
    Share,
)

Feature = Literal[
    "words", "exact_tokens", "exact_lookup", "coverage", "rarest_held", "lexical_drop", "cosine_drop",
    "agreement", "code", "length",
]  # fmt: skip


def _of_every_channel(weights: dict[Channel, float]) -> dict[Channel, float]:
    for channel in (DENSE, LEXICAL):
        if channel not in weights:
            raise ValueError(f"weights lacks {channel}")
    if weights[DENSE] + weights[LEXICAL] <= 0:
        raise ValueError("dense and lexical must not both be 0")
    return dict.fromkeys(CHANNEL_NAMES, 1.0) | weights


ChannelWeights = Annotated[dict[Channel, Factor], AfterValidator(_of_every_channel)]
"""Weights by channel, 1 for a channel that is not named; only their ratio matters."""


class Adaptive(Section):
    """Share of dense against lexical by query: sigmoid(intercept + sum of coefficient x feature).

    `stages.adaptive_weights` defines the features.
    """

    encoder: FittedFor = Field(default="", description=FITTED_FOR)
    intercept: float = Field(ge=-100, le=100, description="log odds of the share where all features are 0")
    coefficients: dict[Feature, Annotated[float, Field(ge=-100, le=100)]] = Field(
        min_length=1, description="log odds by feature; 0 for a feature that is not named"
    )


class Fuse(Section):
    """Stage 4."""

    method: Literal["rrf", "minmax"] = Field(default="rrf", description="reciprocal ranks, or min-max scores")
    k: int = Field(default=60, ge=1, le=1000, description="rrf: weight / (k + rank), rank from 1")
    rank_bonuses: tuple[Share, ...] = Field(
        default=(), description="rrf: added for rank 1, 2, 3, ... of a ranking"
    )
    weights: ChannelWeights = Field(default_factory=lambda: dict.fromkeys(CHANNEL_NAMES, 1.0))
    rephrased_weight: Factor = Field(
        default=1.0, description="factor on the weight of a ranking by other words"
    )
    by_intent: dict[Intent, ChannelWeights] = Field(
        default_factory=dict, description="weights by intent; the first entry that the query has applies"
    )
    adaptive: Adaptive | None = Field(
        default=None, description="minmax: share of dense against lexical by query, instead of their weights"
    )

    def weights_for(self, intents: Iterable[Intent]) -> Mapping[Channel, float]:
        """Weight by channel for a query of these intents."""
        return next(of_intents(self.by_intent, intents), self.weights)
