"""The values of stage 6 before the steps of the scores: signals, relevance, boosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Factors = Mapping[str, "NDArray[np.float64]"]


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal of the candidates: (raw - `least`) / `span`, or the same for all where `span` is 0."""

    raw: NDArray[np.float64]
    normal: NDArray[np.float64]
    least: float = 0.0
    span: float = 1.0


@dataclass(frozen=True, slots=True)
class Relevance:
    """Relevance before all boosts and steps, by the method of the ranking profile."""

    method: str
    values: NDArray[np.float64]
    weights: Factors
    """Weights of the candidates by signal; a signal without weights does not count."""
    graph_weight: float = 0.0
    """Method multiplicative: share of graph mass in relevance; the rest is sim."""
    quality_weight: float = 0.0
    """Method multiplicative: how much quality may add."""


@dataclass(frozen=True, slots=True)
class BaseScore:
    """What the scores are made of before all steps, none of which changes it."""

    signals: Mapping[str, Signal]
    relevance: Relevance
    boosts: Factors
