"""Which ordinals were known at a moment, for the lexicon, which knows no times of creation.

Ordinals are given in order of arrival, so all but a few rise with their time of creation: those are a
range, and the few (an event that came back from the dead letters, two workers that overtook each
other) are named one by one. Made once per generation, by the first recall with `as_of`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_shared.artifacts.lexicon.query import OrdinalSet
from helix_shared.artifacts.signals.columns import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_NAMED: Final = 4_096
"""Beyond, the range is widened to hold them all: too wide costs candidates, which `alive` still drops."""


@dataclass(frozen=True, slots=True)
class AsOfIndex:
    """Times of creation in microseconds since 1970, as far as they tell what was known when."""

    latest: NDArray[np.int64]
    """By ordinal: the latest creation up to it."""
    stragglers: NDArray[np.int64]
    """Ordinals created before one of a lower ordinal."""
    created_at: NDArray[np.int64]
    """When the stragglers were created."""

    @classmethod
    def of(cls, created_at: NDArray[np.int64]) -> Self:
        """From the creation by ordinal; `NO_TIME` where there is no memory."""
        latest = np.maximum.accumulate(created_at) if len(created_at) else created_at
        late = np.flatnonzero((created_at < latest) & (created_at != NO_TIME))
        return cls(latest, late, created_at[late])

    def created_by(self, moment: int) -> OrdinalSet:
        """At least all that were created by `moment`; exactly those while stragglers are few."""
        below = int(np.searchsorted(self.latest, moment, side="right"))
        also = self.stragglers[(self.created_at <= moment) & (self.stragglers >= below)]
        if len(also) > MOST_NAMED:
            return OrdinalSet(int(also[-1]) + 1)
        return OrdinalSet(below, tuple(also.tolist()))
