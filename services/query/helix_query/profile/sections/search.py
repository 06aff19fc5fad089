"""Constants of stages 2 and 3: routing of the query, and search for candidates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from helix_query.profile.intent import Intent, of_intents
from helix_query.profile.recipes.rephrase import Rephrase
from helix_query.profile.sections.section import CHANNEL_NAMES, Channel, Factor, Section, Share

MAX_CANDIDATES: Final = 1000
DEFAULT_CANDIDATES: Final = 100

Limits = Annotated[
    dict[Channel, Annotated[int, Field(ge=1, le=MAX_CANDIDATES)]],
    AfterValidator(lambda limits: dict.fromkeys(CHANNEL_NAMES, DEFAULT_CANDIDATES) | limits),
]
"""Candidates by channel; a channel that is not named gets `DEFAULT_CANDIDATES`."""


class Embed(Section):
    """Stage 1."""

    adapted: bool = Field(
        default=False, description="the query adapter of the package moves the query, where it fits the model"
    )
    learned: bool = Field(
        default=False,
        description="the adapter fitted to the tenant's own feedback takes its place, where there is one",
    )


class Routing(Section):
    """Stage 2."""

    enabled: bool = Field(default=True, description="off: no intents, no time window, no query is skipped")
    centroid_margin: Share = Field(
        default=0.1, description="cosine by which examples of an intent must be closer than plain questions"
    )
    event_lookup: bool = Field(
        default=False, description="look up an event that dates the query, as in 'before the move'"
    )
    most_turns: Share = Field(
        default=1.0,
        description="share of turns of sessions among the first 20 candidates, above which a question is not"
        " multi_hop; 1: off",
    )


class FieldWeights(Section):
    """Weights of the lexicon fields in BM25."""

    text: Factor = 1.0
    context: Factor = Field(default=0.6, description="the turns around a turn of a conversation")
    section: Factor = Field(default=0.6, description="text around a passage of a document")
    expansions: Factor = 0.5
    exact: Factor = 1.0


class Retrieve(Section):
    """Stage 3."""

    channels: tuple[Channel, ...] = Field(
        default=("dense", "lexical"), min_length=1, description="channels that search"
    )
    limits: Limits = Field(
        default_factory=lambda: dict.fromkeys(CHANNEL_NAMES, DEFAULT_CANDIDATES),
        description="candidates by channel",
    )
    per_top_k: dict[Channel, Factor] = Field(
        default_factory=dict, description="candidates of a channel as a multiple of top_k instead"
    )
    entity_hop: Share = Field(
        default=0.5, description="entity: factor on scores one hop from a memory of a named entity"
    )
    associative_beta: float = Field(
        default=8.0, gt=0, le=100, description="associative: inverse temperature of the softmax"
    )
    associative_patterns: int = Field(
        default=30,
        ge=1,
        le=1000,
        description="associative: stored patterns, the best results of the dense channel",
    )
    rephrase: Rephrase = Rephrase()
    fields: FieldWeights = FieldWeights()
    fields_by_intent: dict[Intent, FieldWeights] = Field(
        default_factory=dict,
        description="field weights by intent; the first entry that the query has applies",
    )
    term_coverage_limit: int = Field(
        default=0, ge=0, le=1000, description="current_value: memories searched by term coverage; 0: off"
    )
    phrase_match_limit: int = Field(
        default=0,
        ge=0,
        le=200,
        description="statements: memories with all words that are checked for the exact phrase; 0: off",
    )
    definition_limit: int = Field(
        default=0,
        ge=0,
        le=200,
        description="exact_lookup: memories that define the name go first, unless more than this do; 0: off",
    )
    preference_limit: int = Field(
        default=0,
        ge=0,
        le=200,
        description="preferences and constraints added to a question that asks for advice; 0: off",
    )
    auto_half_score: float = Field(
        default=5.0,
        gt=0,
        le=100,
        description="mode auto: BM25 score that normalises to .5, by s / (s + this)",
    )
    auto_min_score: Share = Field(default=0.8, description="mode auto: least normalised score of the best")
    auto_min_lead: Share = Field(default=0.3, description="mode auto: least lead of the best over the second")

    def fields_for(self, intents: Iterable[Intent]) -> FieldWeights:
        """Weight by lexicon field for a query of these intents."""
        return next(of_intents(self.fields_by_intent, intents), self.fields)

    def limit_of(self, channel: Channel, top_k: int) -> int:
        """Candidates that a channel returns at most, for `top_k` memories in the reply."""
        multiple = self.per_top_k.get(channel)
        if multiple is None:
            return self.limits[channel]
        return min(max(round(multiple * top_k), 1), MAX_CANDIDATES)
