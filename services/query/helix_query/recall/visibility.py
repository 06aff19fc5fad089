"""Visibility: which memories of a generation one caller may see at one moment. All recalled ones pass it.

It reads the signal columns of the candidates, never of the whole corpus. The engines filter by the same
selection where that is cheaper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_shared.artifacts.filter.filters import Types, WithFlags
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.filter.versions import Versions
from helix_shared.artifacts.hits import MAX_HITS, Hits
from helix_shared.artifacts.signals.columns import NO_TIME, UNDATED, code
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.generation.reader import Generation

Mask = Callable[["NDArray[np.int64]"], "NDArray[np.bool_]"]
"""Which of some ordinals [n] are visible, or count, as booleans [n]."""

NO_ORDINALS: Final = np.empty(0, np.int64)
OVERFETCH_FACTOR: Final = 4
"""How many times as many hits an engine is asked for when invisible memories are among them."""
SAMPLE_SIZE: Final = 256
"""Memories of a tenant from which the share that a caller sees is estimated."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """One caller at one moment; `versions` is set when the request names a past one."""

    selection: Selection
    signals: Signals
    moment: datetime
    """When the caller asks, or `as_of`: for what expires."""
    versions: Versions | None = None
    with_corrected: bool = False
    """Whether replaced memories include those that a correction replaced, which were wrong."""
    with_decayed: bool = False
    """Whether memories that nothing but decay hides are visible: for a read by id."""
    checked_lists: dict[int, bool] = field(default_factory=dict, compare=False, repr=False)
    """Whether an access list admits the caller, by its code: each is read once for a call."""

    @classmethod
    def of(cls, generation: Generation, selection: Selection, now: datetime) -> Self:
        """The visibility at `now`, the server's moment, or at the selection's `as_of` and `valid_at`."""
        versions = generation.vectors.versions if selection.past else None
        return cls(selection, generation.signals, selection.as_of or now, versions)

    @property
    def has_past(self) -> bool:
        """Whether it has memories that no longer hold."""
        return bool(self.selection.past) or self.selection.with_replaced

    def of_earlier(self, *, with_corrected: bool) -> Self:
        """The same visibility with replaced memories; at a past moment that names them already, no other."""
        if self.versions is not None:
            return self
        selection = replace(self.selection, with_replaced=True)
        return replace(self, selection=selection, with_corrected=with_corrected)

    def of_current(self) -> Self:
        """The same visibility without replaced memories."""
        return replace(self, selection=replace(self.selection, with_replaced=False))

    def of_neighbours(self) -> Self:
        """The same visibility for memories packed around another: any type, flagged or not."""
        return replace(self, selection=self.selection.without(Types).without(WithFlags))

    def is_valid_and_occurred(self, ordinals: NDArray[np.int64], until: int) -> NDArray[np.bool_]:
        """Which memories may be recalled at the moment and had occurred by `until` (microseconds)."""
        return self.is_valid_at(ordinals) & (self.signals.occurred_at[ordinals] <= until)

    def is_valid_at(self, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which memories may be recalled at the moment: not hidden, valid, not expired.

        At `as_of` only memories created by then count, and what was superseded or expired since was not
        hidden yet (ops/decisions/0011). At `valid_at` only what had occurred and held then counts (0038).
        A selection `with_replaced` also has what nothing but a later memory hides (0051).
        """
        signals, past = self.signals, self.selection.past
        if self.versions is None:
            valid, valid_to = ~signals.hidden[ordinals], signals.valid_to[ordinals]
            if self.selection.with_replaced:
                replaced_at = signals.replaced_at[ordinals]
                valid |= (replaced_at != NO_TIME) & (self.with_corrected | (replaced_at != UNDATED))
                # an end that its own event named earlier still counts
                valid_to = np.where((replaced_at != NO_TIME) & (valid_to == replaced_at), NO_TIME, valid_to)
            if self.with_decayed:
                valid |= signals.decayed_at[ordinals] != NO_TIME
        else:
            valid = past.mask(signals, self.versions, ordinals)
            valid_to = past.ends(signals, self.versions, ordinals)
        holding = microseconds(past.valid_at or self.moment)
        # NO_TIME is the least integer, so a missing start counts as past.
        valid &= signals.valid_from[ordinals] <= holding
        for ends, moment in (
            (valid_to, holding),
            (signals.expires_at[ordinals], microseconds(self.moment)),
        ):
            valid &= (ends == NO_TIME) | (ends > moment)
        return valid

    def is_visible(self, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which memories are valid, inside the selection and open to the caller."""
        return self.selection.restrict(self.signals, ordinals, self.is_valid_at(ordinals), self.checked_lists)


@dataclass(frozen=True, slots=True)
class VisibilityEstimate:
    """How much of its tenant a caller sees, estimated from a sample."""

    share: float
    """Share of the tenant's memories that the caller sees."""
    lists: int
    """Different access lists in the sample; each has to be read to check its memories."""

    @classmethod
    def of(cls, visibility: Visibility) -> Self:
        """The estimate of a caller; share 0 for a tenant without memories."""
        sample = visibility.signals.tenant_sketches.sample(code(visibility.selection.tenant_id), SAMPLE_SIZE)
        lists = np.unique(visibility.signals.audience_code[sample])
        return cls(float(visibility.is_visible(sample).mean()) if len(sample) else 0.0, len(lists))


def visible_hits(
    search: Callable[[int], Hits],
    is_visible: Mask,
    *,
    limit: int,
    already_served: NDArray[np.int64] = NO_ORDINALS,
) -> Hits:
    """The `limit` best hits that pass `is_visible`; asks deeper, up to `MAX_HITS`, while too few pass.

    Hits of `already_served` stay among the hits but do not count for the limit.
    """
    asked, times = limit + min(len(already_served), limit), 1
    while True:
        hits = search(asked)
        visible = is_visible(hits.ordinals)
        is_enough = np.count_nonzero(_counted(hits, visible, already_served)) >= limit
        if is_enough or len(hits) < asked or asked == MAX_HITS:
            break
        times *= 1 if visible.all() else OVERFETCH_FACTOR
        asked = min(limit * times + len(already_served), MAX_HITS)
    return first_visible(hits, visible, limit=limit, already_served=already_served)


def first_visible(
    hits: Hits,
    visible: NDArray[np.bool_],
    *,
    limit: int,
    already_served: NDArray[np.int64] = NO_ORDINALS,
) -> Hits:
    """The visible hits until there are `limit` of them that are not `already_served`."""
    counted = _counted(hits, visible, already_served)
    kept = visible & (np.cumsum(counted) - counted < limit)
    return Hits(hits.ordinals[kept], hits.scores[kept])


def _counted(hits: Hits, visible: NDArray[np.bool_], already_served: NDArray[np.int64]) -> NDArray[np.bool_]:
    return visible & ~np.isin(hits.ordinals, already_served) if len(already_served) else visible
