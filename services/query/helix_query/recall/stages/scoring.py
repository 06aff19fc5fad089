"""The scores of stage 6, with all their components by name.

`rank` orders by them and an explanation shows them; `helix_memory.explanation` repeats them to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from helix_memory.arithmetic import ADD, MULTIPLY, product, stepped

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from helix_query.recall.candidates import StandardGains
    from helix_query.recall.relevance import BaseScore, Factors, Relevance, Signal


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the score so far, by candidate."""

    name: str
    operation: str
    """`MULTIPLY` or `ADD` of `helix_memory.arithmetic`."""
    values: NDArray[np.float64]


@dataclass(slots=True)
class ScoreBuilder:
    """Scores that are changed step by step; the next step may depend on the scores so far."""

    scores: NDArray[np.float64]
    steps: list[Step] = field(default_factory=list)

    def times(self, name: str, factor: NDArray[np.float64]) -> None:
        """Multiply."""
        self._step(Step(name, MULTIPLY, factor))

    def plus(self, name: str, gain: NDArray[np.float64]) -> None:
        """Add."""
        self._step(Step(name, ADD, gain))

    def _step(self, step: Step) -> None:
        self.scores = stepped(self.scores, step.operation, step.values)
        self.steps.append(step)


@dataclass(frozen=True, slots=True)
class Scoring:
    """Final scores of the candidates, and how they came about.

    scores = relevance x (product of the boosts), then every step in its order.
    """

    base_score: BaseScore
    fused_share: float
    """Share of the normalised fused score in `sim`; the rest is the normalised cosine."""
    steps: tuple[Step, ...]
    scores: NDArray[np.float64]
    reached: NDArray[np.bool_]
    """Whether a candidate reaches the threshold of the ranking profile."""
    sequence: NDArray[np.int64]
    """Position of a candidate's event in the log, by which equal scores are ordered: a rebuild keeps it."""
    interaction_gains: StandardGains | None = None
    """What late interaction added; None: it compared no candidate."""
    cross_gains: StandardGains | None = None
    """What the cross-encoder added; None: it compared no candidate."""

    @property
    def signals(self) -> Mapping[str, Signal]:
        """The normalised signals by name."""
        return self.base_score.signals

    @property
    def relevance(self) -> Relevance:
        """Relevance before all boosts and steps."""
        return self.base_score.relevance

    @property
    def boosts(self) -> Factors:
        """The boosts by name."""
        return self.base_score.boosts

    def weight(self, signal: str, position: int) -> float:
        """Weight of a signal: of fused and cosine in sim, of the others in relevance; 0: unused."""
        if signal == "fused":
            return self.fused_share
        if signal == "cosine":
            return 1.0 - self.fused_share
        weights = self.relevance.weights.get(signal)
        return 0.0 if weights is None else float(weights[position])


def boosted(base: BaseScore) -> ScoreBuilder:
    """The scores before all steps: relevance times the product of the boosts."""
    return ScoreBuilder(base.relevance.values * product(base.boosts.values()))
