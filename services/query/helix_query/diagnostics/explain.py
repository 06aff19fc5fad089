"""How an answer came about: what the stages passed on, and where each candidate was lost.

`recall` hands over the values it has anyway, so that a recall without explanation pays nothing. The
scores are asked for once more of the same pure function that ranked. `explain_reply` puts it all into
messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.recall.packing.rows import stored_rows
from helix_query.recall.stages.diversify import distinct
from helix_query.recall.stages.session_coverage import jaccard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.binding import Binding
    from helix_query.recall.candidates import Candidates, Packed, Ranked, Retrieved, Route
    from helix_query.recall.query import RecalledRow
    from helix_query.recall.stages.scoring import Scoring

EXCERPT_CHARACTERS: Final = 160


class Loss(IntEnum):
    """Where a memory was lost; the numbers are those of the contract."""

    NONE = 0
    FILTER = 1
    SKIPPED = 2
    NOT_RETRIEVED = 3
    THRESHOLD = 4
    NOT_AMONG_BEST = 5
    NEAR_DUPLICATE = 6
    TOP_K = 7
    ALREADY_SERVED = 8
    TOKEN_BUDGET = 9
    ABSTAINED = 10


STAGES: Final[Mapping[Loss, str]] = {
    Loss.NONE: "",
    Loss.FILTER: "retrieve",
    Loss.SKIPPED: "route",
    Loss.NOT_RETRIEVED: "retrieve",
    Loss.THRESHOLD: "rank",
    Loss.NOT_AMONG_BEST: "diversify",
    Loss.NEAR_DUPLICATE: "diversify",
    Loss.TOP_K: "diversify",
    Loss.ALREADY_SERVED: "diversify",
    Loss.TOKEN_BUDGET: "pack",
    Loss.ABSTAINED: "abstain",
}


@dataclass(frozen=True, slots=True)
class Trace:
    """What the stages of one recall passed on."""

    way: Route
    retrieved: Retrieved
    fused: Candidates
    pool: Candidates
    """With what the graph added; positions below are of this one."""
    ranked: Ranked
    diverse: Ranked
    """With what the caller has already."""
    chosen: Ranked
    abstained: bool = False
    """Nothing was packed, since the answer is too unlikely to be relevant."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Whose near-duplicate a candidate is, by position in the pool, and their Jaccard coefficient."""

    position: int
    likeness: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything of every candidate, by position in the pool."""

    trace: Trace
    scoring: Scoring
    losses: NDArray[np.int64]
    """`Loss` of each."""
    places: NDArray[np.int64]
    """By final score, 1 is best; 0: below the threshold."""
    duplicates: Mapping[int, Duplicate]
    shown: Mapping[int, tuple[str, str]]
    """Id and beginning of the text of those the caller may see; the others are withheld."""
    ranks: Mapping[str, int]
    """Rank in the answer by id."""
    threshold: float
    threshold_on: str
    k: int
    method: str
    """Of the fusion."""

    @property
    def order(self) -> list[int]:
        """Positions, best score first, those below the threshold at the end."""
        below = np.where(self.places == 0, 1, 0)
        return [int(one) for one in np.lexsort((self.trace.pool.ordinals, -self.scoring.scores, below))]

    def position_of(self, memory_id: str) -> int | None:
        """Where in the pool a memory is."""
        return next((place for place, (one, _) in self.shown.items() if one == memory_id), None)


def explained(trace: Trace, stages: Binding, rows: Sequence[RecalledRow], packed: Packed) -> Explanation:
    """How the answer of `rows` and `packed` came about."""
    pool, profile = trace.pool, stages.profile
    places = np.zeros(len(pool), np.int64)
    places[trace.ranked.positions] = np.arange(1, len(trace.ranked) + 1)
    duplicates = _duplicates(trace, stages)
    shown = _shown(pool, stages)
    ranks = {found.row["memory_id"]: rank for rank, found in enumerate(rows, start=1)}
    losses = _losses(trace, stages, duplicates)
    in_context = {place for place, (memory_id, _) in shown.items() if memory_id in set(packed.memory_ids)}
    losses[list(in_context)] = Loss.NONE
    return Explanation(
        trace,
        stages.scoring(pool, trace.way),
        losses,
        places,
        duplicates,
        shown,
        ranks,
        threshold=profile.rank.recipe.threshold,
        threshold_on=profile.rank.recipe.threshold_on,
        k=profile.fuse.k,
        method=profile.fuse.method,
    )


def _losses(trace: Trace, stages: Binding, duplicates: Mapping[int, Duplicate]) -> NDArray[np.int64]:
    """By position; who is among the chosen is lost at the end until it is found in the context."""
    losses = np.full(len(trace.pool), int(Loss.THRESHOLD))
    looked_at, _ = stages.looked_at(trace.ranked, trace.pool)
    losses[trace.ranked.positions] = Loss.NOT_AMONG_BEST
    losses[looked_at.positions] = Loss.TOP_K
    losses[list(duplicates)] = Loss.NEAR_DUPLICATE
    has = np.isin(trace.pool.ordinals[trace.diverse.positions], stages.already.value)
    losses[trace.diverse.positions] = np.where(has, Loss.ALREADY_SERVED, Loss.TOP_K)
    losses[trace.chosen.positions] = Loss.ABSTAINED if trace.abstained else Loss.TOKEN_BUDGET
    return losses


def _duplicates(trace: Trace, stages: Binding) -> dict[int, Duplicate]:
    """Of those looked at, who repeats a better one; also behind the last one chosen."""
    looked_at, _ = stages.looked_at(trace.ranked, trace.pool)
    threshold = stages.profile.diversify.near_duplicate
    minhashes = stages.served.generation.signals.minhash(trace.pool.ordinals[looked_at.positions])
    kept = distinct(minhashes, threshold=threshold, enough=len(looked_at))
    found = {}
    for row in np.setdiff1d(np.arange(len(looked_at)), kept).tolist():
        better = kept[kept < row]
        likeness = jaccard(minhashes[better], minhashes[row])
        most = int(np.argmax(likeness))
        position = int(looked_at.positions[better[most]])
        found[int(looked_at.positions[row])] = Duplicate(position, float(likeness[most]))
    return found


def _shown(pool: Candidates, stages: Binding) -> dict[int, tuple[str, str]]:
    """Id and beginning of the text by position, after the same last check as the rows of an answer."""
    selection = stages.question.selection
    rows = stored_rows(stages.served, pool.ordinals, stages.view)
    positions = {ordinal: position for position, ordinal in enumerate(pool.ordinals.tolist())}
    return {
        positions[row["ordinal"]]: (row["memory_id"], row["text"][:EXCERPT_CHARACTERS])
        for row in rows
        if selection.admits(row)
    }
