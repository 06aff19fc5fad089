"""Constants of stages 2 and 3: what is made of a question, and where candidates are looked for.

`stages.route`, `searches` and the channels read them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, field_validator

from helix_query.profile.intent import Intent, of_intents
from helix_query.profile.sections.section import CHANNEL_NAMES, Channel, Factor, Part, Share

MOST_CANDIDATES: Final = 1000
"""Of one channel."""
REPHRASED: Final = frozenset([Intent.TEMPORAL, Intent.PREFERENCE])
"""Intents that have rules for rephrasing."""
DEFAULT_CANDIDATES: Final = 100
"""Of one channel."""

Limits = Annotated[
    dict[Channel, Annotated[int, Field(ge=1, le=MOST_CANDIDATES)]],
    AfterValidator(lambda limits: dict.fromkeys(CHANNEL_NAMES, DEFAULT_CANDIDATES) | limits),
]
"""Candidates by channel; a channel that is not named gets `DEFAULT_CANDIDATES`."""


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
    limits: Limits = Field(
        default_factory=lambda: dict.fromkeys(CHANNEL_NAMES, DEFAULT_CANDIDATES),
        description="candidates of each channel",
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

    def limit_of(self, channel: Channel, top_k: int) -> int:
        """Candidates asked of a channel when `top_k` memories are to come back."""
        multiple = self.per_top_k.get(channel)
        if multiple is None:
            return self.limits[channel]
        return min(max(round(multiple * top_k), 1), MOST_CANDIDATES)
