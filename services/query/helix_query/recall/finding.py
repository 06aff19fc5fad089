"""Stages 1 to 5 with what they need of one question, one generation and one ranking profile: the candidates.

The stages know none of the three. `binding` goes on with what becomes of the candidates, `searches` has what
stage 3 may look for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from helix_memory.memory_types import MEMORY_TYPES
from helix_query.profile.intent import Intent
from helix_query.recall.candidates import DENSE, LEXICAL, Candidates, Retrieved, Route
from helix_query.recall.graph.bridge import bridges
from helix_query.recall.graph.expand import expand
from helix_query.recall.routing.event_lookup import look_up_event
from helix_query.recall.routing.route import names_in, route
from helix_query.recall.routing.rules import intents_by_rule
from helix_query.recall.stages.adaptive_weights import dense_share, features
from helix_query.recall.stages.embed import embed
from helix_query.recall.stages.fuse import fuse
from helix_query.recall.stages.retrieve import ClearLead, retrieve
from helix_query.recall.stages.searches import ByWords, Searches
from helix_query.recall.visibility import Visibility
from helix_query.scheduling.lazy import Lazy
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.lexicon.analysis import stems
from helix_shared.artifacts.lexicon.reader import exact_words_of, words_of
from helix_shared.telemetry import RECALL_DEGRADED

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot
    from helix_query.profile.profile import RankingProfile
    from helix_query.recall.query import Query
    from helix_query.recall.routing.anchors import EventMatches


@dataclass(frozen=True, slots=True)
class Finding:
    """One recall's stages 1 to 5; each method is the stage of its name."""

    question: Query
    served: Snapshot
    profile: RankingProfile
    until: float = math.inf
    """Deadline of the recall, a moment of the monotonic clock."""
    already: Lazy[NDArray[np.int64]] = field(init=False)
    """Ordinals of what the caller has."""
    by_rule: Lazy[tuple[Intent, ...]] = field(init=False)
    """Intents by the question's wording; read once, though two stages ask."""
    view: Visibility = field(init=False)

    def __post_init__(self) -> None:
        # None of these refers to `self`: a cycle would keep the generation after its swap.
        question, served = self.question, self.served
        view = Visibility.of(served.generation, question.selection, question.clock)
        object.__setattr__(self, "view", view)
        already = Lazy(partial(served.ordinals_of, question.already_served), until=self.until)
        object.__setattr__(self, "already", already)
        object.__setattr__(self, "by_rule", Lazy(partial(intents_by_rule, question.query), until=self.until))

    def begin(self, lanes: Mapping[str, Executor]) -> Future[Hits] | None:
        """Start what needs no vector, the lexical search, so that it runs while the question is embedded.

        None where `retrieve` would not want it.
        """
        question = self.question
        wanted = question.mode != "dense" and LEXICAL in self.profile.retrieve.channels
        if not wanted or question.selection.as_of is not None:
            return None
        by_words = ByWords(
            question, self.served, self.profile, self.view, self.already, self.by_rule, until=self.until
        )
        return lanes[LEXICAL].submit(by_words.ahead)

    def embed(self) -> NDArray[np.float32]:
        """Stage 1."""
        return embed(self.question.query, encoder=self.served.encoder)

    def route(self, vector: NDArray[np.float32]) -> Route:
        """Stage 2, at the caller's time; a profile without it treats all questions alike."""
        if not self.profile.route.enabled:
            return Route(reason="routing is off")
        return route(
            self.question.query,
            vector,
            now=self.question.now,
            zone=self.question.zone,
            centroids=self.served.centroids,
            may_skip=not self.question.never_skip,
            centroid_margin=self.profile.route.centroid_margin,
            look_up_event=self._look_up_event if self.profile.route.anchors else None,
            intents_of=lambda _: self.by_rule.value,
        )

    def _look_up_event(self, phrase: str) -> EventMatches:
        question = self.question
        lexicon = self.served.generation.lexicon
        return look_up_event(phrase, self.view, lexicon=lexicon, now=question.now, zone=question.zone)

    def retrieve(
        self,
        vector: NDArray[np.float32],
        way: Route,
        lanes: Mapping[str, Executor],
        deadline_seconds: float,
        begun: Future[Hits] | None = None,
    ) -> Retrieved:
        """Stage 3, on the channels of the profile, in mode dense on that one; a missing one is counted.

        `begun` is the search of `begin`.
        """
        question, constants = self.question, self.profile.retrieve
        if question.selection.as_of is not None:
            self.served.prepare_as_of(self.until)
        searches = self.searches(vector, way, begun)
        of_channels = searches.of_channels()
        asked = (DENSE,) if question.mode == "dense" else constants.channels
        lead = ClearLead(constants.auto_half_score, constants.auto_top, constants.auto_lead)
        retrieved = retrieve(
            {channel: of_channels[channel] for channel in asked},
            further=() if question.mode == "dense" else searches.further(),
            lanes=lanes,
            deadline_seconds=deadline_seconds,
            until=self.until,
            # The lexicon holds the latest versions alone, so of the past it cannot answer alone.
            clear_lead=lead if question.mode == "auto" and question.selection.as_of is None else None,
        )
        for channel in retrieved.degraded:
            RECALL_DEGRADED.labels(channel).inc()
        retrieved = self._as_known(retrieved)
        return retrieved if DENSE in asked else replace(retrieved, lexical_alone=True)

    def searches(
        self, vector: NDArray[np.float32], way: Route, begun: Future[Hits] | None = None
    ) -> Searches:
        """What stage 3 may look for."""
        return Searches(
            self.question,
            self.served,
            self.profile,
            self.view,
            self.already,
            self.by_rule,
            vector,
            way,
            begun,
            until=self.until,
        )

    def fuse(self, retrieved: Retrieved, vector: NDArray[np.float32], way: Route) -> Candidates:
        """Stage 4, with exact cosines."""
        constants = self.profile.fuse
        return fuse(
            retrieved,
            cosines=partial(self.served.generation.signals.cosines, vector),
            method=constants.method,
            weights=partial(self._weights, retrieved, way),
            k=constants.k,
            rank_bonuses=constants.rank_bonuses,
            lexical_limit=self.profile.retrieve.limit_of(LEXICAL, self._top_k),
            rephrased_weight=constants.rephrased_weight,
        )

    def _weights(
        self, retrieved: Retrieved, way: Route, ordinals: NDArray[np.int64], cosines: NDArray[np.float32]
    ) -> Mapping[str, float]:
        """Weight of each list; an adaptive profile shares anew what dense and lexical have together."""
        constants, signals = self.profile.fuse, self.served.generation.signals
        weights = constants.weights_for(way.intents)
        lexical = retrieved.of(LEXICAL)
        if constants.adaptive is None or lexical is None or retrieved.of(DENSE) is None:
            return weights
        seen = features(
            lexical,
            ordinals,
            cosines,
            is_code=signals.type_code[ordinals] == MEMORY_TYPES.index("code"),
            tokens=signals.token_count[ordinals],
            words=len(words_of(self.question.query)),
            has_exact_tokens=bool(exact_words_of(self.question.query)),
            is_exact_lookup=Intent.EXACT_LOOKUP in way.intents,
        )
        share = dense_share(seen, **constants.adaptive.model_dump())
        whole = weights[DENSE] + weights[LEXICAL]
        return weights | {DENSE: share * whole, LEXICAL: (1.0 - share) * whole}

    def expand(self, pool: Candidates, vector: NDArray[np.float32], way: Route) -> Candidates:
        """Stage 5; only for the questions that the profile walks the graph for."""
        constants, generation = self.profile.expand, self.served.generation
        quiet = not (constants.graph_candidates_single_hop or self.profile.rank.weighs_graph_single_hop)
        if not constants.enabled or self.question.mode == "dense":
            return pool
        if quiet and Intent.MULTI_HOP not in way.intents:
            return pool
        named = self.served.named_nodes(self.question.selection.tenant_id, names_in(self.question.query))
        grown = expand(
            pool,
            named,
            graph=self.served.adjacency,
            memories=self.served.memories,
            cosines=partial(generation.signals.cosines, vector),
            visible=self.view.sees,
            kind_factors=self.served.kind_factors(constants.edges),
            graph_candidates=constants.candidates_for(multi_hop=Intent.MULTI_HOP in way.intents),
            bridge=partial(self._bridge, named) if Intent.MULTI_HOP in way.intents else None,
            **constants.model_dump(
                exclude={"enabled", "edges", "graph_candidates", "graph_candidates_single_hop"}
            ),
        )
        for missing in grown.degraded:
            RECALL_DEGRADED.labels(missing).inc()
        return grown

    def _bridge(
        self, named: NDArray[np.int64], evidence: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Nodes of the entities that the texts of `evidence` point to, and how strongly."""
        generation, tenant = self.served.generation, self.question.selection.tenant_id
        found = bridges(
            self.question.query,
            generation.graph.entity_names(named),
            [(line["title"], line["text"]) for line in generation.signals.records(evidence)],
            stems=stems,
        )
        nodes = [(int(node), worth) for name, worth in found.items() for node in self._nodes(tenant, name)]
        return np.array([node for node, _ in nodes], np.int64), np.array([worth for _, worth in nodes])

    def _nodes(self, tenant_id: str, name: str) -> NDArray[np.int64]:
        return self.served.named_nodes(tenant_id, (name,))

    @property
    def _top_k(self) -> int:
        return self.question.top_k or self.profile.top_k

    def _as_known(self, retrieved: Retrieved) -> Retrieved:
        """Without what was not known and valid at `as_of`, whatever a channel made of it."""
        if self.view.past is None:
            return retrieved
        kept = []
        for ranking in retrieved.rankings:
            hits = ranking.hits
            living = self.view.alive(hits.ordinals)
            kept.append(replace(ranking, hits=Hits(hits.ordinals[living], hits.scores[living])))
        return replace(retrieved, rankings=tuple(kept))
