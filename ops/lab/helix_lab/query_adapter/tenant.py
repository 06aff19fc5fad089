"""One tenant of a data folder, asked with one adapter or another; the stages are the query service's own.

Every question is asked by whom the feedback names, so nothing is learned from a memory that its asker cannot
recall. Which memories answer is told by the code of their source: a derived statement stands for its turn.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from helix_lab.query_adapter.feedback import AskedQuestion
from helix_lab.query_adapter.fit import require_own_codes
from helix_lab.query_adapter.observations import COMPARED, Observation, observation
from helix_lab.sets.direct import CHANNEL_SECONDS
from helix_query.generations.installed_model import installed_encoder
from helix_query.generations.snapshot import Snapshot
from helix_query.profile.adapter import adapter_for
from helix_query.profile.overrides import with_constants
from helix_query.profile.profile import RankingProfile
from helix_query.recall.channels import LANES
from helix_query.recall.context import RecallContext
from helix_query.recall.packing.rows import stored_rows
from helix_query.recall.query import Query
from helix_query.recall.recall import recall
from helix_query.recall.routing.centroids import centroids_of
from helix_query.recall.stages.embed import EmbeddedQuery, embed
from helix_query.recall.stages.retrieve import retrieve
from helix_query.recall.stages.route import route_query
from helix_query.scheduling.worker_threads import WorkerThreads
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.artifacts.signals.columns import code
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.query_adapter import QueryAdapter
from helix_shared.encoders.token_codes import CODE_BITS, QueryTokens
from helix_shared.errors import NotFoundError

DEPTH: Final = 10
"""Memories of a recall that are judged."""
SAMPLED_MEMORIES: Final = 20_000
"""Memories of a tenant from which predicted questions are drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class TenantQuestion:
    """A question with what its search found."""

    asked: AskedQuestion
    tokens: QueryTokens
    """Without an adapter."""
    seen: Observation
    memories: tuple[str, ...]
    """Ids of the observed candidates."""
    relevant: frozenset[int]
    """Codes of the sources that answer it."""


@dataclass(frozen=True, slots=True)
class TenantCorpus:
    """Asks one tenant of one generation; not safe for several threads."""

    snapshot: Snapshot
    profile: RankingProfile
    tenant_id: str
    lanes: Mapping[str, Executor]
    clock: datetime
    package: QueryAdapter
    """The adapter of the package, in the numbers of the projection; of a model that it was not fitted
    for, one that moves nothing."""

    def question(self, asked: AskedQuestion) -> TenantQuestion | None:
        """The question with its candidates; None: its answers are gone, or there is nothing to compare.

        Candidates are the helpful and unhelpful memories and the nearest others that the channels find.
        """
        plain = with_constants(self.profile, {"embed.adapted": False})
        context = RecallContext.of(self._query(asked), self.snapshot, plain)
        helpful, unhelpful = (self._visible(context, ids) for ids in (asked.helpful, asked.unhelpful))
        embedded = embed(context)
        route = route_query(context, embedded.plain)
        if not len(helpful) or embedded.tokens is None:
            return None
        context = context.of_route(route)
        retrieved = retrieve(context, embedded, route, self.lanes, CHANNEL_SECONDS)
        signals = self.snapshot.generation.signals
        found = np.unique(np.concatenate([one.hits.ordinals for one in retrieved.rankings]))
        cosines = signals.cosines(self.package.vector(embedded.vector), found)
        nearest = found[np.argsort(-cosines, kind="stable")[:COMPARED]]
        ordinals = np.unique(np.concatenate([nearest, helpful, unhelpful]))
        answers = np.isin(signals.source_code[ordinals], signals.source_code[helpful])
        seen = observation("feedback", self.tenant_id, context, embedded.tokens, ordinals, answers)
        if seen is None:
            return None
        ids = tuple(line["memory_id"] for line in signals.records(ordinals))
        relevant = frozenset(signals.source_code[helpful].tolist())
        return TenantQuestion(asked, embedded.tokens, seen, ids, relevant)

    def ranking(self, question: TenantQuestion, adapter: QueryAdapter) -> tuple[int, ...]:
        """Codes of the sources that a whole recall returns with an adapter, best first."""
        context = RecallContext.of(self._query(question.asked), self.snapshot, self.profile)
        moved = adapter.tokens(question.tokens)
        embedded = EmbeddedQuery(moved.vector, question.tokens.vector, moved)
        result = recall(
            context, lanes=self.lanes, channel_deadline_seconds=CHANNEL_SECONDS, embedded=embedded
        )
        ordinals = np.array([row.row["ordinal"] for row in result.rows], np.int64)
        return tuple(dict.fromkeys(self.snapshot.generation.signals.source_code[ordinals].tolist()))

    def predicted(self, *, most: int) -> list[AskedQuestion]:
        """Predicted questions (doc2query) of memories that everybody may recall, one of each."""
        signals = self.snapshot.generation.signals
        sample = signals.tenant_sketches.sample(code(self.tenant_id), SAMPLED_MEMORIES)
        context = RecallContext.of(self._query(AskedQuestion.of("-")), self.snapshot, self.profile)
        sample = np.sort(sample[context.visibility.is_visible(sample)])
        rows = stored_rows(self.snapshot, sample[:: 1 + len(sample) // (2 * most)], context.visibility)
        ids = [row["memory_id"] for row in rows if context.query.selection.admits(row)]
        found = self.snapshot.generation.vectors.find(ids, ["memory_id", "expansions"]).to_pylist()
        predicted = {row["memory_id"]: row["expansions"] for row in found}
        return [AskedQuestion.of(predicted[one][0], one) for one in ids if predicted.get(one)][:most]

    def holds(self, memory_ids: Collection[str]) -> bool:
        """Whether the generation still has all these memories, hidden ones included."""
        return len(self.snapshot.ordinals_of([*memory_ids])) == len(memory_ids)

    def _query(self, asked: AskedQuestion) -> Query:
        selection = Selection(self.tenant_id, asked.user_id, asked.principals)
        return Query(asked.text, selection, self.clock, self.clock, top_k=DEPTH, never_skip=True)

    def _visible(self, context: RecallContext, memory_ids: frozenset[str]) -> NDArray[np.int64]:
        """Ordinals of the named memories that the asker can recall now, ascending."""
        ordinals = self.snapshot.ordinals_of(sorted(memory_ids))
        rows = stored_rows(self.snapshot, np.sort(ordinals), context.visibility)
        selection = context.query.selection
        return np.sort(np.array([row["ordinal"] for row in rows if selection.admits(row)], np.int64))


@contextlib.contextmanager
def open_tenant(root: Path, models: Path, tenant_id: str, profile: RankingProfile) -> Iterator[TenantCorpus]:
    """The newest generation in a data folder, for one tenant.

    Raises:
        NotFoundError: there is no generation, or its model is not installed under `models`.
        InvalidInputError: its token codes are of a second model.
    """
    number = current_number(root)
    if number is None:
        raise NotFoundError(f"no generation in {root}: name the home of the tenant with --home")
    with contextlib.ExitStack() as held:
        generation = held.enter_context(contextlib.closing(Generation.open(root, number)))
        encoder = held.enter_context(installed_encoder(generation.manifest, models))
        require_own_codes(encoder.card)
        package = adapter_for(encoder) or _unmoved(encoder)
        lanes = {channel: WorkerThreads(1, name=f"fit-{channel}") for channel in LANES}
        for lane in lanes.values():
            held.callback(lane.shutdown, wait=False)
        snapshot = Snapshot(generation, encoder, centroids_of(encoder))
        yield TenantCorpus(snapshot, profile, tenant_id, lanes, datetime.now(UTC), package)


def _unmoved(encoder: Encoder) -> QueryAdapter:
    matrix, size = encoder.required_projection().matrix, encoder.card.dimensions
    zeros = np.zeros((size, size), np.float32), np.zeros((CODE_BITS, CODE_BITS), np.float32)
    return QueryAdapter(encoder.card.encoder_checksum, *zeros, matrix)
