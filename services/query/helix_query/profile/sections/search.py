"""Constants of stages 2 and 3: what is made of a question, and where candidates are looked for.

`stages.route`, `searches` and the channels read them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic import Field

from helix_query.profile.intent import Intent
from helix_query.profile.sections.recipe import Rephrase
from helix_query.profile.sections.section import Channel, Factor, Part, Share, of_intents

MOST_CANDIDATES: Final = 1000
"""Of one channel."""


class Routing(Part):
    """Stage 2."""

    enabled: bool = Field(
        default=True, description="off: no intents, no time window, no names, and nothing is skipped"
    )
    centroid_margin: Share = Field(
        default=0.1, description="cosine by which an intent's examples must be closer than plain questions"
    )
    anchors: bool = Field(
        default=False, description="an event that dates the question, as in 'before the move', is looked up"
    )


class FieldWeights(Part):
    """How much a match in each lexicon field counts."""

    text: Factor = 1.0
    context: Factor = Field(default=0.6, description="the turns around a turn")
    section: Factor = Field(default=0.6, description="what surrounds a piece of a longer text")
    expansions: Factor = 0.5
    exact: Factor = 1.0


class Retrieve(Part):
    """Stage 3."""

    channels: tuple[Channel, ...] = Field(
        default=("dense", "lexical"), min_length=1, description="those that look for candidates"
    )
    dense_limit: int = Field(default=100, ge=1, le=1000, description="candidates of the dense channel")
    lexical_limit: int = Field(default=100, ge=1, le=1000, description="candidates of the lexical channel")
    entity_limit: int = Field(default=100, ge=1, le=1000, description="candidates of the entity channel")
    associative_limit: int = Field(
        default=100, ge=1, le=1000, description="candidates of the associative channel"
    )
    per_top_k: dict[Channel, Factor] = Field(
        default_factory=dict, description="candidates of a channel as a multiple of top_k instead"
    )
    entity_hop: Share = Field(default=0.5, description="entity: score one hop from a named entity's memory")
    associative_beta: float = Field(
        default=8.0, gt=0, le=100, description="associative: inverse temperature of the softmax"
    )
    associative_patterns: int = Field(
        default=30, ge=1, le=1000, description="associative: stored patterns, the best of the dense channel"
    )
    rephrase: Rephrase = Rephrase()
    fields: FieldWeights = FieldWeights()
    fields_by_intent: dict[Intent, FieldWeights] = Field(
        default_factory=dict, description="weights instead; the first of the query's intents that has some"
    )
    term_coverage_limit: int = Field(
        default=0, ge=0, le=1000, description="current_value: memories that hold most of the words; 0: off"
    )
    phrase_match_limit: int = Field(
        default=0,
        ge=0,
        le=200,
        description="statements: memories with all their words that are searched for them in a row; 0: off",
    )
    auto_half_score: float = Field(
        default=5.0, gt=0, le=100, description="BM25 score that normalises to .5: s/(s+h)"
    )
    auto_top: Share = Field(default=0.8, description="mode auto: least normalised score of the best match")
    auto_lead: Share = Field(
        default=0.3, description="mode auto: least lead of the best match over the second"
    )

    def fields_for(self, intents: Iterable[Intent]) -> FieldWeights:
        """Weight by lexicon field for a query of these intents."""
        return next(of_intents(self.fields_by_intent, intents), self.fields)

    def limit_of(self, channel: str, top_k: int) -> int:
        """Candidates asked of a channel when `top_k` memories are to come back."""
        multiple = {str(name): factor for name, factor in self.per_top_k.items()}.get(channel)
        limits = {
            "dense": self.dense_limit,
            "lexical": self.lexical_limit,
            "entity": self.entity_limit,
            "associative": self.associative_limit,
        }
        return limits[channel] if multiple is None else min(max(round(multiple * top_k), 1), MOST_CANDIDATES)
