"""Which memories existed, or had occurred, at a past moment; the lexicon stores neither of these times.

Ordinals are assigned in order of arrival, so nearly all ascend with their creation time and form a range.
The few stragglers (redelivered dead letters, events that overtook each other) are listed one by one, the many
of an imported history as runs. Built once a generation and time, by the first recall with `as_of` or
`valid_at`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_shared.artifacts.lexicon.query import OrdinalSet
from helix_shared.artifacts.signals.columns import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_STRAGGLERS: Final = 4_096
"""More are listed as runs of ordinals."""
MAX_RUNS: Final = 8
"""More are joined over the smallest gaps: that costs candidates, which `Visibility` drops later."""


@dataclass(frozen=True, slots=True)
class AsOfIndex:
    """Times in microseconds since 1970, compressed to a running maximum and its exceptions."""

    latest: NDArray[np.int64]
    """By ordinal: the latest time up to it."""
    stragglers: NDArray[np.int64]
    """Ordinals with an earlier time than a lower ordinal."""
    times: NDArray[np.int64]
    """Times of the stragglers."""

    @classmethod
    def of(cls, times: NDArray[np.int64]) -> Self:
        """From times by ordinal; `NO_TIME` where there is no memory."""
        latest = np.maximum.accumulate(times) if len(times) else times
        late = np.flatnonzero((times < latest) & (times != NO_TIME))
        return cls(latest, late, times[late])

    def by(self, moment: int) -> OrdinalSet:
        """The ordinals whose time is at or before `moment`; a superset if there are too many stragglers.

        Imported events are stragglers in the order of their times, so they form few runs.
        """
        below, also = self.exactly_by(moment)
        if len(also) > MAX_STRAGGLERS:
            return OrdinalSet(below, runs=_runs(also))
        return OrdinalSet(below, tuple(also.tolist()))

    def exactly_by(self, moment: int) -> tuple[int, NDArray[np.int64]]:
        """End of the range of ordinals whose times are all at or before `moment`, and the other ordinals."""
        below = int(np.searchsorted(self.latest, moment, side="right"))
        return below, self.stragglers[(self.times <= moment) & (self.stragglers >= below)]


def _runs(ordinals: NDArray[np.int64]) -> tuple[tuple[int, int], ...]:
    """First and last of at most `MAX_RUNS` runs that hold `ordinals`, ascending, and few others."""
    gaps = np.diff(ordinals)
    ends = np.sort(np.argsort(-gaps, kind="stable")[: MAX_RUNS - 1])
    ends = ends[gaps[ends] > 1]
    firsts, lasts = ordinals[np.append(0, ends + 1)], ordinals[np.append(ends, -1)]
    return tuple(zip(firsts.tolist(), lasts.tolist(), strict=True))
