"""Constants of stage 6b, which looks at the first candidates a second time; `stages.rerank` reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic import Field

from helix_query.profile.intent import Intent, of_intents
from helix_query.profile.sections.section import Factor, Section

MAX_RERANKED: Final = 100


class Rerank(Section):
    """Late interaction: every word of the query meets the word of a memory that is nearest to it."""

    candidates: int = Field(
        default=0, ge=0, le=MAX_RERANKED, description="first candidates by score that are compared; 0: off"
    )
    weight: Factor = Field(
        default=0.5,
        description="standard deviations of the score that one of late interaction is worth",
    )
    weight_by_intent: dict[Intent, Factor] = Field(
        default_factory=dict,
        description="the same by intent; the first entry that the query has applies; 0: not compared",
    )

    def weight_for(self, intents: Iterable[Intent]) -> float:
        """Weight for a query of these intents."""
        return next(of_intents(self.weight_by_intent, intents), self.weight)
