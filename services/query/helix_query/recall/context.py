"""The read-only context of one recall, which every stage may read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from helix_query.profile.past_question import PastQuestion
from helix_query.recall.query_adapter import AppliedAdapter, adapter_of
from helix_query.recall.query_words import QueryWords
from helix_query.recall.routing.rules import intents_by_rule
from helix_query.recall.visibility import Visibility
from helix_query.scheduling.lazy import Lazy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot
    from helix_query.profile.intent import Intent
    from helix_query.profile.profile import RankingProfile
    from helix_query.profile.sections.section import Channel
    from helix_query.recall.candidates import Route
    from helix_query.recall.query import Query
    from helix_shared.artifacts.generation.reader import Generation


@dataclass(frozen=True, slots=True)
class RecallContext:
    """One query on one generation with one ranking profile."""

    query: Query
    snapshot: Snapshot
    profile: RankingProfile
    visibility: Visibility
    already_served: Lazy[NDArray[np.int64]]
    """Ordinals of the memories the caller has."""
    rule_intents: Lazy[tuple[Intent, ...]]
    """Intents that the words of the query show; two stages ask for them."""
    query_words: Lazy[QueryWords]
    """Words of the query, to look for in single memories; two stages ask for them."""
    adapter: Lazy[AppliedAdapter]
    """What moves the query: one for the whole recall, also if another is published meanwhile."""
    deadline: float = math.inf
    """A moment of the monotonic clock; no wait goes past it."""

    @classmethod
    def of(
        cls, query: Query, snapshot: Snapshot, profile: RankingProfile, *, deadline: float = math.inf
    ) -> Self:
        """The context of one recall.

        Raises:
            InvalidInputError: the profile compares codes that are not those of the generation.
        """
        profile.rerank.require_codes(profile.name, snapshot.encoder.card)
        moving = query.selection, snapshot.encoder, snapshot.learned_adapters, profile.embed
        # No field refers to the context: a reference cycle would keep the generation open after its swap.
        return cls(
            query,
            snapshot,
            profile,
            Visibility.of(snapshot.generation, query.selection, query.clock),
            Lazy(partial(snapshot.ordinals_of, query.already_served), until=deadline),
            Lazy(partial(intents_by_rule, query.text), until=deadline),
            Lazy(partial(QueryWords.of, query.text, query.selection, snapshot.generation), until=deadline),
            Lazy(partial(adapter_of, *moving), until=deadline),
            deadline,
        )

    def sequences_of(self, ordinals: NDArray[np.int64]) -> NDArray[np.integer[Any]]:
        """Positions of `ordinals` in the log, by which equal scores go: a rebuild keeps them."""
        sequences: NDArray[np.integer[Any]] = self.generation.signals.stream_sequence[ordinals]
        return sequences

    def of_route(self, route: Route) -> Self:
        """The context of the stages after `route`: of earlier times, replaced memories are visible (0051).

        What was corrected was wrong, so only words that surely ask for a former thing bring it back.
        """
        if route.past_question is PastQuestion.NO:
            return self
        earlier = self.visibility.of_earlier(with_corrected=route.asks_for_former)
        return replace(self, visibility=earlier)

    @property
    def generation(self) -> Generation:
        """The artifacts of the snapshot."""
        return self.snapshot.generation

    @property
    def top_k(self) -> int:
        """Memories wanted."""
        return self.query.top_k or self.profile.top_k

    @property
    def token_budget(self) -> int:
        """Tokens of the packed context."""
        return self.query.token_budget or self.profile.token_budget

    def limit_of(self, channel: Channel) -> int:
        """Candidates asked of a channel."""
        return self.profile.retrieve.limit_of(channel, self.top_k)
