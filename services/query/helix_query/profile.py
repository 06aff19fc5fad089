"""Ranking profiles: every constant of the eight stages, named, with its unit and bounds.

A profile is a TOML file; `helix` and `helix-reference` come with the service, further ones from a
folder of the operator. A misspelt key, a value out of bounds or a name that is not the file's stops
the start with the file and the key. The stages take these values as keyword arguments; none sees
more of a profile than its own part.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from helix_query.abstention import Abstain
from helix_query.pool import PAGERANK, ExpandContext, GraphForm
from helix_query.recipe import Recipe, Rephrase, Rerank
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

DEFAULT_PROFILE: Final = "helix"

MemoryType = Literal["episodic", "semantic", "procedural", "decision", "code"]
Channel = Literal["dense", "lexical", "entity", "associative"]
Feature = Literal[
    "words", "exact_tokens", "exact_lookup", "lexical_best", "lexical_drop", "cosine_best", "cosine_drop",
    "agreement", "code", "length",
]  # fmt: skip
Edge = Literal["MENTIONS", "UPDATES", "EXTENDS", "DERIVES", "RELATES", "PART_OF", "IN_CATEGORY"]
Intent = Literal[
    "why", "when", "who", "how", "what", "temporal", "preference", "aggregation", "multi_hop",
    "exact_lookup", "current_value",
]  # fmt: skip
MEMORY_TYPES: Final[tuple[MemoryType, ...]] = ("episodic", "semantic", "procedural", "decision", "code")

MOST_CANDIDATES: Final = 1000
"""Of one channel."""

Share = Annotated[float, Field(ge=0, le=1)]
Factor = Annotated[float, Field(ge=0, le=10)]


_Chosen = TypeVar("_Chosen")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Routing(_Part):
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


class ChannelWeights(_Part):
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


class FieldWeights(_Part):
    """How much a match in each lexicon field counts."""

    text: Factor = 1.0
    context: Factor = Field(default=0.6, description="the turns around a turn")
    section: Factor = Field(default=0.6, description="what surrounds a piece of a longer text")
    expansions: Factor = 0.5
    exact: Factor = 1.0


class Retrieve(_Part):
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
    covering_limit: int = Field(
        default=0, ge=0, le=1000, description="current_value: memories that hold most of the words; 0: off"
    )
    auto_half_score: float = Field(
        default=5.0, gt=0, le=100, description="BM25 score that normalises to .5: s/(s+h)"
    )
    auto_top: Share = Field(default=0.8, description="mode auto: least normalised score of the best match")
    auto_lead: Share = Field(
        default=0.3, description="mode auto: least lead of the best match over the second"
    )

    def fields_for(self, intents: Iterable[str]) -> FieldWeights:
        """Weight by lexicon field for a query of these intents."""
        return next(_of_intents(self.fields_by_intent, intents), self.fields)

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


class Adaptive(_Part):
    """The dense share of one query: sigmoid(intercept + sum of coefficient x feature), `stages.weigh`."""

    intercept: float = Field(ge=-100, le=100, description="log odds of the share where all features are 0")
    coefficients: dict[Feature, Annotated[float, Field(ge=-100, le=100)]] = Field(
        min_length=1, description="by feature; one that is absent is not looked at"
    )


class Fuse(_Part):
    """Stage 4."""

    form: Literal["rrf", "minmax"] = Field(default="rrf", description="reciprocal ranks, or min-max scores")
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

    def weights_for(self, intents: Iterable[str]) -> dict[str, float]:
        """Weight by channel for a query of these intents."""
        return next(_of_intents(self.by_intent, intents), self.weights).model_dump()


class Expand(_Part):
    """Stage 5: Personalized PageRank by forward push (Andersen, Chung, Lang 2006), or the bounded walk."""

    enabled: bool = True
    form: GraphForm = Field(
        default=PAGERANK, description="walk: one or two hops only, what arrives counts 1 / (1 + hops)"
    )
    restart: float = Field(default=0.3, gt=0, lt=1, description="pagerank: chance to jump back to the seeds")
    epsilon: float = Field(
        default=1e-5, gt=0, le=0.1, description="pagerank: residual per edge that is still pushed"
    )
    max_rounds: int = Field(default=50, ge=1, le=1000, description="pagerank: hop cap, rounds of pushes")
    hops: int = Field(default=2, ge=1, le=2, description="walk: hop cap")
    hub_cap: int = Field(default=100, ge=1, description="a node with more edges passes nothing on")
    edge_budget: int = Field(
        default=2_000_000,
        ge=100,
        le=1_000_000_000,
        description="pagerank: edges passed at most in all rounds, else walk; walk: edges read at most",
    )
    edges: dict[Edge, Factor] = Field(
        default_factory=dict, description="factor on links of a kind; absent: 1"
    )
    sharpness: float = Field(default=4.0, ge=0.1, le=16, description="seeds are fused scores to this power")
    named_share: Share = Field(default=0.5, description="share of the restart on entities the query names")
    newcomers: int = Field(
        default=30, ge=0, le=200, description="most memories the graph alone may add to the pool"
    )
    newcomers_quiet: int = Field(
        default=30, ge=0, le=200, description="the same unless the question needs several hops; 0 is fastest"
    )
    mass_cap: float = Field(
        default=0.5, gt=0, le=1, description="most of the memories' mass one memory may hold"
    )
    bridge_share: Share = Field(
        default=0.0, description="multi_hop: restart share of what the first evidence points to"
    )
    bridge_from: int = Field(default=3, ge=1, le=20, description="multi_hop: memories read as first evidence")


class TypeWeights(_Part):
    """What makes a memory of one type good."""

    sim: Share
    recency: Share
    salience: Share
    confidence: Share
    graph: Share


class Boosts(_Part):
    """Stage 6: factors 1 + x on the score; 0 is off."""

    window: Factor = Field(default=0.0, description="happened in the time the query speaks of")
    pinned: Factor = Field(default=0.0, description="pinned by its author")
    priority: Factor = Field(default=0.0, description="times (priority - 1)")
    project: Factor = Field(default=0.0, description="belongs to the caller's project")


class Rank(_Part):
    """Stage 6.

    `additive`: sum of weight x normalised signal, weights by memory type.
    `multiplicative`: relevance x (1 + strength x quality); relevance blends sim and graph, quality
    blends recency, salience and confidence by the weights of the type.
    `blend`: share of the fused score, the rest cosine; quality enters by the factors of the recipe.
    """

    form: Literal["additive", "multiplicative", "blend"] = "additive"
    fused_share: Share = Field(
        default=0.5, description="sim = share x fused + (1 - share) x cosine, normalised each"
    )
    recency_per_hour: float = Field(
        default=0.995, gt=0, le=1, description="recency = this ** hours since last access"
    )
    weights: dict[MemoryType, TypeWeights]
    strength: Factor = Field(default=0.1, description="multiplicative: how much quality may add")
    graph_quiet: Share = Field(default=0.05, description="multiplicative: share of graph mass in relevance")
    graph_lead: Share = Field(default=0.8, description="multiplicative: the same for multi-hop questions")
    boosts: Boosts = Boosts()
    recipe: Recipe = Recipe()
    current_cover: Share = Field(
        default=0.8, description="current_value: states the value asked for from this share of the best cover"
    )
    current_floor: Share = Field(
        default=0.5, description="current_value: nobody states it whose text holds less of the words"
    )
    current_relevant: Share = Field(
        default=0.0, description="current_value: states it only from this share of the best score"
    )
    later_than_asked: Share = Field(
        default=1.0, description="factor on what happened after the moment of asking; 1: off"
    )

    @property
    def uses_graph_quietly(self) -> bool:
        """Whether graph mass counts for questions that do not need several hops."""
        return self.form == "additive" or (self.form == "multiplicative" and self.graph_quiet > 0)

    @model_validator(mode="after")
    def _every_type(self) -> Self:
        missing = set(MEMORY_TYPES) - set(self.weights)
        if missing:
            raise ValueError(f"weights lacks {', '.join(sorted(missing))}")
        return self


class Diversify(_Part):
    """Stage 7."""

    candidates: int = Field(
        default=100, ge=1, le=1000, description="best candidates looked at, at least 2 x top_k"
    )
    near_duplicate: float = Field(
        default=0.8, gt=0, le=1.01, description="MinHash Jaccard; above 1: nothing is one"
    )
    mmr_lambda: Share = Field(default=0.5, description="relevance against novelty; 1: order stays")
    session_floor: float = Field(
        default=1.01,
        ge=0,
        le=1.01,
        description="aggregation: best of each session first, from this share of the top",
    )
    coverage_lambda: Share = Field(
        default=1.0,
        description="aggregation: the others by MMR with MinHash Jaccard and this lambda; 1: by score",
    )


class Pack(_Part):
    """Stage 8."""

    expand_context: ExpandContext = Field(
        default="none", description="packed around a memory where there is room: none, neighbours or session"
    )
    surrounding_limit: int = Field(
        default=100, ge=1, le=500, description="memories read at most to be packed around others"
    )


class RankingProfile(_Part):
    """One named set of constants for the eight stages."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    description: str
    top_k: int = Field(
        default=10, ge=1, le=200, description="memories returned when the caller names no number"
    )
    token_budget: int = Field(
        default=2000, ge=1, le=100_000, description="tokens packed when the caller names none"
    )
    route: Routing = Routing()
    retrieve: Retrieve = Retrieve()
    fuse: Fuse = Fuse()
    expand: Expand = Expand()
    rank: Rank
    rerank: Rerank = Rerank()
    diversify: Diversify = Diversify()
    abstain: Abstain = Abstain()
    pack: Pack = Pack()


def _of_intents(by_intent: Mapping[Intent, _Chosen], intents: Iterable[str]) -> Iterator[_Chosen]:
    """What is set for any of `intents`, in the order of the profile."""
    asked = set(intents)
    return (chosen for intent, chosen in by_intent.items() if intent in asked)


def load_profiles(folder: Path | None = None) -> Mapping[str, RankingProfile]:
    """Read the built-in profiles and those of `folder` (`*.toml`), by name; a file of `folder` wins.

    Raises:
        InvalidInputError: a file is not a profile; names the file and the key.
    """
    built_in = _files(resources.files("helix_query") / "profiles")
    own = _files(folder) if folder is not None else []
    return {profile.name: profile for profile in map(_load, [*built_in, *own])}


def _files(folder: Traversable) -> list[Traversable]:
    if not folder.is_dir():
        raise InvalidInputError(str(folder), "is no folder of ranking profiles")
    return sorted(
        (file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name
    )


def _load(file: Traversable) -> RankingProfile:
    try:
        values: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        profile = RankingProfile.model_validate(values)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInputError(str(file), f"is not readable as TOML: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"])) or "profile"
        raise InvalidInputError(str(file), f"{key}: {first['msg']}") from error
    if f"{profile.name}.toml" != file.name:
        raise InvalidInputError(str(file), f"name: is {profile.name!r}, must be the file's name")
    return profile
