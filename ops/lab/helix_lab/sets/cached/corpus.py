"""One set asked with many ranking profiles; what a profile cannot change is computed once.

The stages are the query service's own. Embedding, routing and retrieval are cached by what they depend on, so
a profile that differs in fusion, graph or ranking costs a few milliseconds a question. Texts are not fetched
and nothing is packed. A test compares the rankings with those of the direct path.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from helix_lab.sets.answers import Answer, Run
from helix_lab.sets.ask import request_of
from helix_lab.sets.data import Question
from helix_lab.sets.direct import CHANNEL_SECONDS, DirectCorpus
from helix_query.api.requests import query_of
from helix_query.profile.profile import DEFAULT_PROFILE, RankingProfile
from helix_query.recall.context import RecallContext
from helix_query.recall.stages.adaptive_weights import share_features
from helix_query.recall.stages.diversify import diversify
from helix_query.recall.stages.embed import EmbeddedQuery, embed
from helix_query.recall.stages.expand import expand
from helix_query.recall.stages.fuse import fuse
from helix_query.recall.stages.rank import rank
from helix_query.recall.stages.rerank import rerank
from helix_query.recall.stages.retrieve import retrieve
from helix_query.recall.stages.route import route_after_search, route_query

if TYPE_CHECKING:
    from helix_query.recall.candidates import Retrieved, Route

TOP_K: Final = 50

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question after the stages that are cached."""

    context: RecallContext
    embedded: EmbeddedQuery
    route: Route
    retrieved: Retrieved | None = None
    """None: the router skipped the query."""

    @property
    def vector(self) -> NDArray[np.float32]:
        """Unit vector of the query."""
        return self.embedded.vector


@dataclass(frozen=True, slots=True)
class Found:
    """What the search of a question found, before fusion."""

    context: RecallContext
    embedded: EmbeddedQuery
    ordinals: NDArray[np.int64]
    """Of all channels, ascending."""
    documents: tuple[str, ...]
    """The document that each ordinal comes from."""


class CachedCorpus:
    """Asks `corpus` repeatedly; not safe for several threads."""

    def __init__(self, corpus: DirectCorpus) -> None:
        self._corpus = corpus
        self._made: dict[Hashable, Any] = {}
        self._clock = datetime.now(UTC)
        self._documents = _document_of_ordinals(corpus)

    def run(
        self, profile: RankingProfile, questions: Sequence[Question] | None = None, *, top_k: int = TOP_K
    ) -> Run:
        """Rankings of the set's answerable questions, or of `questions`."""
        asked = self._corpus.data.answerable if questions is None else questions
        answers = tuple(self._answer(profile, question, top_k) for question in asked)
        return Run(self._corpus.data.name, profile.name, answers)

    def share_features(self, profile: RankingProfile, question: Question) -> dict[str, float] | None:
        """Features of the share of the dense channel; None: the query is skipped, or a channel is missing."""
        asked = self._asked(profile, question, TOP_K)
        if asked.retrieved is None:
            return None
        ordinals = _all_found(asked.retrieved)
        cosines = asked.context.generation.signals.cosines(asked.vector, ordinals)
        return share_features(asked.context, asked.retrieved, asked.route, ordinals, cosines)

    def found(self, profile: RankingProfile, question: Question) -> Found | None:
        """What a search finds for the question, and its relevant memories; None: the query is skipped."""
        asked = self._asked(profile, question, TOP_K)
        if asked.retrieved is None:
            return None
        names = self._corpus.data.relevant[question.id]
        ordinals = np.union1d(_all_found(asked.retrieved), np.flatnonzero(np.isin(self._documents, [*names])))
        return Found(asked.context, asked.embedded, ordinals, tuple(self._documents[ordinals].tolist()))

    def _answer(self, profile: RankingProfile, question: Question, top_k: int) -> Answer:
        asked = self._asked(profile, question, top_k)
        if asked.retrieved is None:
            return Answer(question.id, (), 0.0, skipped=True)
        context, route = asked.context, asked.route
        started = time.perf_counter()
        fused = fuse(context, asked.retrieved, asked.vector, route)
        route = route_after_search(context, fused, route)
        candidates = expand(context, fused, asked.vector, route)
        candidates, ranked = rank(context, candidates, route)
        candidates, ranked = rerank(context, candidates, ranked, asked.embedded.tokens, route)
        ranked = diversify(context, ranked, candidates, route)
        milliseconds = (time.perf_counter() - started) * 1_000
        found = self._documents[candidates.ordinals[ranked.positions]].tolist()
        return Answer(question.id, tuple(dict.fromkeys(found)), milliseconds)

    def _asked(self, profile: RankingProfile, question: Question, top_k: int) -> _Asked:
        request = request_of(self._corpus.data, question, profile="", top_k=top_k)
        checked = query_of(request, profiles={DEFAULT_PROFILE}, clock=self._clock)
        context = RecallContext.of(checked, self._corpus.served, profile)
        embedded: EmbeddedQuery = self._once(
            ("embed", question.id, profile.rerank.candidates > 0, profile.embed.adapted),
            lambda: embed(context),
        )
        route: Route = self._once(
            ("route", question.id, profile.route.model_dump_json()),
            lambda: route_query(context, embedded.plain),
        )
        if route.skip:
            return _Asked(context, embedded, route)
        retrieved = self._once(
            (
                "retrieve",
                question.id,
                top_k,
                profile.embed.adapted,
                profile.retrieve.model_dump_json(),
                _read_elsewhere(profile),
                route,
            ),
            lambda: retrieve(context, embedded, route, self._corpus.lanes, CHANNEL_SECONDS),
        )
        return _Asked(context, embedded, route, retrieved)

    def _once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made


def _read_elsewhere(profile: RankingProfile) -> tuple[Hashable, ...]:
    """What searches read outside `retrieve`. The entity channel alone reads the hub cap, which is tuned."""
    hub_cap = profile.expand.hub_cap if "entity" in profile.retrieve.channels else None
    return hub_cap, profile.rank.current_min_text_coverage, profile.rank.profile_fact_gain


def _all_found(retrieved: Retrieved) -> NDArray[np.int64]:
    return np.unique(np.concatenate([one.hits.ordinals for one in retrieved.rankings]))


def _document_of_ordinals(corpus: DirectCorpus) -> np.ndarray:
    """Document id by ordinal; empty where an ordinal has no memory any more."""
    generation = corpus.served.generation
    ordinals = np.arange(generation.manifest.counts.signals, dtype=np.int64)
    documents = np.full(len(ordinals), "", dtype=object)
    for line in generation.signals.records(ordinals):
        documents[line["ordinal"]] = corpus.names[line["event_id"]]
    return documents
