"""Min-max normalisation over the candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helix_memory import arithmetic
from helix_query.recall.relevance import Signal

if TYPE_CHECKING:
    from numpy.typing import NDArray


def normalised_signal(values: NDArray[np.floating], *, flat: float = 0.0, least_span: float = 0.0) -> Signal:
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
    """The normalised values of `normalised_signal` alone."""
    return normalised_signal(values, flat=flat, least_span=least_span).normal
