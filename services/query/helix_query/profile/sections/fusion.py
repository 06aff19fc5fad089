"""Constants of stage 4: how the lists of the channels become one.

`stages.fuse` and `stages.weigh` read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from helix_query.profile.intent import Intent, of_intents
from helix_query.profile.sections.section import (
    CHANNEL_NAMES,
    DENSE,
    LEXICAL,
    Channel,
    Factor,
    Part,
    Share,
)

Feature = Literal[
    "words", "exact_tokens", "exact_lookup", "lexical_best", "lexical_drop", "cosine_best", "cosine_drop",
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
"""How much each channel counts in the fusion; only their ratio matters. 1 for one that is not named."""


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
    weights: ChannelWeights = Field(default_factory=lambda: dict.fromkeys(CHANNEL_NAMES, 1.0))
    rephrased_weight: Factor = Field(default=1.0, description="weight of a list found in other words")
    by_intent: dict[Intent, ChannelWeights] = Field(
        default_factory=dict, description="weights instead; the first of the query's intents that has some"
    )
    adaptive: Adaptive | None = Field(
        default=None, description="minmax: the share of dense against lexical, for each query anew"
    )

    def weights_for(self, intents: Iterable[Intent]) -> Mapping[Channel, float]:
        """Weight by channel for a query of these intents."""
        return next(of_intents(self.by_intent, intents), self.weights)
