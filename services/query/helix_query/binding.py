"""The stages with what they need of one question, one generation and one ranking profile.

The stages know none of the three; `recall` holds their order and calls them through here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from helix_query.channels.dense import dense
from helix_query.channels.lexical import lexical
from helix_query.columns import STORED_COLUMNS, completed, traits, visible
from helix_query.pool import DENSE, LEXICAL, Entry, Packed, Pool, Ranked, Retrieved, Route
from helix_query.question import RecalledRow
from helix_query.stages.diversify import diversify
from helix_query.stages.embed import embed
from helix_query.stages.expand import expand
from helix_query.stages.fuse import fuse
from helix_query.stages.pack import pack
from helix_query.stages.rank import rank
from helix_query.stages.retrieve import ClearLead, retrieve
from helix_query.stages.route import route
from helix_shared.artifacts.signals import code
from helix_shared.telemetry import RECALL_DEGRADED, logger

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import numpy as np
    from numpy.typing import NDArray

    from helix_query.profile import RankingProfile
    from helix_query.question import Question
    from helix_query.served import Served

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Binding:
    """One recall's stages; each method is the stage of its name."""

    question: Question
    served: Served
    profile: RankingProfile

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
        )

    def retrieve(
        self, vector: NDArray[np.float32], lanes: Mapping[str, Executor], deadline_seconds: float
    ) -> Retrieved:
        """Stage 3, on the channels of the profile, in mode dense on that one; a missing one is counted."""
        question, generation, constants = self.question, self.served.generation, self.profile.retrieve
        searches = {
            DENSE: partial(
                dense,
                vector,
                question.selection,
                vectors=generation.vectors,
                signals=generation.signals,
                limit=constants.dense_limit,
                now=question.now,
            ),
            LEXICAL: partial(
                lexical,
                question.query,
                question.selection,
                lexicon=generation.lexicon,
                signals=generation.signals,
                limit=constants.lexical_limit,
                weights=self.served.field_weights(constants.fields),
                now=question.now,
            ),
        }
        asked = (DENSE,) if question.mode == "dense" else constants.channels
        lead = ClearLead(constants.auto_half_score, constants.auto_top, constants.auto_lead)
        retrieved = retrieve(
            {channel: searches[channel] for channel in asked},
            lanes=lanes,
            deadline_seconds=deadline_seconds,
            clear_lead=lead if question.mode == "auto" else None,
        )
        for channel in retrieved.degraded:
            RECALL_DEGRADED.labels(channel).inc()
        return retrieved if DENSE in asked else replace(retrieved, lexical_alone=True)

    def fuse(self, retrieved: Retrieved, vector: NDArray[np.float32], way: Route) -> Pool:
        """Stage 4, with exact cosines."""
        constants = self.profile.fuse
        return fuse(
            retrieved,
            cosines=partial(self.served.generation.signals.cosines, vector),
            form=constants.form,
            weights=constants.weights_for(way.intents),
            k=constants.k,
            rank_bonuses=constants.rank_bonuses,
            lexical_limit=self.profile.retrieve.lexical_limit,
        )

    def expand(self, pool: Pool, vector: NDArray[np.float32], way: Route) -> Pool:
        """Stage 5; mode dense and profiles without a graph return the pool as it is."""
        constants, generation = self.profile.expand, self.served.generation
        if not constants.enabled or self.question.mode == "dense":
            return pool
        selection = self.question.selection
        return expand(
            pool,
            self.served.named_nodes(selection.tenant_id, way.names),
            graph=self.served.adjacency,
            memories=self.served.memories,
            cosines=partial(generation.signals.cosines, vector),
            visible=partial(
                visible,
                signals=generation.signals,
                vectors=generation.vectors,
                selection=selection,
                now=self.question.now,
            ),
            kind_factors=self.served.kind_factors(constants.edges),
            newcomers=constants.newcomers if "multi_hop" in way.intents else constants.newcomers_quiet,
            **constants.model_dump(exclude={"enabled", "edges", "newcomers", "newcomers_quiet"}),
        )

    def rank(self, pool: Pool, way: Route) -> Ranked:
        """Stage 6."""
        project = self.question.project_id
        return rank(
            pool,
            traits(self.served.generation.signals, pool.ordinals),
            way,
            now=self.question.now,
            constants=self.profile.rank,
            type_names=self.served.type_names,
            project_code=code(project) if project else None,
        )

    def diversify(self, ranked: Ranked, pool: Pool, way: Route) -> Ranked:
        """Stage 7, over the best candidates."""
        constants, signals = self.profile.diversify, self.served.generation.signals
        count = self.question.top_k or self.profile.top_k
        candidates = ranked.first(max(constants.candidates, 2 * count))
        covering = "aggregation" in way.intents and constants.session_floor <= 1
        ordinals = pool.ordinals[candidates.positions]
        return diversify(
            candidates,
            minhashes=signals.minhash(ordinals),
            vectors=signals.vectors(ordinals),
            sessions=signals.session_code[ordinals],
            count=count,
            near_duplicate=constants.near_duplicate,
            mmr_lambda=constants.mmr_lambda,
            session_floor=constants.session_floor if covering else None,
        )

    def fetch(self, ranked: Ranked, pool: Pool) -> tuple[RecalledRow, ...]:
        """The rows of the chosen, best first; each is checked once more against the caller's scope."""
        generation = self.served.generation
        ordinals = pool.ordinals[ranked.positions]
        stored = generation.vectors.take(ordinals, columns=STORED_COLUMNS).to_pylist()
        by_ordinal = {row["ordinal"]: row for row in completed(stored, generation.signals)}
        fetched = []
        for position, ordinal, score in zip(ranked.positions, ordinals.tolist(), ranked.scores, strict=True):
            row = by_ordinal.get(ordinal)
            if row is None or row["hidden"] or not self.question.selection.admits(row):
                _log.error("row_withheld", ordinal=ordinal, generation=generation.manifest.generation)
                continue
            entities = tuple(generation.graph.entities_of(ordinal))
            cosine = float(pool.cosine[position])
            fetched.append(RecalledRow(row, entities, float(score), cosine, pool.channels_of(position)))
        return tuple(fetched)

    def pack(self, rows: tuple[RecalledRow, ...]) -> Packed:
        """Stage 8, counted by the generation's own tokenizer."""
        return pack(
            [
                Entry(row["memory_id"], heading(row), row["text"], row["token_count"])
                for row in (found.row for found in rows)
            ],
            token_budget=self.question.token_budget or self.profile.token_budget,
            count_tokens=self.served.encoder.count_tokens,
        )


def heading(row: Mapping[str, Any]) -> str:
    """Date, and title or speaker, as they stand behind a citation number."""
    parts = [f"{row['occurred_at']:%Y-%m-%d}", row["speaker"] or row["role"], row["title"]]
    return ", ".join(part for part in parts if part)
