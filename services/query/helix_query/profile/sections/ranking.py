"""Constants of stage 6, which `stages.base_score` and `stages.rank` read: method, weights, boosts, steps."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from helix_memory.vocabulary.memory_types import MEMORY_TYPES, MemoryType
from helix_query.profile.recipes.scoring import Recipe
from helix_query.profile.sections.section import Factor, Section, Share


class TypeWeights(Section):
    """Weights of the signals of one memory type."""

    sim: Share = 1.0
    recency: Share = 0.0
    salience: Share = 0.0
    confidence: Share = 0.0
    graph: Share = 0.0


class Boosts(Section):
    """Factors 1 + x on the score; 0 is off."""

    window: Factor = Field(default=0.0, description="the memory lies in the time window of the query")
    window_alone: Factor = Field(
        default=9.0,
        description="the same where the query names nothing but a time; read where `window` is on",
    )
    dated: Factor = Field(default=0.0, description="it tells a time, which the question asks for")
    pinned: Factor = Field(default=0.0, description="pinned by its author")
    priority: Factor = Field(default=0.0, description="times (priority - 1)")
    project: Factor = Field(default=0.0, description="the memory is of the caller's project")


class SpeechActs(Section):
    """Effect of the speech act of a memory on its rank."""

    statements_first: bool = Field(
        default=False,
        description="bare questions and requests behind their best answer, or below all statements without"
        " one; bare acknowledgements below those",
    )
    bare_tokens: int = Field(
        default=32, ge=0, le=512, description="tokens of a bare question at most; a longer one says something"
    )
    answer_share: Share = Field(
        default=1.0,
        description="share of its question's score that an answer gets if its own is lower, where the query"
        " has no name; else all of it",
    )
    answered_questions: int = Field(
        default=0, ge=0, le=50, description="best answered questions whose answers become candidates; 0: none"
    )


class Outdated(Section):
    """Effect of a replacement on both scores, by the probability of the link."""

    enabled: bool = Field(default=False, description="whether links between memories count")
    looked_up: int = Field(
        default=50, ge=0, le=1000, description="best candidates whose replacements are looked up"
    )
    min_probability: Share = Field(default=0.05, description="least probability of a link that counts")
    added: int = Field(
        default=10, ge=0, le=50, description="replacements of candidates that become candidates themselves"
    )
    related: Share = Field(
        default=0.0,
        description="probability of a link that only relates two memories, as a share of its weight",
    )
    longest: int = Field(
        default=40, ge=0, le=10_000, description="tokens of a memory whose links count, at most"
    )
    share_otherwise: Share = Field(
        default=0.5,
        description="share of the probability where the question does not ask for a value that changes",
    )
    past_tense: Share = Field(
        default=0.75, description="what a question in the past tense takes from the probability of a link"
    )
    inherited: Factor = Field(
        default=1.0,
        description="a replacement gets min(1, this x probability) of the score of what it replaces",
    )
    lost_share: Factor = Field(
        default=1.0,
        description="a replaced memory loses min(1, this x probability) x min(1, new / old score) of it",
    )
    kept_share: Share = Field(
        default=0.0,
        description="least share of its replacement's score that a replaced memory keeps; 0: it may lose all",
    )
    former: Share = Field(
        default=0.4,
        description="share of that loss which a replacement has where a question asks for the former value",
    )


class Newer(Section):
    """Effect of the order in time of the first candidates, for questions about current values."""

    gain: Factor = Field(
        default=0.0,
        description="share of its score that the latest one gains where a value is asked for; 0: off",
    )
    gain_otherwise: Factor = Field(
        default=0.0, description="the same for all other questions in the present tense; 0: off"
    )
    gain_first: Factor = Field(
        default=0.0,
        description="share of its score that the earliest one gains where the first value is asked for and no"
        " link tells it; 0: off",
    )
    compared: int = Field(default=20, ge=2, le=200, description="first candidates that are compared")
    longest: int = Field(
        default=60, ge=0, le=10_000, description="tokens of a memory whose time is compared, at most"
    )
    least_score: float = Field(
        default=0.0, ge=0, le=1, description="share of the best score that a compared candidate has, at least"
    )
    full_match: Share = Field(
        default=0.0,
        description="share of the best late interaction at which a candidate gains in full, below it in"
        " proportion; 0: all gain in full",
    )


class Persons(Section):
    """Effect of a candidate that is surely about another person than the one asked about."""

    compared: bool = Field(
        default=False,
        description="such a candidate gains nothing as the newest or latest statement; of two people neither"
        " replaces the other",
    )
    factor: Share = Field(
        default=1.0, description="factor on its score where the asker or a relative is asked about; 1: off"
    )


class Doubtful(Section):
    """Effect of low confidence on the score of a short memory, such as a remark of an agent."""

    share: Share = Field(default=1.0, description="share of its score that it keeps")
    below: Share = Field(
        default=0.55, description="confidence below which a memory is doubtful: nobody has confirmed it"
    )
    tokens: int = Field(
        default=32,
        ge=0,
        le=512,
        description="tokens of such a memory at most; a longer one says more",
    )


class Rank(Section):
    """Stage 6. All signals are normalised over the candidates.

    `sim` is fused_share x fused score + (1 - fused_share) x cosine.
    `additive`: sum of weight x signal, by the weights of the memory type.
    `multiplicative`: relevance x (1 + quality_weight x quality). Relevance is the weighted mean of graph mass
    and sim; quality that of recency, salience and confidence, by the weights of the type.
    `blend`: sim, then the factors of a published recipe.
    """

    method: Literal["additive", "multiplicative", "blend"] = "additive"
    fused_share: Share = Field(default=0.5, description="share of the fused score in sim; the rest is cosine")
    recency_per_hour: float = Field(
        default=0.995, gt=0, le=1, description="recency = this ** hours since last access"
    )
    weights: dict[MemoryType, TypeWeights] = Field(
        default_factory=dict, description="of every memory type; empty: sim alone"
    )
    quality_weight: Factor = Field(default=0.0, description="multiplicative: weight of quality")
    graph_weight: Share = Field(default=0.05, description="multiplicative: weight of graph mass in relevance")
    graph_weight_multi_hop: Share = Field(
        default=0.8, description="multiplicative: the same for multi_hop questions"
    )
    boosts: Boosts = Boosts()
    acts: SpeechActs = SpeechActs()
    outdated: Outdated = Outdated()
    newer: Newer = Newer()
    persons: Persons = Persons()
    doubtful: Doubtful = Doubtful()
    recipe: Recipe = Recipe()
    current_min_coverage: Share = Field(
        default=0.8,
        description="current_value: term coverage of a memory that states the value, as a share of the best",
    )
    current_min_text_coverage: Share = Field(
        default=0.5, description="current_value: least term coverage of such a memory"
    )
    current_min_score: Share = Field(
        default=0.0,
        description="current_value: least score of such a memory, as a share of the best",
    )
    current_fewest: int = Field(
        default=1,
        ge=1,
        le=10,
        description="current_value: moments at which such memories state the value, at least, that one leads",
    )
    preference_gain: Factor = Field(
        default=0.0,
        description="added to a preference that matters to the question, as a share of the best score",
    )
    profile_fact_gain: Factor = Field(
        default=0.0,
        description="added to what holds of the caller's name, home, work, partner or age, where the question"
        " asks for that, as a share of the best score",
    )
    future_penalty: Share = Field(
        default=1.0, description="factor on memories that occurred after the time of the query; 1: off"
    )

    @property
    def weighs_graph_single_hop(self) -> bool:
        """Whether graph mass counts for questions that do not need several hops."""
        return self.method == "additive" or (self.method == "multiplicative" and self.graph_weight > 0)

    def weights_of(self, memory_type: MemoryType) -> TypeWeights:
        """Weights of the signals of a memory type."""
        return self.weights.get(memory_type, TypeWeights())

    @model_validator(mode="after")
    def _weights_are_complete(self) -> Self:
        if self.quality_weight > 0 and not self.weights:
            raise ValueError("a quality_weight above 0 needs weights")
        missing = [name for name in MEMORY_TYPES if self.weights and name not in self.weights]
        if missing:
            raise ValueError(f"weights lacks {', '.join(missing)}")
        return self
