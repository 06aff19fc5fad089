"""The memories that state something about their author, and how strongly each is part of a profile.

Computed once for a generation from its columns, so a profile is a function of the memories: a forgotten,
erased or superseded one is gone with the generation that hides it. Strengths do not depend on the moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_memory.vocabulary.facets import FACETS, STATIC_FACETS
from helix_shared.moments import MICROSECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from helix_memory.vocabulary.facets import Facet
    from helix_shared.artifacts.signals.reader import Signals

_MIN_FACTOR: Final = 0.01
"""Confidence and priority count at least this much, so that logarithms stay finite."""

STABILITY: Final[Mapping[Facet, float]] = {
    "identity": 0.95,
    "background": 0.6,
    "relationship": 0.8,
    "preference": 0.85,
    "constraint": 1.0,
    "project": 0.9,
    "plan": 0.8,
    "task": 0.6,
}
"""How long a statement of the facet holds, 0 to 1: what somebody cannot eat outlasts what they like."""


@dataclass(frozen=True, slots=True)
class ProfilePart:
    """One part of a profile."""

    facets: tuple[Facet, ...]
    half_life_days: float
    """Age at which a statement is worth half."""

    @property
    def bits(self) -> int:
        """Bits of its facets in `Signals.facets`."""
        return sum(1 << FACETS.index(facet) for facet in self.facets)

    @property
    def decay(self) -> float:
        """Loss of log strength a day."""
        return float(np.log(2.0)) / self.half_life_days


STATIC: Final = ProfilePart(STATIC_FACETS, 720.0)
DYNAMIC: Final = ProfilePart(tuple(facet for facet in FACETS if facet not in STATIC_FACETS), 30.0)
PROFILE_PARTS: Final = (STATIC, DYNAMIC)


@dataclass(frozen=True, slots=True, eq=False)
class FacetIndex:
    """Arrays over all memories with facets, hidden ones included, by ascending ordinal."""

    ordinals: NDArray[np.int64]
    tenants: NDArray[np.int64]
    owners: NDArray[np.int64]
    facets: NDArray[np.uint16]
    """Their facets, as bits."""
    sequences: NDArray[np.int64]
    """Of their events: ties go to the earlier, so that a rebuilt generation gives the same profile."""
    strengths: Mapping[ProfilePart, NDArray[np.float64]]
    """Log of the score at the start of 1970; -inf for a memory without a facet of the part."""

    @classmethod
    def of(cls, signals: Signals) -> Self:
        """The index of a generation; about 100 ns a memory with facets."""
        ordinals = np.flatnonzero(signals.facets)
        worth = (
            np.maximum(signals.confidence[ordinals], _MIN_FACTOR)
            * (0.5 + signals.salience[ordinals])
            * np.maximum(signals.priority[ordinals], _MIN_FACTOR)
            * (1.0 + 0.5 * signals.pinned[ordinals])
        ).astype(np.float64)
        days = signals.occurred_at[ordinals] / MICROSECONDS_PER_DAY
        facets = signals.facets[ordinals]
        strengths = {part: _strength(part, facets, worth, days) for part in PROFILE_PARTS}
        return cls(
            ordinals,
            signals.tenant_code[ordinals],
            signals.owner_code[ordinals],
            facets,
            signals.stream_sequence[ordinals],
            strengths,
        )

    def of_owner(self, tenant: int, owner: int) -> NDArray[np.int64]:
        """Places of the memories of one tenant and owner, by their codes."""
        return np.flatnonzero((self.tenants == tenant) & (self.owners == owner))

    def scores(self, part: ProfilePart, places: NDArray[np.int64], moment: int) -> NDArray[np.float64]:
        """Scores of `places` at `moment` (microseconds), 0 without a facet of the part."""
        log_scores = self.strengths[part][places] - part.decay * moment / MICROSECONDS_PER_DAY
        scores: NDArray[np.float64] = np.exp(np.minimum(log_scores, 0.0))
        return scores


def _strength(
    part: ProfilePart, facets: NDArray[np.uint16], worth: NDArray[np.float64], days: NDArray[np.float64]
) -> NDArray[np.float64]:
    stable = np.zeros(len(facets))
    for facet in part.facets:
        has_facet = facets & np.uint16(1 << FACETS.index(facet)) != 0
        stable = np.maximum(stable, np.where(has_facet, STABILITY[facet], 0.0))
    with np.errstate(divide="ignore"):
        strength: NDArray[np.float64] = np.log(worth * stable) + part.decay * days
    return strength
