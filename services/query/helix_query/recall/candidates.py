"""Values passed between the stages: frozen, with arrays where there are many candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.past_question import PastQuestion
from helix_query.profile.sections.section import CHANNEL_NAMES, GraphMethod
from helix_shared.about import BY_NAME

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from numpy.typing import NDArray

    from helix_query.profile.intent import Intent
    from helix_query.recall.candidate_signals import CandidateSignals
    from helix_query.recall.relevance import BaseScore
    from helix_shared.artifacts.hits import Hits

GRAPH: Final = "graph"
FOUND_BY: Final = (*CHANNEL_NAMES, GRAPH)
"""Bit n of `Candidates.found_by` stands for name n: the channels, and the graph of stage 5."""

Cosines = Callable[["NDArray[np.int64]"], "NDArray[np.float32]"]
"""Exact cosine of the query and each ordinal."""


def bit_of(name: str) -> np.uint8:
    """The bit of a channel, or of the graph, in `Candidates.found_by`."""
    return np.uint8(1 << FOUND_BY.index(name))


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time in UTC: `start` inclusive, `end` exclusive."""

    start: datetime
    end: datetime
    zone: tzinfo = UTC
    """Time zone of the days in the window."""
    is_alone: bool = False
    """Whether the query names nothing but the time."""


@dataclass(frozen=True, slots=True)
class AskedPerson:
    """Kind (`helix_shared.about`) and code of the person; the code of the asker is 0."""

    kind: int
    code: int = 0

    @property
    def is_named(self) -> bool:
        """Whether it is a person by name."""
        return self.kind == BY_NAME


@dataclass(frozen=True, slots=True)
class Route:
    """The result of stage 2: what a query asks for."""

    skip: bool = False
    intents: tuple[Intent, ...] = ()
    window: Window | None = None
    as_of_moment: datetime | None = None
    """The latest moment the query asks about, at most the moment it is asked; None: it names no past time."""
    reason: str = ""
    past_question: PastQuestion = PastQuestion.NO
    """Whether and how the query is about the past."""
    asked_person: AskedPerson | None = None
    """The person whose value the query asks for."""
    names_something: bool = False
    """Whether the query names a person or a thing."""
    asks_for_former: bool = False
    """Whether the words surely ask for a former thing; `past_question` is also set by guesses."""
    asks_whether: bool = False
    """Whether the query asks for yes or no in the present tense."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one search of a channel found, best first."""

    channel: str
    hits: Hits
    words: str = ""
    """The words that were searched for instead of the query; empty: the query itself."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The result of stage 3: rankings to fuse, evidence about single memories, and failed searches."""

    rankings: tuple[Ranking, ...]
    phrase_match: Hits | None = None
    """Memories that hold the query word for word; None: not searched for, or the search failed."""
    definition: Hits | None = None
    """Memories that define the name that the query looks up; None: as above."""
    term_coverage: Hits | None = None
    """Memories that hold most words of the query, score 0 to 1; None: as above."""
    preferences: Hits | None = None
    """Preferences that matter, score 0 to 1, if the query asks for advice; None: nothing was found."""
    profile_facts: Hits | None = None
    """Current facts about the caller, score 0 to 1, if the query asks for one; None: nothing was found."""
    degraded: tuple[str, ...] = ()
    """Channels and `EVIDENCE` whose search failed or came too late."""
    lexical_alone: bool = False
    """The dense channel was not asked: mode auto had a clear lexical match, or the profile says so."""

    @property
    def caller_hits(self) -> tuple[Hits, ...]:
        """Statements of the caller about themself, which are found beside the channels."""
        return tuple(hits for hits in (self.preferences, self.profile_facts) if hits is not None)

    def hits_of(self, channel: str) -> Hits | None:
        """The hits of a channel for the query itself; None: its search failed, or it was not asked."""
        return next((one.hits for one in self.rankings if one.channel == channel and not one.words), None)


PHRASE_MATCH: Final = "phrase match"
DEFINITION: Final = "definition"
TERM_COVERAGE: Final = "term coverage"
PREFERENCES: Final = "preferences"
PROFILE_FACTS: Final = "profile facts"
EVIDENCE: Final = (PHRASE_MATCH, DEFINITION, TERM_COVERAGE, PREFERENCES, PROFILE_FACTS)
"""Searches beside the channels, about single memories."""


@dataclass(frozen=True, slots=True)
class FusionInput:
    """The contribution of one list to the fused scores; arrays are parallel to its hits.

    Scores are weight / (k + rank) + bonuses (rrf) or weight x normal (minmax, weights scaled to sum 1).
    """

    ranking: Ranking
    weight: float
    scores: NDArray[np.float64]
    normal: NDArray[np.float64]
    """rrf: 1 / (k + rank). minmax: (score - least) / span."""
    least: float = 0.0
    span: float = 0.0
    """minmax: most minus least score, 0 where all are equal."""
    bonuses: NDArray[np.float64] | None = None

    @property
    def hits(self) -> Hits:
        """The hits of the list."""
        return self.ranking.hits


@dataclass(frozen=True, slots=True)
class RelatedPairs:
    """Pairs of candidates, by position: question and answer, replacement and what it replaces."""

    questions: NDArray[np.int64]
    answers: NDArray[np.int64]
    newer: NDArray[np.int64]
    older: NDArray[np.int64]
    probability: NDArray[np.float64]
    """That `newer` replaces `older`, 0 to 1."""


@dataclass(frozen=True, slots=True)
class LateInteraction:
    """Similarity of each word of the query with the nearest word of each compared candidate."""

    positions: NDArray[np.int64]
    """Positions of the compared candidates, ascending."""
    words: tuple[str, ...]
    """Words of the query that count."""
    rarities: NDArray[np.float64]
    """Inverse document frequencies of the words, above 0."""
    similarities: NDArray[np.float64]
    """[words, positions], -1 to 1."""
    weight: float
    """Standard deviations of the score that one of late interaction is worth."""
    states: NDArray[np.float32]
    """[states, bits] of the tokens of the words; an explanation compares them again."""
    word_of_state: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CrossEncoding:
    """The logits of a cross-encoder for the first candidates."""

    model: str
    """Name of the cross-encoder."""
    positions: NDArray[np.int64]
    """Positions of the compared candidates, ascending."""
    logits: NDArray[np.float64]
    """Parallel to `positions`."""
    weight: float
    """Standard deviations of the score that one of the logits is worth."""


@dataclass(frozen=True, slots=True)
class StandardGains:
    """What a comparison adds: (found - mean) / deviation x scale, so that no score falls below 0."""

    found: NDArray[np.float64]
    """Results of the comparison, in the order of the compared positions."""
    mean: float
    deviation: float
    """Standard deviation of `found`; 1 where all are equal, then `scale` is 0."""
    scale: float
    """What a standard deviation is worth."""
    gains: NDArray[np.float64]
    """The gain of each candidate."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidates of stages 4 to 7: arrays of equal length, one entry a candidate, no ordinal twice."""

    ordinals: NDArray[np.int64]
    fused: NDArray[np.float64]
    """Score of the fusion, best first out of stage 4."""
    cosine: NDArray[np.float64]
    """Exact cosine of query and memory."""
    mass: NDArray[np.float64]
    """Share of the graph's mass; zero before stage 5."""
    found_by: NDArray[np.uint8]
    """Bits over `FOUND_BY`; the graph's also where only a relation of a candidate found it."""
    coverage: NDArray[np.float64] | None = None
    """Share of the query's words, by rarity, that the text holds; None: not searched for."""
    phrase_match: NDArray[np.bool_] | None = None
    """Whether the text holds the query word for word; None: no text does, or it was not searched for."""
    definition: NDArray[np.bool_] | None = None
    """Whether it defines the name that the query looks up; None: nothing does, or it was not searched for."""
    preferences: Hits | None = None
    """As in `Retrieved`; all are among the candidates."""
    profile_facts: Hits | None = None
    """As in `Retrieved`; all are among the candidates."""
    fusion_inputs: tuple[FusionInput, ...] = ()
    """What each list gave to `fused`; kept by stage 4 only, for an explanation."""
    walked: GraphMethod | None = None
    """How stage 5 walked the graph; None: it did not."""
    degraded: tuple[str, ...] = ()
    """`PAGERANK` if the graph was too dense for it and the bounded walk was used instead;
    `DEGRADED_CROSS_ENCODER` if the cross-encoder could not compare in time."""
    related: RelatedPairs | None = None
    """Which candidates answer or replace which; None: none."""
    signals: CandidateSignals | None = None
    """Raw signals; None before stage 6, which reads them once."""
    base_score: BaseScore | None = None
    """The scores before all steps; None before stage 6, which computes them once."""
    late_interaction: LateInteraction | None = None
    """Similarities of the words; None before `rerank`, or where it compares none."""
    cross_encoding: CrossEncoding | None = None
    """Logits of the cross-encoder; None before `rerank`, or where it runs none."""

    def __len__(self) -> int:
        return len(self.ordinals)

    def channels_of(self, position: int) -> tuple[str, ...]:
        """Names of the channels that found the candidate at `position`."""
        bits = int(self.found_by[position])
        return tuple(name for bit, name in enumerate(FOUND_BY) if bits >> bit & 1)

    def with_found_by_graph(self, ordinals: NDArray[np.int64], cosines: Cosines) -> Candidates:
        """These, then memories that only the graph or a relation found, with the least fused score."""
        if not len(ordinals):
            return self
        count, least = len(ordinals), float(self.fused.min()) if len(self) else 0.0
        coverage, phrase_match, definition = self.coverage, self.phrase_match, self.definition
        return replace(
            self,
            ordinals=np.concatenate([self.ordinals, ordinals]),
            fused=np.concatenate([self.fused, np.full(count, least)]),
            cosine=np.concatenate([self.cosine, cosines(ordinals).astype(np.float64)]),
            mass=np.concatenate([self.mass, np.zeros(count)]),
            found_by=np.concatenate([self.found_by, np.full(count, bit_of(GRAPH))]),
            coverage=None if coverage is None else np.append(coverage, np.zeros(count)),
            phrase_match=None if phrase_match is None else np.append(phrase_match, np.zeros(count, bool)),
            definition=None if definition is None else np.append(definition, np.zeros(count, bool)),
        )


@dataclass(frozen=True, slots=True)
class Ranked:
    """Positions among the candidates, best first, with their final scores."""

    positions: NDArray[np.int64]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.positions)

    def first(self, count: int) -> Ranked:
        """The `count` best."""
        return Ranked(self.positions[:count], self.scores[:count])
