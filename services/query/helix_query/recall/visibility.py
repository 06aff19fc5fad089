"""What one caller may see of a generation, at one moment: the predicate every memory passes.

From the signal columns, by candidate and never by corpus. The engines filter by the same selection where
that is cheaper; nothing reaches an answer that has not passed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_query.recall.columns import NONE
from helix_shared.artifacts.filter.as_of import AsOf
from helix_shared.artifacts.filter.filters import Types
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.filter.versions import Versions
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.generation.reader import Generation

Mask = Callable[["NDArray[np.int64]"], "NDArray[np.bool_]"]

REACH: Final = 4
"""How much deeper an engine is asked when memories out of sight took places of others."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """One caller's view; `past` is there when the moment is a past one."""

    selection: Selection
    signals: Signals
    moment: datetime
    past: Versions | None = None

    @classmethod
    def of(cls, generation: Generation, selection: Selection, now: datetime) -> Self:
        """The view at `now`, the server's moment, or at the moment the selection names."""
        if selection.as_of is None:
            return cls(selection, generation.signals, now)
        return cls(selection, generation.signals, selection.as_of, generation.vectors.versions)

    def of_all_types(self) -> Self:
        """The same view without the choice of types: for what stands around a memory."""
        return replace(self, selection=self.selection.without(Types))

    def alive(self, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which memories are recalled at the moment: not hidden, valid already and still, not expired.

        Of a past moment as it was known then: created by then, and what was superseded or expired since was
        not hidden yet (ops/decisions/0011).
        """
        signals, moment = self.signals, microseconds(self.moment)
        if self.past is None:
            living = ~signals.hidden[ordinals]
        else:
            living = AsOf(self.moment).mask(signals, self.past, ordinals)
        # NO_TIME is the least integer, so a missing start has always begun.
        living &= signals.valid_from[ordinals] <= moment
        for ends in (signals.valid_to[ordinals], signals.expires_at[ordinals]):
            living &= (ends == NO_TIME) | (ends > moment)
        return living

    def sees(self, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which memories are alive, inside the selection and open to the caller."""
        return self.selection.among(self.signals, ordinals, self.alive(ordinals))


def seen_hits(
    search: Callable[[int], Hits], sees: Mask, *, limit: int, already: NDArray[np.int64] = NONE
) -> Hits:
    """The `limit` best hits that pass `sees`; asks once more, deeper, when others took their places.

    Those of `already`, which the caller has, stay among the hits but are not counted.
    """
    asked = limit + min(len(already), limit)
    hits = search(asked)
    seen = sees(hits.ordinals)
    if len(hits) == asked and np.count_nonzero(_counted(hits, seen, already)) < limit:
        hits = search((limit if seen.all() else limit * REACH) + len(already))
        seen = sees(hits.ordinals)
    return first_seen(hits, seen, limit=limit, already=already)


def first_seen(hits: Hits, seen: NDArray[np.bool_], *, limit: int, already: NDArray[np.int64] = NONE) -> Hits:
    """The hits that are seen, until there are `limit` of them beside those of `already`."""
    counted = _counted(hits, seen, already)
    kept = seen & (np.cumsum(counted) - counted < limit)
    return Hits(hits.ordinals[kept], hits.scores[kept])


def _counted(hits: Hits, seen: NDArray[np.bool_], already: NDArray[np.int64]) -> NDArray[np.bool_]:
    return seen & ~np.isin(hits.ordinals, already) if len(already) else seen
