"""Sessions as groups of memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helix_query.generations.sorted_run import group_of
from helix_shared.artifacts.signals.columns import code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.listing.groups import Pairs
    from helix_query.listing.visible import VisibleMemories


@dataclass(frozen=True, slots=True)
class BySession:
    """Groups memories by the code of their session; those without one belong to none."""

    visible: VisibleMemories

    def groups_of(self, ordinals: NDArray[np.int64]) -> Pairs:
        """As `Grouping.groups_of`."""
        codes = self.visible.signals.session_code[ordinals]
        places = np.flatnonzero(codes)
        return places, codes[places]

    def members(self, groups: NDArray[np.int64]) -> Pairs:
        """As `Grouping.members`."""
        signals, order = self.visible.signals, self.visible.snapshot.session_order
        tenant = np.full(len(groups), code(self.visible.selection.tenant_id), np.int64)
        return order.members(group_of(tenant, groups), signals)

    def names(self, ordinals: NDArray[np.int64]) -> dict[int, str]:
        """Names of the sessions of memories, by ordinal."""
        return {one["ordinal"]: str(one["session_id"]) for one in self.visible.signals.records(ordinals)}
