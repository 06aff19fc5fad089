"""An explanation: why each candidate was dropped, and all numbers of its score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_query.scheduling.lazy import Lazy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.result import Trace
    from helix_query.recall.stages.scoring import Scoring


class Loss(IntEnum):
    """The step that dropped a memory; the numbers are those of `recall.proto`."""

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
    SAME_TURN = 11
    RESTATEMENT = 12
    QUOTED = 13
    FORGOTTEN = 40
    ERASED = 46
    REPLACED = 41
    NOT_VALID = 42
    DECAYED = 45


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
    Loss.SAME_TURN: "diversify",
    Loss.RESTATEMENT: "diversify",
    Loss.QUOTED: "pack",
    Loss.FORGOTTEN: "retrieve",
    Loss.ERASED: "retrieve",
    Loss.REPLACED: "retrieve",
    Loss.NOT_VALID: "retrieve",
    Loss.DECAYED: "retrieve",
}


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The better candidate, by position, that a candidate repeats, and their Jaccard coefficient.

    It is a near-duplicate or a restatement of it, or the turn that it was derived from.
    """

    position: int
    similarity: float
    loss: Loss
    """Which of these it is."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """All values of every candidate, by position."""

    trace: Trace
    scoring: Scoring
    losses: NDArray[np.int64]
    """`Loss` of each."""
    places: NDArray[np.int64]
    """Rank of each by final score, 1 is best; 0: below the threshold."""
    duplicates: Mapping[int, Duplicate]
    listed: tuple[int, ...]
    """Those that are explained: all, or the first of `order`, and in its order."""
    shown: Mapping[int, tuple[str, str]]
    """Id and beginning of the text of the listed, and of what they repeat, that the caller may see; the other
    listed are withheld."""
    ranks: Mapping[str, int]
    """Rank in the answer by id."""
    threshold: float
    threshold_on: str
    k: int
    method: str
    """Method of the fusion."""
    nearest: Lazy[Mapping[int, tuple[str, ...]]]
    """By position of a compared candidate that is listed and shown: its word nearest to each of the query.

    Most replays of a WhyNot are not shown, so the texts are compared where a message asks for it."""
    query_adapter: str = ""
    """Name of the adapter that moved the query."""

    @property
    def dense_share(self) -> float | None:
        """Weight of the dense list as share of dense and lexical; None: one of them is missing."""
        inputs = self.trace.fused.fusion_inputs
        weights = {one.ranking.channel: one.weight for one in inputs if not one.ranking.words}
        if not {DENSE, LEXICAL} <= weights.keys():
            return None
        return weights[DENSE] / (weights[DENSE] + weights[LEXICAL])

    @property
    def withheld(self) -> int:
        """How many of the listed the caller may not see; above 0 only if a store is damaged."""
        return sum(position not in self.shown for position in self.listed)

    @property
    def candidate_count(self) -> int:
        """How many candidates there are, listed or not."""
        return len(self.trace.candidates) - self.withheld

    def position_of(self, memory_id: str) -> int | None:
        """Where in the candidates a memory is."""
        return next((place for place, (one, _) in self.shown.items() if one == memory_id), None)
