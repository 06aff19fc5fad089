"""Min-max normalisation over the candidates; a `Signal` keeps its raw values for an explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helix_memory import arithmetic

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal of the candidates: (raw - `least`) / `span`, or the same for all where `span` is 0."""

    raw: NDArray[np.float64]
    normal: NDArray[np.float64]
    least: float = 0.0
    span: float = 1.0


def signal(values: NDArray[np.floating], *, flat: float = 0.0, least_span: float = 0.0) -> Signal:
    """The signal min-max normalised over the candidates, 0 to 1.

    Where values differ by no more than `least_span`, all become `flat` (0: the signal does not count).
    """
    exact = values.astype(np.float64)
    least, most = (float(exact.min()), float(exact.max())) if len(exact) else (0.0, 0.0)
    span = most - least
    if span <= least_span:
        return Signal(exact, np.full(len(exact), flat), least=0.0, span=0.0)
    return Signal(exact, arithmetic.normalised(exact, least, span), least, span)


def normalise(
    values: NDArray[np.floating], *, flat: float = 0.0, least_span: float = 0.0
) -> NDArray[np.float64]:
    """The normalised values of `signal` alone."""
    return signal(values, flat=flat, least_span=least_span).normal
