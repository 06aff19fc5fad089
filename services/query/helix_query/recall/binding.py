"""The stages with what they need of one question, one generation and one ranking profile.

The stages know none of the three; `recall` holds their order and calls them through here. Those that find
candidates stand in `finding`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helix_query.profile.intent import Intent
from helix_query.recall.candidates import Candidates, Packed, Ranked, Retrieved, Route
from helix_query.recall.columns import traits
from helix_query.recall.finding import Finding
from helix_query.recall.packing.neighbour_rows import surroundings
from helix_query.recall.packing.neighbours import surround
from helix_query.recall.packing.pack import TokenCounter, pack
from helix_query.recall.packing.rows import entry_of, stored_rows
from helix_query.recall.query import RecalledRow
from helix_query.recall.stages.abstain import RelevanceEstimate, abstain, answer_features
from helix_query.recall.stages.already_served import delta
from helix_query.recall.stages.diversify import diversify
from helix_query.recall.stages.rank import best_first, scoring
from helix_query.recall.stages.rerank import rerank
from helix_shared.artifacts.lexicon.analysis import idf
from helix_shared.artifacts.signals.columns import code, hashed
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from helix_query.recall.stages.scoring import Scoring

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Binding(Finding):
    """One recall's stages; each method is the stage of its name, and 1 to 5 are those of `Finding`."""

    def rank(self, pool: Candidates, way: Route) -> Ranked:
        """Stage 6."""
        return best_first(pool, self.scoring(pool, way))

    def scoring(self, pool: Candidates, way: Route) -> Scoring:
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
            seed=hashed(self.question.query),
        )

    def rerank(self, ranked: Ranked) -> Ranked:
        """Stage 6b, off in every profile that comes with the service."""
        constants = self.profile.rerank
        return rerank(ranked, method=constants.method, candidates=constants.candidates)

    def diversify(self, ranked: Ranked, pool: Candidates, way: Route) -> Ranked:
        """Stage 7, over the best candidates; what the caller has comes on top and goes in `delta`."""
        constants, signals = self.profile.diversify, self.served.generation.signals
        candidates, count = self.looked_at(ranked, pool)
        covering = Intent.AGGREGATION in way.intents and constants.session_floor <= 1
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

    def looked_at(self, ranked: Ranked, pool: Candidates) -> tuple[Ranked, int]:
        """The best, which alone are looked at for duplicates, and how many of them are chosen."""
        count = self._top_k + int(np.isin(pool.ordinals, self.already.value).sum())
        return ranked.first(max(self.profile.diversify.candidates, 2 * count)), count

    def delta(self, ranked: Ranked, pool: Candidates) -> tuple[Ranked, int]:
        """Stage 7b: without what the caller has, and how many that were."""
        has = np.isin(pool.ordinals[ranked.positions], self.already.value)
        return delta(ranked, has, count=self._top_k)

    def fetch(self, ranked: Ranked, pool: Candidates) -> tuple[RecalledRow, ...]:
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
        self, rows: tuple[RecalledRow, ...], pool: Candidates, retrieved: Retrieved, way: Route
    ) -> RelevanceEstimate | None:
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
                idf(scopes.document_frequency("text", word), scopes.size)
                for word in lexicon.terms(self.question.query, scopes)
            ],
            intents=way.intents,
            visible=scopes.memories,
        )
        return None if found is None else abstain(found, **dict(constants))

    def pack(self, rows: tuple[RecalledRow, ...]) -> Packed:
        """Stage 8, counted by the generation's own tokenizer; then what stands around, into the rest."""
        budget, encoder = self.question.token_budget or self.profile.token_budget, self.served.encoder
        entries = [entry_of(found.row, self.question.zone) for found in rows]
        meter = TokenCounter(encoder.count_tokens, adds_up=encoder.counts_add_up)
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
            zone=self.question.zone,
        )
        return surround(entries, packed, around, token_budget=budget, meter=meter)
