"""The rank of a memory in a channel that did not find it: one deeper, bounded search of each channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.sections.section import DENSE
from helix_query.recall.channels.dense import DenseChannel, search_plan
from helix_query.recall.channels.lexical import LexicalChannel
from helix_query.recall.stages.embed import embed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.section import Channel
    from helix_query.recall.candidates import Route
    from helix_query.recall.context import RecallContext
    from helix_shared.artifacts.hits import Hits

SEARCH_DEPTH: Final = 2_000
"""Twice the most candidates a ranking profile may ask for."""


@dataclass(frozen=True, slots=True)
class ChannelRank:
    """The rank of a memory in one channel."""

    channel: Channel
    rank: int
    """1 is best; memories the caller has do not count. 0: deeper than was searched, or no match."""
    score: float
    limit: int
    is_searched: bool
    """Whether the recall searches this channel."""
    least_score: float | None
    """Score of the last hit within the limit; None: there were fewer."""


def channel_ranks(context: RecallContext, route: Route, ordinal: int) -> tuple[ChannelRank, ...]:
    """In the dense and the lexical channel; the dense score is always the exact cosine."""
    context = context.of_route(route)
    vector, served = embed(context).vector, context.already_served.value
    cosine = float(context.generation.signals.cosines(vector, np.array([ordinal], np.int64))[0])
    searched = (DENSE,) if context.query.mode == "dense" else context.profile.retrieve.channels
    plan = search_plan(context, context.query.text, lambda: vector, route.intents, limit=SEARCH_DEPTH)
    found = []
    for channel in (DenseChannel(), LexicalChannel()):
        hits, limit = channel.search(context, plan), context.limit_of(channel.name)
        rank, score = _rank(hits, ordinal, served)
        new = np.flatnonzero(~np.isin(hits.ordinals, served))
        least = float(hits.scores[new[limit - 1]]) if len(new) >= limit else None
        exact = cosine if channel.name == DENSE else score
        found.append(ChannelRank(channel.name, rank, exact, limit, channel.name in searched, least))
    return tuple(found)


def _rank(hits: Hits, ordinal: int, served: NDArray[np.int64]) -> tuple[int, float]:
    rows = np.flatnonzero(hits.ordinals == ordinal)
    if not len(rows):
        return 0, 0.0
    row = int(rows[0])
    before = np.count_nonzero(~np.isin(hits.ordinals[:row], served))
    return int(before) + 1, float(hits.scores[row])
