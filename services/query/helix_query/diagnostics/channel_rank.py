"""How far down a channel a memory stands that was not found: one deeper, bounded search of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.recall.binding import Binding
from helix_query.recall.candidates import DENSE, LEXICAL

if TYPE_CHECKING:
    from helix_query.diagnostics.replays import Replay
    from helix_query.generations.snapshot import Snapshot
    from helix_shared.artifacts.hits import Hits

SEARCHED: Final = 2_000
"""Twice the most candidates a ranking profile may ask for."""


@dataclass(frozen=True, slots=True)
class ChannelRank:
    """Where a memory stands in one channel."""

    channel: str
    rank: int
    """1 is best; what the caller has already is not counted. 0: deeper than was searched, or no match."""
    score: float
    limit: int
    asked: bool
    """Whether the question and its ranking profile ask this channel."""
    least_score: float | None
    """Of the last within the limit; None: there were fewer."""


def channel_ranks(replay: Replay, snapshot: Snapshot) -> tuple[ChannelRank, ...]:
    """The dense and the lexical channel; the dense score is always the true cosine."""
    stages = Binding(replay.query, snapshot, replay.profile)
    vector, already = stages.embed(), stages.already.value
    searches = stages.searches(vector, replay.answer.route)
    ordinal = replay.row["ordinal"]
    cosine = float(snapshot.generation.signals.cosines(vector, np.array([ordinal], np.int64))[0])
    asked = (DENSE,) if replay.query.mode == "dense" else replay.profile.retrieve.channels
    found = []
    for channel in (DENSE, LEXICAL):
        hits, limit = searches.deeper(channel, SEARCHED), searches.limit_of(channel)
        rank, score = _place(hits, ordinal, already)
        fresh = np.flatnonzero(~np.isin(hits.ordinals, already))
        least = float(hits.scores[fresh[limit - 1]]) if len(fresh) >= limit else None
        true_score = cosine if channel == DENSE else score
        found.append(ChannelRank(channel, rank, true_score, limit, channel in asked, least))
    return tuple(found)


def _place(hits: Hits, ordinal: int, already: np.ndarray) -> tuple[int, float]:
    rows = np.flatnonzero(hits.ordinals == ordinal)
    if not len(rows):
        return 0, 0.0
    row = int(rows[0])
    before = np.count_nonzero(~np.isin(hits.ordinals[:row], already))
    return int(before) + 1, float(hits.scores[row])
