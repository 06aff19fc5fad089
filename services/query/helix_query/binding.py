"""The stages with what they need of one question, one generation and one ranking profile.

The stages know none of the three; `recall` holds their order and calls them through here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from helix_query.columns import traits
from helix_query.lazy import Lazy
from helix_query.pool import DENSE, LEXICAL, Packed, Pool, Ranked, Retrieved, Route
from helix_query.probe import probe
from helix_query.question import RecalledRow
from helix_query.searches import ByWords, Searches
from helix_query.stages.abstain import Belief, abstain, answer_features
from helix_query.stages.bridge import bridges
from helix_query.stages.delta import delta
from helix_query.stages.diversify import diversify
from helix_query.stages.embed import embed
from helix_query.stages.expand import expand
from helix_query.stages.fuse import fuse
from helix_query.stages.pack import Meter, pack
from helix_query.stages.rank import best_first, scoring
from helix_query.stages.rerank import rerank
from helix_query.stages.retrieve import ClearLead, retrieve
from helix_query.stages.route import names_in, route
from helix_query.stages.surround import surround
from helix_query.stages.weigh import dense_share, features
from helix_query.stored import entry_of, stored_rows
from helix_query.surroundings import surroundings
from helix_query.view import View
from helix_shared.artifacts.analysis import rarity, stems
from helix_shared.artifacts.lexicon import exact_words_of, words_of
from helix_shared.artifacts.ranking import Hits
from helix_shared.artifacts.signals import MEMORY_TYPES, code
from helix_shared.telemetry import RECALL_DEGRADED, logger

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from numpy.typing import NDArray

    from helix_query.profile import RankingProfile
    from helix_query.question import Question
    from helix_query.routing.anchors import Probed
    from helix_query.served import Served
    from helix_query.stages.scoring import Scoring

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Binding:
    """One recall's stages; each method is the stage of its name."""

    question: Question
    served: Served
    profile: RankingProfile
    already: Lazy[NDArray[np.int64]] = field(init=False)
    """Ordinals of what the caller has."""
    view: View = field(init=False)

    def __post_init__(self) -> None:
        question = self.question
        view = View.of(self.served.generation, question.selection, question.now)
        object.__setattr__(self, "view", view)
        object.__setattr__(
            self, "already", Lazy(lambda: self.served.ordinals_of(self.question.already_served))
        )

    def begin(self, lanes: Mapping[str, Executor]) -> Future[Hits] | None:
        """Start what needs no vector, the lexical search, so that it runs while the question is embedded.

        None where `retrieve` would not want it.
        """
        question = self.question
        wanted = question.mode != "dense" and LEXICAL in self.profile.retrieve.channels
        if not wanted or question.selection.as_of is not None:
            return None
        by_words = ByWords(question, self.served, self.profile, self.view, self.already)
        return lanes[LEXICAL].submit(by_words.ahead)

    def embed(self) -> NDArray[np.float32]:
        """Stage 1."""
        return embed(self.question.query, encoder=self.served.encoder)

    def route(self, vector: NDArray[np.float32]) -> Route:
        """Stage 2, at the question's time; a profile without it treats all questions alike."""
        if not self.profile.route.enabled:
            return Route(reason="routing is off")
        return route(
            self.question.query,
            vector,
            now=self.question.now,
            centroids=self.served.centroids,
            may_skip=not self.question.never_skip,
            centroid_margin=self.profile.route.centroid_margin,
            probe=self._probe if self.profile.route.anchors else None,
        )

    def _probe(self, phrase: str) -> Probed:
        return probe(phrase, self.view, lexicon=self.served.generation.lexicon, now=self.question.now)

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
            self.served.ready_for_past()
        searches = self.searches(vector, way, begun)
        of_channels = searches.of_channels()
        asked = (DENSE,) if question.mode == "dense" else constants.channels
        lead = ClearLead(constants.auto_half_score, constants.auto_top, constants.auto_lead)
        retrieved = retrieve(
            {channel: of_channels[channel] for channel in asked},
            further=() if question.mode == "dense" else searches.further(),
            lanes=lanes,
            deadline_seconds=deadline_seconds,
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
        return Searches(self.question, self.served, self.profile, self.view, self.already, vector, way, begun)

    def fuse(self, retrieved: Retrieved, vector: NDArray[np.float32], way: Route) -> Pool:
        """Stage 4, with exact cosines."""
        constants = self.profile.fuse
        return fuse(
            retrieved,
            cosines=partial(self.served.generation.signals.cosines, vector),
            form=constants.form,
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
            looks_up_exactly="exact_lookup" in way.intents,
        )
        share = dense_share(seen, **constants.adaptive.model_dump())
        whole = weights[DENSE] + weights[LEXICAL]
        return weights | {DENSE: share * whole, LEXICAL: (1.0 - share) * whole}

    def expand(self, pool: Pool, vector: NDArray[np.float32], way: Route) -> Pool:
        """Stage 5; only for the questions that the profile walks the graph for."""
        constants, generation = self.profile.expand, self.served.generation
        quiet = not (constants.newcomers_quiet or self.profile.rank.uses_graph_quietly)
        if not constants.enabled or self.question.mode == "dense":
            return pool
        if quiet and "multi_hop" not in way.intents:
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
            newcomers=constants.newcomers if "multi_hop" in way.intents else constants.newcomers_quiet,
            bridge=partial(self._bridge, named) if "multi_hop" in way.intents else None,
            **constants.model_dump(exclude={"enabled", "edges", "newcomers", "newcomers_quiet"}),
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
            [(line["title"], line["text"]) for line in generation.signals.lines(evidence)],
            stems=stems,
        )
        nodes = [(int(node), worth) for name, worth in found.items() for node in self._nodes(tenant, name)]
        return np.array([node for node, _ in nodes], np.int64), np.array([worth for _, worth in nodes])

    def _nodes(self, tenant_id: str, name: str) -> NDArray[np.int64]:
        return self.served.named_nodes(tenant_id, (name,))

    def rank(self, pool: Pool, way: Route) -> Ranked:
        """Stage 6."""
        return best_first(pool, self.scoring(pool, way))

    def scoring(self, pool: Pool, way: Route) -> Scoring:
        """What stage 6 ranks by."""
        project = self.question.project_id
        return scoring(
            pool,
            traits(self.served.generation.signals, pool.ordinals, as_of=self.question.selection.as_of),
            way,
            now=self.question.now,
            constants=self.profile.rank,
            type_names=self.served.type_names,
            project_code=code(project) if project else None,
            seed=code(self.question.query),
        )

    def rerank(self, ranked: Ranked) -> Ranked:
        """Stage 6b, off in every profile that comes with the service."""
        constants = self.profile.rerank
        return rerank(ranked, form=constants.form, candidates=constants.candidates)

    def diversify(self, ranked: Ranked, pool: Pool, way: Route) -> Ranked:
        """Stage 7, over the best candidates; what the caller has comes on top and goes in `delta`."""
        constants, signals = self.profile.diversify, self.served.generation.signals
        candidates, count = self.looked_at(ranked, pool)
        covering = "aggregation" in way.intents and constants.session_floor <= 1
        ordinals = pool.ordinals[candidates.positions]
        return diversify(
            candidates,
            minhashes=signals.minhash(ordinals),
            vectors=lambda rows: signals.vectors(ordinals[rows]),
            sessions=signals.session_code[ordinals],
            count=count,
            near_duplicate=constants.near_duplicate,
            mmr_lambda=constants.mmr_lambda,
            session_floor=constants.session_floor if covering else None,
            coverage_lambda=constants.coverage_lambda,
        )

    def looked_at(self, ranked: Ranked, pool: Pool) -> tuple[Ranked, int]:
        """The best, which alone are looked at for duplicates, and how many of them are chosen."""
        count = self._top_k + int(np.isin(pool.ordinals, self.already.value).sum())
        return ranked.first(max(self.profile.diversify.candidates, 2 * count)), count

    def delta(self, ranked: Ranked, pool: Pool) -> tuple[Ranked, int]:
        """Stage 7b: without what the caller has, and how many that were."""
        has = np.isin(pool.ordinals[ranked.positions], self.already.value)
        return delta(ranked, has, count=self._top_k)

    def fetch(self, ranked: Ranked, pool: Pool) -> tuple[RecalledRow, ...]:
        """The rows of the chosen, best first; each is checked once more against the caller's scope."""
        generation, selection = self.served.generation, self.question.selection
        ordinals = pool.ordinals[ranked.positions]
        rows = stored_rows(self.served, ordinals, self.view)
        by_ordinal = {row["ordinal"]: row for row in rows}
        linked = generation.graph.entities_of(ordinals)
        fetched = []
        for position, ordinal, score, entities in zip(
            ranked.positions, ordinals.tolist(), ranked.scores, linked, strict=True
        ):
            row = by_ordinal.get(ordinal)
            if row is None or not selection.admits(row):
                _log.error("row_withheld", ordinal=ordinal, generation=generation.manifest.generation)
                continue
            cosine = float(pool.cosine[position])
            fetched.append(RecalledRow(row, entities, float(score), cosine, pool.channels_of(position)))
        return tuple(fetched)

    def abstain(
        self, rows: tuple[RecalledRow, ...], pool: Pool, retrieved: Retrieved, way: Route
    ) -> Belief | None:
        """Stage 7c: how likely the rows answer; None where the profile or the channels do not tell."""
        constants = self.profile.abstain
        if constants.memory is None and constants.answer is None:
            return None
        lexicon, order = self.served.generation.lexicon, np.argsort(pool.ordinals)
        scopes = lexicon.scopes(self.question.selection)
        ordinals = np.array([found.row["ordinal"] for found in rows], np.int64)
        found = answer_features(
            pool,
            order[np.searchsorted(pool.ordinals[order], ordinals)],
            np.array([found.score for found in rows]),
            retrieved,
            rarities=[
                rarity(scopes.holding("text", word), scopes.size)
                for word in lexicon.terms(self.question.query, scopes)
            ],
            intents=way.intents,
        )
        return None if found is None else abstain(found, **dict(constants))

    def pack(self, rows: tuple[RecalledRow, ...]) -> Packed:
        """Stage 8, counted by the generation's own tokenizer; then what stands around, into the rest."""
        budget, encoder = self.question.token_budget or self.profile.token_budget, self.served.encoder
        entries = [entry_of(found.row) for found in rows]
        meter = Meter(encoder.count_tokens, adds_up=encoder.counts_add_up)
        packed = pack(entries, token_budget=budget, meter=meter)
        expand_context = self.question.expand_context or self.profile.pack.expand_context
        if expand_context == "none" or not packed.memory_ids:
            return packed
        around = surroundings(
            [found.row for found in rows],
            packed,
            self.view,
            self.served,
            whole=expand_context == "session",
            room=budget - packed.tokens,
            limit=self.profile.pack.surrounding_limit,
            already=self.already.value,
        )
        return surround(entries, packed, around, token_budget=budget, meter=meter)

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
