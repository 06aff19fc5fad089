"""Entities as groups of the memories that mention them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helix_shared.artifacts.graph.base import ENTITIES_FROM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.listing.groups import Pairs
    from helix_query.listing.visible import Visible


@dataclass(frozen=True, slots=True)
class ByEntity:
    """Groups memories by the entities that they are linked to; a group is a node of the graph."""

    visible: Visible

    def groups_of(self, ordinals: NDArray[np.int64]) -> Pairs:
        """As `Grouping.groups_of`."""
        edges = self.visible.snapshot.generation.graph.edges_of(ordinals)
        places = np.repeat(np.arange(len(ordinals)), edges.counts)
        linked = edges.targets >= ENTITIES_FROM
        return places[linked], edges.targets[linked]

    def members(self, groups: NDArray[np.int64]) -> Pairs:
        """As `Grouping.members`."""
        edges = self.visible.snapshot.generation.graph.edges_of(groups)
        is_memory = edges.targets < ENTITIES_FROM
        return np.repeat(np.arange(len(groups)), edges.counts)[is_memory], edges.targets[is_memory]
