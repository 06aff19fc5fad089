"""What one caller may see of a generation, at one moment: the predicate every memory passes.

From the signal columns, by candidate and never by corpus. The engines filter by the same selection where
that is cheaper; nothing reaches an answer that has not passed here. An access list is read from the line
of a memory, once for every different one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_memory.memory_types import MEMORY_TYPES
from helix_query.recall.columns import NONE
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.filter.versions import Versions
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.signals.columns import NO_TIME, code
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
        return replace(self, selection=replace(self.selection, types=()))

    def alive(self, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which memories are recalled at the moment: not hidden, valid already and still, not expired.

        Of a past moment as it was known then: created by then, and what was superseded or expired since was
        not hidden yet (ops/decisions/0011).
        """
        signals, moment = self.signals, microseconds(self.moment)
        living = ~signals.hidden[ordinals]
        if self.past is not None:
            living |= self.past.current(ordinals, moment)
            living &= signals.created_at[ordinals] <= moment
        # NO_TIME is the least integer, so a missing start has always begun.
        living &= signals.valid_from[ordinals] <= moment
        for ends in (signals.valid_to[ordinals], signals.expires_at[ordinals]):
            living &= (ends == NO_TIME) | (ends > moment)
        return living

    def sees(self, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which memories are alive, inside the selection and open to the caller."""
        seen = self.alive(ordinals) & self._is_selected(ordinals)
        seen &= np.isin(self.signals.owner_code[ordinals], [code(owner) for owner in self.selection.owners])
        return self._without_closed(ordinals, seen)

    def _is_selected(self, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether tenant, type, project, session and event time are selected."""
        signals, selection = self.signals, self.selection
        selected: NDArray[np.bool_] = signals.tenant_code[ordinals] == code(selection.tenant_id)
        kinds = [MEMORY_TYPES.index(kind) for kind in selection.types]
        for column, chosen in (
            (signals.type_code, kinds),
            (signals.project_code, [code(name) for name in selection.project_ids]),
            (signals.session_code, [code(name) for name in selection.session_ids]),
        ):
            if chosen:
                selected &= np.isin(column[ordinals], chosen)
        if selection.event_after is None and selection.event_before is None:
            return selected
        started = signals.event_start[ordinals]
        event_at = np.where(started == NO_TIME, signals.occurred_at[ordinals], started)
        if selection.event_after is not None:
            selected &= event_at >= microseconds(selection.event_after)
        if selection.event_before is not None:
            selected &= event_at < microseconds(selection.event_before)
        return selected

    def _without_closed(self, ordinals: NDArray[np.int64], seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """`seen` without the memories whose access list names none of the caller's principals."""
        codes = self.signals.audience_code[ordinals]
        listed = np.flatnonzero(seen & (codes != 0))
        if not len(listed):
            return seen
        distinct, first = np.unique(codes[listed], return_index=True)
        principals = set(self.selection.audiences)
        opened = [
            not principals.isdisjoint(line["audience"])
            for line in self.signals.lines(ordinals[listed[first]])
        ]
        seen[listed] = np.isin(codes[listed], distinct[opened])
        return seen


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
