"""Sessions as groups of memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.listing.visible import Visible


@dataclass(frozen=True, slots=True)
class BySession:
    """Groups memories by the code of their session; those without one belong to none."""

    visible: Visible

    def groups_of(self, ordinals: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As `Grouping.groups_of`."""
        codes = self.visible.signals.session_code[ordinals]
        places = np.flatnonzero(codes)
        return places, codes[places]

    def members(self, group: int, ordinal: int) -> NDArray[np.int64]:
        """As `Grouping.members`."""
        del group
        signals, order = self.visible.signals, self.visible.snapshot.session_order
        runs = order.runs(signals, self.visible.selection.tenant_id, self.name(ordinal))
        parts = [run.ordinals(0, len(run.keys))[run.live(0, len(run.keys), signals)] for run in runs]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def name(self, ordinal: int) -> str:
        """Name of the session of a memory."""
        [record] = self.visible.signals.records(np.array([ordinal]))
        return str(record["session_id"])
