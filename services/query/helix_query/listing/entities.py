"""Entities as groups of the memories that mention them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helix_shared.artifacts.graph.base import ENTITIES_FROM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.listing.groups import Pairs
    from helix_query.listing.visible import VisibleMemories


@dataclass(frozen=True, slots=True)
class ByEntity:
    """Groups memories by the entities that they are linked to; a group is a node of the graph."""

    visible: VisibleMemories

    def groups_of(self, ordinals: NDArray[np.int64]) -> Pairs:
        """As `Grouping.groups_of`."""
        counts, targets = self.visible.snapshot.generation.graph.targets_of(ordinals)
        linked = targets >= ENTITIES_FROM
        return np.repeat(np.arange(len(ordinals)), counts)[linked], targets[linked]

    def members(self, groups: NDArray[np.int64]) -> Pairs:
        """As `Grouping.members`."""
        counts, targets = self.visible.snapshot.generation.graph.targets_of(groups)
        is_memory = targets < ENTITIES_FROM
        return np.repeat(np.arange(len(groups)), counts)[is_memory], targets[is_memory]
